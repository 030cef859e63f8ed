"""Prepare text from a store for display: escape, measure, cut, wrap, highlight, format.

The content of a store is untrusted. Every user interface passes it through `visible` (or
`one_line`) before it reaches a widget, a terminal, a log or an error message. The other functions
expect such text.
"""

from memtui.text.cells import cut, pad, width, wrap
from memtui.text.highlights import (
    MAX_PASSAGE_CHARS,
    Passage,
    count_words,
    excerpt,
    find_passage,
    fold,
    highlights,
    mask_part,
)
from memtui.text.humanized import (
    ago,
    and_more,
    counted,
    date,
    number,
    scored_words,
    short_ago,
    since,
    size,
    value_text,
)
from memtui.text.safe_text import (
    MAX_READ,
    column,
    cut_line,
    escaped,
    escaped_line,
    file_name,
    has_hidden,
    hidden_count,
    mask_urls,
    one_line,
    visible,
    without_hidden,
    without_lone_surrogates,
)
from memtui.text.secrets import (
    are_secrets_revealed,
    has_mask_of,
    is_mask_of,
    mask_all_secrets,
    mask_record,
    mask_secrets,
    mask_value,
    masked_always,
    reveal_secrets,
)
