"""Gemini CLI: GEMINI.md, the private notes of each project, and the inbox of proposed patches."""

from __future__ import annotations

from memtui.stores.format import Format, TransferSupport, lazy_function
from memtui.stores.gemini.layout import detect

FORMAT = Format(
    name="gemini",
    title="Gemini CLI: GEMINI.md, private notes, proposed patches",
    places=("~/.gemini",),
    detect=detect,
    open=lazy_function("memtui.stores.gemini.store", "GeminiStore"),
    transfer=TransferSupport(convert=lazy_function("memtui.stores.gemini.editing", "convert")),
)
