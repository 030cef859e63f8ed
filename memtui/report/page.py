"""A report as one HTML page: no script, no request, and safe against the text that it shows.

Every text passes `_words`, which makes control, bidi and hidden characters visible and escapes the
rest, and stands in elements with `dir=auto`. Links lead within the page only. The policy allows the
one style sheet by its digest, and nothing else.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from itertools import groupby

from memtui.insight.timeline import Timeline
from memtui.report.contents import ChangeNote, Entry, Program, Report, Waiting
from memtui.text import counted, date, number, visible

CHART = (1000, 120)
"""Width and height of the timeline in its own units, without the labels."""
LABELS_HIGH = 18
"""Units above it and below."""
MIN_LABEL = 70
"""Units between two labels below the timeline."""

_CODE = re.compile(r"`([^`\n]{1,300})`")


def render(report: Report) -> Iterator[str]:
    """The page, piece by piece; UTF-8 when it is written."""
    style = resources.files("memtui.report").joinpath("page.css").read_text("utf-8")
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    anchors = _anchors(report)
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{_words(report.title)}</title><style>{style}</style></head>\n"
        '<body><a class="skip" href="#memories">Skip to the memories</a>\n'
    )
    yield from _header(report)
    yield "<main>\n"
    if report.shown:
        yield from _overview(report)
    if report.since is not None:
        count = counted(len(report.changes), "memory")
        since = _words(date(report.since))
        yield f'<section id="changes"><h2>Changed since {since} <small>{count}</small></h2>\n'
        if not report.changes:
            yield '<p class="note">Nothing changed.</p>'
        yield '<ul class="plain">'
        for each in report.changes:
            yield from _change(each)
        yield "</ul></section>\n"
    if report.waiting is not None:
        yield from _waiting(report.waiting)
    yield '<div id="memories">\n'
    for at, program in enumerate(report.programs):
        yield from _program(at, program, anchors)
    yield "</div></main>\n"
    yield "<footer>"
    if report.left_out:
        yield f"<p>Not in this page: {_words('; '.join(report.left_out))}.</p>"
    yield "<p>Made by memtui. The text is what agents and programs wrote down, as it was found.</p>"
    yield "</footer>\n"
    yield "</body></html>\n"


def _anchors(report: Report) -> dict[str, str]:
    """Ref -> id of the element of each memory: short, and no text of a store."""
    entries = (
        entry for program in report.programs for each in program.projects for entry in each.entries
    )
    return {entry.ref: f"m{at}" for at, entry in enumerate(entries)}


def _words(text: str) -> str:
    return escape(visible(text))


def _header(report: Report) -> Iterator[str]:
    shown = counted(report.shown, "memory")
    of = "" if report.shown == report.total else f" of {number(report.total)}"
    query = (
        f'<span class="query" dir="auto">{_words(report.query)}</span> · ' if report.query else ""
    )
    yield (
        f'<header><h1 dir="auto">{_words(report.title)}</h1>'
        f'<p class="about">{query}{shown}{of} · {_words(date(report.made, zoned=True))}</p>\n'
    )
    links = [("#changes", "Changes")] if report.since is not None else []
    links += [("#review", "To review")] if report.waiting is not None else []
    links += [(f"#p{at}", program.name) for at, program in enumerate(report.programs)]
    if len(links) > 1:
        items = "".join(f'<li><a href="{to}">{_words(name)}</a></li>' for to, name in links)
        yield f'<nav aria-label="Sections"><ul>{items}</ul></nav>'
    yield "</header>\n"


def _overview(report: Report) -> Iterator[str]:
    yield '<section aria-label="Overview"><div class="facets">\n'
    for heading, values in report.counts:
        most = max(count for _, count in values)
        rows = "".join(
            f'<tr><th scope="row" dir="auto">{_words(value)}</th><td>{_bar(count / most)}</td>'
            f"<td>{number(count)}</td></tr>"
            for value, count in values
        )
        yield f"<div><h2>{_words(heading)}</h2><table><tbody>{rows}</tbody></table></div>\n"
    yield "</div>"
    if len(report.timeline.bars) > 1:
        yield from _timeline(report.timeline)
    yield "</section>\n"


def _bar(share: float) -> str:
    return (
        '<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{max(1, share * 100):.1f}" height="8" rx="1"/></svg>'
    )


def _timeline(timeline: Timeline) -> Iterator[str]:
    bars = timeline.bars
    wide, high = CHART
    step = wide / len(bars)
    most = max(bar.count for bar in bars) or 1
    undated = f", {number(timeline.undated)} undated" if timeline.undated else ""
    label = (
        f"Memories by {timeline.unit}, from {bars[0].start:%b %Y} to {bars[-1].start:%b %Y}, "
        f"at most {number(most)}{undated}"
    )
    yield (
        f'<svg class="timeline" viewBox="0 -{LABELS_HIGH} {wide} {high + 2 * LABELS_HIGH}" '
        f'role="img" aria-label="{label}"><rect class="base" y="{high}" width="{wide}" height="1"/>'
        f'<text x="{wide}" y="-4" text-anchor="end">at most {number(most)} a {timeline.unit}</text>'
    )
    free = 0.0
    for at, bar in enumerate(bars):
        left = at * step
        if bar.count:
            tall = max(1.5, bar.count / most * high)
            yield (
                f'<rect x="{left:.1f}" y="{high - tall:.1f}" width="{max(0.8, step - 1.5):.1f}" '
                f'height="{tall:.1f}"/>'
            )
        starts = timeline.unit == "year" or bar.start.day <= 7  # the first of its month
        if starts and left >= free and left < wide - MIN_LABEL:
            words = f"{bar.start:%Y}" if timeline.unit == "year" else f"{bar.start:%b %Y}"
            yield f'<text x="{left:.1f}" y="{high + 14}">{words}</text>'
            free = left + MIN_LABEL
    yield "</svg>\n"


_TAGS = {"gone": "del", "new": "ins"}


def _change(note: ChangeNote) -> Iterator[str]:
    yield (
        f'<li><span class="kind">{_words(note.kind)}</span> '
        f'<span dir="auto">{_words(note.heading)}</span>'
        f'<p class="marks" dir="auto">{_words(note.about)}</p>'
    )
    if note.pieces:
        words = "".join(
            f"<{tag}>{_words(piece)}</{tag}>" if (tag := _TAGS.get(kind)) else _words(piece)
            for kind, piece in note.pieces
        )
        yield f'<p class="text" dir="auto">{words}</p>'
    yield "</li>\n"


def _waiting(waiting: Sequence[tuple[str, Sequence[Waiting]]]) -> Iterator[str]:
    total = counted(sum(len(found) for _, found in waiting), "finding")
    yield f'<section id="review"><h2>To review <small>{total}</small></h2>\n'
    if not waiting:
        yield '<p class="note">Nothing waits.</p>'
    for heading, found in waiting:
        yield f'<h3>{_words(heading)} <small>{number(len(found))}</small></h3><ul class="plain">'
        for one in found:
            yield (
                f'<li dir="auto">{_words(one.title)}'
                f'<p class="marks" dir="auto">{_words(one.reason)}</p></li>'
            )
        yield "</ul>\n"
    yield "</section>\n"


def _program(at: int, program: Program, anchors: dict[str, str]) -> Iterator[str]:
    yield (
        f'<section id="p{at}"><h2><span class="badge" aria-hidden="true">{_words(program.badge)}'
        f"</span>{_words(program.name)} <small>{number(program.total)}</small></h2>\n"
    )
    for project in program.projects:
        name = _words(project.name) if project.name else "no entity"
        yield f'<h3 dir="auto">{name} <small>{number(len(project.entries))}</small></h3>\n'
        for entry in project.entries:
            yield from _entry(entry, anchors)
    yield "</section>\n"


def _entry(entry: Entry, anchors: dict[str, str]) -> Iterator[str]:
    names = " ".join(["past"] * (not entry.is_current) + ["line"] * (not entry.text))
    yield (
        f'<article id="{anchors[entry.ref]}" class="{names}">'
        f'<h4 dir="auto">{_prose(entry.heading)}</h4>'
    )
    if entry.warning:
        yield f'<p class="warning" dir="auto">{_words(entry.warning)}</p>'
    if entry.text:
        yield f'<p class="text" dir="auto">{_prose(entry.text)}</p>'
    if entry.left_out:
        yield f'<p class="note">{number(entry.left_out)} more characters</p>'
    yield f'<details><summary dir="auto">{_words(" · ".join(entry.marks))}</summary><dl>'
    for label, named in groupby(entry.facts, key=lambda fact: fact.label):
        yield f"<dt>{_words(label)}</dt>"
        for fact in named:
            words = _words(fact.value)
            anchor = anchors.get(fact.ref)
            yield (
                f'<dd dir="auto"><a href="#{anchor}">{words}</a></dd>'
                if anchor
                else (f'<dd dir="auto">{words}</dd>')
            )
    yield "</dl></details></article>\n"


def _prose(text: str) -> str:
    """The text with its `code` set as such; other Markdown stands as it was written."""
    return _CODE.sub(r"<code>\1</code>", _words(text))
