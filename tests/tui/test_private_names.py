"""The private names of Textual that memtui uses: a release that lacks one fails here, by name."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version

import pytest
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate, LayoutUpdate
from textual._styles_cache import StylesCache
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import TextArea

from tests.source_trees import walk_sources

pytestmark = pytest.mark.textual

USED: Mapping[type, tuple[str, ...]] = {
    App: ("_display", "_handle_exception"),
    Screen: (
        *("_compositor", "_push_result_callback", "_screen_resized", "_forward_event"),
        "_selecting",
    ),
    Widget: ("_border_subtitle",),
    TextArea: ("_rewrap_and_refresh_virtual_size",),
    LinuxDriver: ("_auto_restart", "_must_signal_resume", "_sigcont_application", "_file"),
    Compositor: ("reflow", "render_strips"),
    CompositorUpdate: ("render_segments",),
    LayoutUpdate: ("strips", "region"),
    ChopsUpdate: ("spans", "chops", "chop_ends"),
    StylesCache: ("get_inner_outer",),
    XTermParser: ("feed", "tick"),
}
"""Class of Textual -> the private names of it that memtui uses or overrides; of classes that are
private themselves all names."""
OTHERS = frozenset({"_exit", "_added"})
"""Private names of other libraries: `os._exit`, documented, and one of Whoosh, whose version is
fixed."""


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner, names in USED.items() for name in names]
)
def test_textual_has_the_private_names_that_are_used(owner: type, name: str) -> None:
    sources = (inspect.getsource(each) for each in owner.__mro__[:-1])
    is_set = (re.search(rf"\bself\.{name}\b[^=\n]*=[^=]", source) for source in sources)
    assert hasattr(owner, name) or any(is_set), (
        f"Textual {version('textual')} has no {owner.__name__}.{name}, which memtui uses:"
        " see the comment where it does"
    )


@pytest.mark.slow
def test_every_private_name_that_is_used_is_in_the_list() -> None:
    nodes = [node for found in walk_sources().values() for node in found]
    own = {name for node in nodes for name in _defined(node)}
    used = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr)
    }
    listed = {name for names in USED.values() for name in names}
    named_tuples = {"_replace", "_asdict", "_fields", "_make"}
    assert used - own - named_tuples <= listed | OTHERS


def _defined(node: ast.AST) -> Iterator[str]:
    """The name that this defines or sets on `self`."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr
