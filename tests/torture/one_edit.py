"""One journalled edit of one file, in a process of its own, for strace to break."""

from __future__ import annotations

import sys
from pathlib import Path

from memtui.changes import record_edit
from memtui.files.json.editing import set_member
from memtui.files.json.locating import load_records
from memtui.journal import Journal
from tests.torture.kills import do

if __name__ == "__main__":
    store, state = Path(sys.argv[1]), Path(sys.argv[2])
    path = store / "items.json"
    record = load_records(path.read_text())[0]
    after = set_member(record.raw, "content", "changed by one edit")
    do(Journal(state), (record_edit(str(path), (), "id", "a0", record.raw, after),))
