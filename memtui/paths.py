"""Folders of the person's settings, state and cache, and of the data bundled with memtui.

The folder's name is `memtui-agent`, because two unrelated programs already use `memtui`. Each
folder can be set by an environment variable, and is created when it is first written to.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

APP = "memtui-agent"

CONFIG_VARIABLE = "MEMTUI_CONFIG"
"""Folder of `config.toml` and `themes/`; or the path of another `.toml` file."""
STATE_VARIABLE = "MEMTUI_STATE"
"""Folder of the journal, the session, and the texts that were taken out of stores."""
DATA_VARIABLE = "MEMTUI_DATA"
"""Folder of what a person noted about the memories of stores that are single files."""
CACHE_VARIABLE = "MEMTUI_CACHE"
"""Folder of the index; always safe to delete."""
SERVED_VARIABLE = "MEMTUI_SERVED"
"""Set for the screen that `memtui serve` shows in a browser: `READ_ONLY` or `write`."""
READ_ONLY = "read-only"


def served_mode() -> str:
    """Return how the screen is shown in a browser: `READ_ONLY` or `write`; empty on a terminal."""
    return os.environ.get(SERVED_VARIABLE, "")


def config_folder() -> Path:
    """Return the folder of the person's settings and themes."""
    file = _from_environment(CONFIG_VARIABLE)
    if file is not None:
        return file.parent if file.suffix == ".toml" else file
    from platformdirs import user_config_path

    return user_config_path(APP, appauthor=False)


def config_file() -> Path:
    """Return the settings file; it need not exist."""
    file = _from_environment(CONFIG_VARIABLE)
    if file is not None and file.suffix == ".toml":
        return file
    return config_folder() / "config.toml"


def user_themes() -> Path:
    """Return the folder of the person's own themes; it need not exist."""
    return config_folder() / "themes"


def state_folder() -> Path:
    """Return the folder of what cannot be made again: journal, session, backups."""
    folder = _from_environment(STATE_VARIABLE)
    if folder is not None:
        return folder
    from platformdirs import user_state_path

    return user_state_path(APP, appauthor=False)


def data_folder() -> Path:
    """Return the folder of the sidecars of stores that are single files."""
    folder = _from_environment(DATA_VARIABLE)
    if folder is not None:
        return folder
    from platformdirs import user_data_path

    return user_data_path(APP, appauthor=False)


def cache_folder() -> Path:
    """Return the folder of what can be made again: rows, index, vectors."""
    folder = _from_environment(CACHE_VARIABLE)
    if folder is not None:
        return folder
    from platformdirs import user_cache_path

    return user_cache_path(APP, appauthor=False)


def _from_environment(variable: str) -> Path | None:
    value = os.environ.get(variable, "")
    return Path(value).expanduser().absolute() if value else None


def private_folder(path: Path) -> Path:
    """Return the folder, made with mode 0700 (missing parents too) whatever the umask.

    A folder that exists is left as it is. Raises OSError.
    """
    make_private_folders(path)
    return path


def make_private_folders(path: Path) -> list[Path]:
    """As `private_folder`; returns the folders that were missing, the outermost first."""
    try:
        path.mkdir(mode=0o700)
        path.chmod(0o700)
    except FileNotFoundError:
        made = make_private_folders(path.parent)
        with suppress(FileExistsError):  # another process made it
            path.mkdir(mode=0o700)  # fails below a link to nowhere
            path.chmod(0o700)
            made.append(path)
        return made
    except FileExistsError:
        return []
    return [path]


MAX_FILE_BYTES = 4_000_000
"""A larger file is not one of memtui's own."""


def read_private(path: Path) -> dict[str, Any]:
    """Read the JSON object in one of memtui's own small files; empty if there is none."""
    try:
        status = path.stat()
        if status.st_size > MAX_FILE_BYTES or not stat.S_ISREG(status.st_mode):
            return {}
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


LOCK_TRIES, LOCK_PAUSE = 100, 0.005
"""Times that a lock is asked for, and seconds between; another memtui has it for milliseconds."""


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Keep other memtui processes from changing their own small files in this folder meanwhile.

    It is made if it is missing. After half a second, or on a disk without locks, nothing is waited
    for. Raises OSError.
    """
    import fcntl
    import time

    handle = os.open(private_folder(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for _ in range(LOCK_TRIES):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(LOCK_PAUSE)
            except OSError:
                break
            else:
                break
        yield
    finally:
        os.close(handle)


def write_private(path: Path, text: str, *, durable: bool = True) -> None:
    """Write one of memtui's own small files atomically.

    A new file gets mode 0600, an old one keeps its mode; a link is followed, not replaced.
    `durable`: wait until it is on the disk; what can be made again needs that not. Raises OSError.
    """
    import tempfile  # not needed to start, and it brings a dozen modules

    target = Path(os.path.realpath(path))
    private_folder(target.parent)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            if target.exists():
                os.fchmod(file.fileno(), target.stat().st_mode & 0o7777)
            file.write(text)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_new(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write a file that must not exist yet, with mode 0600. After an error it is gone again.

    Raises OSError. `durable`: wait until it is on the disk.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        try:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)  # half a backup would look like a late write
            raise


def bundled_folder(name: str) -> Path:
    """Return the folder `themes`, `sample-data` or `docs` that is bundled with memtui.

    Installed it lies inside the package, in a source checkout beside it. Raises
    FileNotFoundError when the installation is incomplete.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "_shipped" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"memtui was installed without its {name} folder; install it again")


SERVERS = {"postgres": "team", "langgraph": "langgraph", "mem0": "mem0-postgres"}
"""How the address of a store on a server begins, up to its colon -> its format; a service of
`pg_service.conf` follows."""


def is_address(name: str) -> bool:
    """Whether a name is the address of a store on a server, not a path."""
    scheme, colon, _ = name.partition(":")
    return bool(colon) and scheme in SERVERS


def real_root(root: str | Path) -> str:
    """The root of a store without links, the same in every working directory."""
    return str(root) if is_address(str(root)) else os.path.realpath(root)


def link_target(root: str | Path) -> str:
    """Where the files of a store lie whose folder is a link, or lies below one; empty if it does
    not. A link to the home folder itself is none of the store."""
    named, real = os.path.abspath(root), real_root(root)
    home = os.path.expanduser("~")
    if is_address(str(root)) or real == os.path.realpath(home) + named.removeprefix(home):
        return ""
    return "" if real == named else real


def is_place(name: str) -> bool:
    """Whether a name is an address, or a path that exists; else it may be a label."""
    return is_address(name) or os.path.exists(name)
