"""Memories as one HTML page: no script, no request, and safe against the text that it shows.

Every text passes `_words`, which masks secrets, makes control, bidirectional and hidden characters
visible, and escapes the rest. The policy allows the one style sheet by its digest, nothing else.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from msgspec.structs import replace

from memtui.model import CURRENT, Memory
from memtui.text import counted, date, mask_secrets, masked_always, number, one_line, visible

MAX_HEADING = 300
"""Characters of a headline; the text has the rest."""
MAX_TEXT = 4_000
"""Characters of one memory; the rest is counted."""

_STYLE = """
:root { color-scheme: light dark; --ground: #fbfbfa; --line: #e3e2de; --text: #23252b;
  --quiet: #5d6068; --accent: #3558a8; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #15171c; --line: #30343e; --text: #dfe2e8; --quiet: #a0a5b0;
    --accent: #8fb1f2; }
}
html { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
body { margin: 0 auto; padding: 2rem 1.5rem; max-width: 48rem; background: var(--ground);
  color: var(--text); overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0 0 1rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
a { color: var(--accent); }
article { padding: .8rem 0; border-top: 1px solid var(--line); }
.text { white-space: pre-wrap; margin: .3rem 0 0; }
.past h3 { font-weight: 400; color: var(--quiet); }
.about, footer { color: var(--quiet); font-size: .9rem; margin: .2rem 0 0; }
footer { margin-top: 3rem; }
@media print { article { break-inside: avoid; } }
"""


def encode_html(memories: Sequence[Memory]) -> Iterator[str]:
    """Yield a page with a section per store and entity, in the order given; secrets are masked
    even where they are shown otherwise, since a page is made to be sent to others."""
    pieces = _page(memories)
    while True:
        with masked_always():
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece


def _page(memories: Sequence[Memory]) -> Iterator[str]:
    stores: dict[str, dict[str, list[Memory]]] = {}
    for memory in memories:
        stores.setdefault(memory.store, {}).setdefault(memory.entity, []).append(memory)
    anchors = {memory.ref: f"m{at}" for at, memory in enumerate(memories)}
    digest = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>Memories</title><style>{_STYLE}</style></head>\n<body>"
        f"<h1>{counted(len(memories), 'memory')}</h1>\n"
    )
    for store, entities in stores.items():
        for entity, chosen in entities.items():
            name = f"{store}: {entity}" if entity else store
            yield f'<section><h2 dir="auto">{_words(name)}</h2>\n'
            for memory in chosen:
                yield from _article(memory, anchors)
            yield "</section>\n"
    yield (
        "<footer>Made by memtui. The texts are what agents and programs wrote down; secrets in "
        "them are dots.</footer></body></html>\n"
    )


def _words(text: str) -> str:
    return escape(visible(mask_secrets(text)))


def _article(memory: Memory, anchors: dict[str, str]) -> Iterator[str]:
    css = "" if memory.status in CURRENT else ' class="past"'
    # Masked before it is cut: a part of a secret is not known as one.
    title, body = mask_secrets(memory.title), mask_secrets(memory.content).strip("\n")
    headline = replace(memory, title=title, content=body).headline
    heading = one_line(headline, MAX_HEADING) or memory.shown_type
    yield f'<article id="{anchors[memory.ref]}"{css}><h3 dir="auto">{_words(heading)}</h3>'
    if one_line(body) not in ("", heading):
        yield f'<p class="text" dir="auto">{_words(body[:MAX_TEXT])}</p>'
        if (more := len(body) - MAX_TEXT) > 0:
            yield f'<p class="about">{number(more)} more characters</p>'
    about = [memory.shown_type, memory.importance, memory.status]
    about += ["pinned"] if memory.pinned else []
    about += [date(memory.when)] if memory.when else []
    about += [f"from {memory.source}"] if memory.source else []
    about += [f"tags: {', '.join(memory.tags)}"] if memory.tags else []
    yield f'<p class="about" dir="auto">{_words(" · ".join(about))}</p>'
    links = [("superseded by", ref) for ref in memory.superseded_by]
    links += [("supersedes", ref) for ref in memory.supersedes]
    links += [(link.relation or "links to", link.target) for link in memory.links]
    for label, named in groupby(links, key=lambda link: link[0]):
        ends = ", ".join(_end(memory, target, anchors) for _, target in named)
        relation = mask_secrets(label).replace("_", " ")
        yield f'<p class="about" dir="auto">{_words(relation)}: {ends}</p>'
    yield "</article>\n"


def _end(memory: Memory, target: str, anchors: dict[str, str]) -> str:
    """What a link names, as a link within the page where it stands in it."""
    anchor = anchors.get(f"{memory.store}:{target}")
    words = _words(one_line(target))
    return f'<a href="#{anchor}">{words}</a>' if anchor else words
