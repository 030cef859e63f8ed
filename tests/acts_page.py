"""The table of acts by format in docs/stores.md, found out by asking each format's sample store.

python -m tests.acts_page writes it into docs/stores.md

The stores are the samples of the conformance suite. An act is done if the suite could do it on some
memory (`memtui.testing.acting.allowed`); otherwise the store's own reason stands there.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from memtui.changes import Act
from memtui.library import Library
from memtui.testing.acting import BEFOREHAND, allowed
from memtui.testing.fixtures import memories, open_library, sample
from tests.formats import FORMATS

PAGE = Path(__file__).parents[1] / "docs" / "stores.md"
BEGIN, END = "<!-- acts: python -m tests.acts_page -->", "<!-- end of acts -->"


def reason(library: Library, act: Act) -> str:
    """Why the store does not do an act; empty if it does it on some memory.

    What needs another act before it (unpin after pin) is done wherever that one is.
    """
    if allowed(library, BEFOREHAND.get(act, act)):
        return ""
    said = [library.refusal(act, memory) for memory in memories(library).values()]
    return min(said, key=lambda why: (-said.count(why), why)) if said else "nothing to do it on"


def table(samples: Path) -> str:
    """The table, with a numbered list of the reasons below it."""
    reasons: dict[str, int] = {}
    rows = []
    for known in FORMATS:
        library = open_library(sample(known, samples / known.name))
        cells = [_cell(reason(library, act), reasons) for act in Act]
        rows.append(f"| {known.name} | {' | '.join(cells)} |")
    head = f"| format | {' | '.join(act.value for act in Act)} |"
    rule = f"|---|{'---|' * len(Act)}"
    notes = [f"{number}. {why}" for why, number in reasons.items()]
    return "\n".join([head, rule, *rows, "", *notes])


def _cell(why: str, reasons: dict[str, int]) -> str:
    if not why:
        return "yes"
    return str(reasons.setdefault(why.replace("|", "\\|"), len(reasons) + 1))


def page(text: str, samples: Path) -> str:
    """The page with the table of now between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(samples)}\n\n{END}{after}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(page(PAGE.read_text("utf-8"), Path(folder)), "utf-8")


if __name__ == "__main__":
    main()
