"""The state machine: every step a person, another program, a crash or a move of house can take."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from memtui.bundle import archive
from memtui.bundle.bundle_reader import read_document, verify_document
from memtui.bundle.bundle_writer import pack_stores
from memtui.bundle.import_plan import plan_import
from memtui.bundle.restoring import plan_restore, restore
from memtui.files import save_hooks
from memtui.library import Library
from memtui.library.planning import planned_import
from memtui.query import parse_query
from memtui.testing.fixtures import every_path, memories, open_library
from tests.torture.life import effects, others
from tests.torture.life.acts import ACTS
from tests.torture.life.model import Clash
from tests.torture.life.pieces import taken_apart
from tests.torture.life.steps import Living, Meddling
from tests.torture.processes import KILLED, in_child

NUMBER = st.integers(0, 30)
PAIR = st.tuples(NUMBER, NUMBER)
WORD = st.sampled_from(
    ["quill", "Größe", "a\nb", '"\\', "鐘\U0001f514", "\x1b[31m", "\u202eflip", "--- #", ""]
)
MEDDLING = st.tuples(
    st.sampled_from(["edits", "edits", "removes", "respells", "adds"]), NUMBER, NUMBER, WORD
)


class Life(Living):
    """What may happen, and what must hold afterwards; see `Living` for of which store."""

    # ---- a person ------------------------------------------------------------------------------

    @initialize(act=st.sampled_from(ACTS), which=PAIR, word=WORD)
    def begin(self, act: str, which: tuple[int, int], word: str) -> None:
        """Most steps need a change before them."""
        self.change(act, which, word)

    @rule(act=st.sampled_from(ACTS), which=PAIR, word=WORD)
    def change(self, act: str, which: tuple[int, int], word: str) -> None:
        plan = self.planned([(act, which)], word)
        if self.apply(plan):
            self.library.refresh()
            fault = effects.fault(plan[0].plans[0], memories(self.library))
            assert not fault, fault

    @rule(act=st.sampled_from(ACTS), whiches=st.lists(PAIR, min_size=2, max_size=4), word=WORD)
    def change_several(self, act: str, whiches: list[tuple[int, int]], word: str) -> None:
        self.apply(self.planned([(act, which) for which in whiches], word))

    @rule(act=st.sampled_from(ACTS), which=PAIR, word=WORD)
    def open_a_form(self, act: str, which: tuple[int, int], word: str) -> None:
        """Plan now, and apply it when other things have happened."""
        self.pending = self.planned([(act, which)], word)

    @precondition(lambda self: self.pending is not None)
    @rule()
    def send_the_form(self) -> None:
        self.apply(self.pending)
        self.pending = None

    @precondition(lambda self: self.model.log)
    @rule()
    def undo(self) -> None:
        self.take_back(self.model.to_undo())

    @precondition(lambda self: self.of_state("undone"))
    @rule()
    def redo(self) -> None:
        self.do_again(self.model.to_redo())

    @precondition(lambda self: self.of_state("done"))
    @rule(which=NUMBER)
    def undo_any(self, which: int) -> None:
        among = self.of_state("done")
        self.take_back(among[which % len(among)], by_number=True)

    @precondition(lambda self: self.of_state("undone"))
    @rule(which=NUMBER)
    def redo_any(self, which: int) -> None:
        among = self.of_state("undone")
        self.do_again(among[which % len(among)], by_number=True)

    # ---- another program -----------------------------------------------------------------------

    @precondition(lambda self: self.of_others())
    @rule(
        doing=st.sampled_from(sorted(others.DOINGS)),
        file=NUMBER,
        which=NUMBER,
        word=WORD,
        writer=st.sampled_from(sorted(others.WRITERS)),
    )
    def another_program(self, doing: str, file: int, which: int, word: str, writer: str) -> None:
        names = self.of_others()
        name = names[file % len(names)]
        self.theirs(name, self.done_by_others(doing, name, which, word), writer)

    @rule(act=st.sampled_from(ACTS), which=PAIR, word=WORD, meddling=MEDDLING)
    def another_program_is_quicker(
        self, act: str, which: tuple[int, int], word: str, meddling: Meddling
    ) -> None:
        """It changes what we are about to change."""
        plan = self.planned([(act, which)], word)
        if plan is not None:
            self.meddle(plan[1], meddling)
            self.apply(plan)

    @precondition(lambda self: self.beside_others())
    @rule(which=NUMBER, meddling=MEDDLING)
    def another_program_changes_what_we_did(self, which: int, meddling: Meddling) -> None:
        """And then it is taken back, or done again."""
        among = self.beside_others()
        done = among[which % len(among)]
        self.meddle(done.changes, meddling)
        if done.state == "done":
            self.take_back(done, by_number=True)
        elif done.state == "undone":
            self.do_again(done, by_number=True)

    @precondition(lambda self: self.touched())
    @rule(file=NUMBER, which=NUMBER)
    def another_program_writes_what_it_had_read(self, file: int, which: int) -> None:
        """A program that read the file long ago writes it whole."""
        names = self.touched()
        name = names[file % len(names)]
        read = [c.before for d in self.model.log for c in d.changes if c.name == name and c.before]
        if read:
            self.theirs(name, read[which % len(read)], "in place")

    @precondition(lambda self: self.of_others())
    @rule(file=NUMBER)
    def another_program_deletes_a_file(self, file: int) -> None:
        names = self.of_others()
        self.delete_by_others(names[file % len(names)])

    # ---- the program's own fate ----------------------------------------------------------------

    @rule(cached=st.booleans())
    def restart(self, cached: bool) -> None:
        """With the rows and the index of the last start, or without."""
        self.library.close()
        if not cached:
            shutil.rmtree(self.cache)
        self.library = self.opened()

    @rule(
        doing=st.sampled_from(["apply", "apply", "undo", "redo"]),
        act=st.sampled_from(ACTS),
        which=PAIR,
        word=WORD,
        point=st.sampled_from(save_hooks.FAILPOINTS),
        passing=st.integers(1, 3),
    )
    def crash(
        self, doing: str, act: str, which: tuple[int, int], word: str, point: str, passing: int
    ) -> None:
        """Be killed at a point of a save."""
        self.crashed(doing, act, which, word, f"{point}:{passing}")

    def crashed(
        self,
        doing: str,
        act: str,
        which: tuple[int, int],
        word: str,
        fault: str,
        after_kill: Callable[[], None] = lambda: None,
    ) -> None:
        """Die there; the next start finds out what became of it."""
        done = {"undo": self.model.to_undo(), "redo": self.model.to_redo()}.get(doing)
        plan = self.planned([(act, which)], word) if doing == "apply" else None
        if done is None and plan is None:
            return
        changes = plan[1] if plan else self.turned(done) if doing == "undo" else done.changes
        try:
            expected = self.model.expect(changes)
        except Clash:
            return
        if any(each.perhaps for each in expected.values()):
            return
        self.library.close()
        status = in_child(self.killed_at(fault, doing, plan[0] if plan else None))
        assert status in (0, KILLED)
        if status == KILLED:
            after_kill()
        self.library = self.opened()
        self.find_out(doing, done, changes, expected, status == KILLED)

    @rule(word=st.sampled_from(["bell", "sundial", "wrong", "theirs", "quill"]))
    def search(self, word: str) -> None:
        """The index, in whatever state, finds what looking at every memory finds."""
        self.library.index()
        if self.thorough:
            self.library.save_index()
        asked = parse_query(f"{word} status:all", self.library.now())
        assert refs(self.library, asked) == refs(self.seen(), asked)

    # ---- moving house --------------------------------------------------------------------------

    @precondition(lambda self: self.exported != self.model.files)
    @rule()
    def export(self) -> None:
        """A bundle is whole: it makes the same store in an empty place, and the same bundle."""
        file = self.base / f"{len(self.bundles)}.zip"
        file.write_bytes(b"".join(archive.encode_archive(pack_stores(self.library, None).archive)))
        self.bundles.append(file)
        document = read_document(file)
        assert verify_document(document)
        empty = self.base / "elsewhere"
        restore(plan_restore(document, empty))
        assert self.from_root(empty) == self.from_root(self.place)
        again = b"".join(archive.encode_archive(pack_stores(open_library(empty), None).archive))
        assert again == file.read_bytes()
        shutil.rmtree(empty)
        self.exported = dict(self.model.files)

    @precondition(lambda self: self.bundles)
    @rule(which=NUMBER)
    def bring_a_bundle_in(self, which: int) -> None:
        """Only what is missing comes; what is there stays as it is."""
        document = read_document(self.bundles[which % len(self.bundles)])
        there = memories(self.library)
        plan = plan_import(document, self.library)
        incoming = {memory.ref for store in document.stores for memory in store.memories}
        assert plan.counts["new"] + plan.counts["refused"] <= len(incoming - there.keys())
        planned = planned_import(plan)
        for change in self.changes_of(planned):
            old = taken_apart(change.name, change.before).held
            new = taken_apart(change.name, change.after).held
            gone = {
                key for key in old if key[0] == "note" and f"{self.format}:{key[1]}" not in there
            }
            wrong = [key for key in old.keys() - gone if new.get(key) != old[key]]
            assert not wrong, f"{wrong[0]} becomes {new.get(wrong[0])}"
        if planned.has_edits:
            self.apply((planned, self.changes_of(planned)))

    # ---- what must hold after every step -------------------------------------------------------

    @invariant()
    def every_file_is_as_the_model_says(self) -> None:
        type(self).steps += 1
        self.model.settle(self.on_disk(), {})
        for name, data in self.model.files.items():
            taken_apart(name, data)

    @invariant()
    def the_log_is_settled(self) -> None:
        log = [(action.id, str(action.state)) for action in reversed(self.library.log(1000))]
        assert log == [(done.id, done.state) for done in self.model.log]

    @invariant()
    def what_is_shown_is_what_is_there(self) -> None:
        stamps = {path: path.stat().st_mtime_ns for path in every_path(self.place)}
        if self.looked_at == (stamps, self.library.snapshot):
            return
        fresh = self.seen()
        shown, there = memories(self.library), memories(fresh)
        wrong = [ref for ref in shown.keys() | there.keys() if shown.get(ref) != there.get(ref)]
        assert not wrong, f"shown {shown.get(wrong[0])}, there {there.get(wrong[0])}"
        assert self.library.snapshot.count == fresh.snapshot.count
        self.looked_at = stamps, self.library.snapshot


def refs(library: Library, asked: Any) -> set[str]:
    return {library.snapshot.rows[slot].ref for slot in library.find(asked).slots}
