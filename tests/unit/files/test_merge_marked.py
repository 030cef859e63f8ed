"""Two changed versions of a text become one, with marks only where they touch."""

from memtui.files.merging import merge_marked

BASE = "one\ntwo\nthree\nfour\nfive"


def test_changes_that_do_not_touch_are_merged() -> None:
    ours, theirs = BASE.replace("one", "ONE"), BASE.replace("five", "FIVE")

    assert merge_marked(BASE, ours, theirs) == ("ONE\ntwo\nthree\nfour\nFIVE", 0)


def test_only_the_lines_that_touch_are_marked() -> None:
    ours = BASE.replace("one", "ONE").replace("three", "drei")
    theirs = BASE.replace("three", "trois").replace("five", "FIVE")

    text, conflicts = merge_marked(BASE, ours, theirs)

    assert conflicts == 1
    assert text.split("\n") == [
        "ONE",
        "two",
        "<<<<<<< on disk",
        "trois",
        "=======",
        "drei",
        ">>>>>>> yours",
        "four",
        "FIVE",
    ]


def test_texts_of_one_line_are_marked_whole() -> None:
    text, conflicts = merge_marked("a", "b", "c")

    assert (text, conflicts) == ("<<<<<<< on disk\nc\n=======\nb\n>>>>>>> yours", 1)


def test_a_line_that_one_side_moves_and_the_other_removes_is_not_lost() -> None:
    text, conflicts = merge_marked("a\nb\nc\nd", "b\nc\nd\na", "b\nc\nd")

    assert conflicts >= 1
    assert "a" in text.split("\n")


def test_blank_lines_part_what_was_changed() -> None:
    base = "# Ports\n\napi 1\n\nsite 2\n\nworker 3"
    ours = "# Ports\n\napi 1, mine\n\nsite 2\n\nworker 3, mine"
    theirs = "# Ports\n\napi 1\n\nsite 9\n\nworker 7"
    marked = "<<<<<<< on disk\nworker 7\n=======\nworker 3, mine\n>>>>>>> yours"
    assert merge_marked(base, ours, theirs) == (
        f"# Ports\n\napi 1, mine\n\nsite 9\n\n{marked}",
        1,
    )
    ours = "# Ports\n\napi 1, mine\n\nsite 2\n\nworker 3, mine"
    theirs = "# Ports\n\napi 1\n\nsite 9\n\nworker 3"
    merged = "# Ports\n\napi 1, mine\n\nsite 9\n\nworker 3, mine"
    assert merge_marked(base, ours, theirs) == (merged, 0)
