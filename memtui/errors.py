"""The hierarchy of errors. Each is shown as one line: what is wrong, where, what to do.

Errors are raised where they are found and caught in the user interface (`cli`, `tui`), which shows
`str(error)`. No message holds raw text from a store: pass it through `memtui.text.visible`.
"""

from __future__ import annotations

from collections.abc import Iterable

from memtui.text.safe_text import mask_urls


def find_nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known word that a person may have meant; "" if none is near.

    `cutoff` is the least similarity, 0..1 (`difflib.SequenceMatcher.ratio`).
    """
    from difflib import get_close_matches  # seldom needed

    return next(iter(get_close_matches(word, list(known), 1, cutoff)), "")


def did_you_mean(
    word: str, known: Iterable[str], otherwise: str = "", *, lead: str = "", cutoff: float = 0.6
) -> str:
    """Advice for an unknown word: `did you mean NEAREST?` behind `lead`; else `otherwise`."""
    near = find_nearest(word, known, cutoff)
    return f"{lead}did you mean {near}?" if near else otherwise


class MemtuiError(Exception):
    """An error with what is wrong, where, and what the person can do about it."""

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        self.what = what
        self.where = where
        self.do = do
        super().__init__(what, where, do)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" ({self.do})" if self.do else ""
        return mask_urls(f"{place}{self.what}{advice}")


class ConfigError(MemtuiError):
    """A settings file has a fault; its line and reason are in the message."""


class QueryError(MemtuiError):
    """A filter or a time given to a command is not valid."""


class RefError(MemtuiError):
    """A reference names no memory, or several."""


class StoreError(MemtuiError):
    """A store cannot be opened or used."""


class UnreadableFile(StoreError):
    """One file cannot be read; it is listed with the reason and never written."""


class Refused(StoreError):
    """The store or its format cannot do what was asked, and why."""


class AlreadyThere(Refused):
    """The memory is where it was to be put."""


class AmbiguousPlace(Refused):
    """Several projects of a store could take a memory, and none was named."""


class NotConnected(StoreError):
    """The server of a store cannot be reached at present; what was shown stays readable."""


class QueryStopped(StoreError):
    """A server stopped a question, because it took too long or was cancelled."""


class SaveError(MemtuiError):
    """Nothing was saved; the caller still has the text."""


class Conflict(SaveError):
    """The target changed on disk: `base` was read, `theirs` is there now, `yours` was to be saved.

    Each is the raw text of the record (or file); None where it does not exist.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        do: str = "reload and try again",
        base: str | None = None,
        theirs: str | None = None,
        yours: str | None = None,
    ) -> None:
        super().__init__(what, where=where, do=do)
        self.base = base
        self.theirs = theirs
        self.yours = yours

    @property
    def has_texts(self) -> bool:
        """Whether there is anything to compare: else the record is gone, and was not read again."""
        return (self.base, self.theirs, self.yours) != (None, None, None)


class TerminalError(MemtuiError):
    """The terminal cannot show the screen."""


class BundleError(MemtuiError):
    """An export file cannot be trusted; nothing of it was imported."""


class EmbeddingError(MemtuiError):
    """Embeddings cannot be computed or stored; search goes on by text."""


class EmbeddingBusy(EmbeddingError):
    """Another process is computing them, so nothing is lost."""


class ModelError(MemtuiError):
    """A language model did not answer, or not in the requested form; nothing was changed."""


class WorkerError(MemtuiError):
    """A process that memtui started for slow work ended without its result; nothing was changed."""
