"""The lock of the slots: searches run side by side, and a change gets its turn between them."""

from __future__ import annotations

from threading import Event, Thread

from memtui.library.indexing import ReadWriteLock

PATIENCE = 20.0
"""Seconds after which a thread is taken for stuck."""


def test_a_writer_gets_its_turn_while_readers_overlap() -> None:
    lock, entered, over, written = ReadWriteLock(), [Event(), Event()], Event(), Event()

    def read(own: Event, other: Event) -> None:
        """Leave only while the other thread reads, so that there is always a reader."""
        while not over.is_set():
            with lock:
                own.set()
                other.wait(0.01)
                other.clear()

    def write() -> None:
        with lock.writing():
            written.set()

    readers = [Thread(target=read, args=pair) for pair in (entered, entered[::-1])]
    for reader in readers:
        reader.start()
    assert entered[0].wait(PATIENCE)
    writer = Thread(target=write)
    writer.start()
    has_written = written.wait(PATIENCE)
    over.set()
    for thread in (*readers, writer):
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert has_written


def test_a_reader_may_enter_again_while_a_writer_waits() -> None:
    lock, done = ReadWriteLock(), Event()

    def write() -> None:
        with lock.writing():
            done.set()

    def read() -> None:
        with lock:
            writer = Thread(target=write)
            writer.start()
            while not lock._writers:
                pass
            with lock:
                assert not done.is_set()
        writer.join(PATIENCE)

    reader = Thread(target=read, daemon=True)
    reader.start()
    reader.join(PATIENCE)
    assert done.is_set()


def test_a_new_reader_waits_for_a_waiting_writer() -> None:
    lock, order = ReadWriteLock(), []

    def write() -> None:
        with lock.writing():
            order.append("written")

    def read() -> None:
        with lock:
            order.append("read")

    writer, reader = Thread(target=write), Thread(target=read)
    with lock:
        writer.start()
        while not lock._writers:
            pass
        reader.start()
        reader.join(0.05)
        assert order == []
    writer.join(PATIENCE)
    reader.join(PATIENCE)
    assert order == ["written", "read"]
