"""Text from a store made fit to show: visible, measured, cut, highlighted, humane.

What a store holds is data from strangers. Every face passes it through `visible` (or `one_line`)
before it reaches a widget, a terminal, a log or an error message. The other functions expect
text that has passed.
"""

from memtui.text.cells import cut, pad, width, wrap
from memtui.text.highlights import fold, highlights
from memtui.text.humanized import ago, date, number, short_ago, size
from memtui.text.safe_text import (
    file_name,
    has_hidden,
    hidden_count,
    mask_urls,
    mixed_scripts,
    one_line,
    visible,
    without_lone_surrogates,
)

__all__ = [
    "ago",
    "cut",
    "date",
    "file_name",
    "fold",
    "has_hidden",
    "hidden_count",
    "highlights",
    "mask_urls",
    "mixed_scripts",
    "number",
    "one_line",
    "pad",
    "short_ago",
    "size",
    "visible",
    "width",
    "without_lone_surrogates",
    "wrap",
]
