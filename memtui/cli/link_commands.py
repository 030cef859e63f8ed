"""Commands that follow links: `links`, `traverse`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from memtui.cli.options import command, option
from memtui.cli.output import columns, print_json
from memtui.cli.store_selection import load_whole_library
from memtui.query import parse_time_end
from memtui.text import cut, date, one_line

if TYPE_CHECKING:
    from memtui.insight.links import Edge, Node
    from memtui.insight.traversal import Neighbourhood, Step
    from memtui.library import Library


@command
def links(ref: str, stores: Sequence[str], as_json: bool) -> None:
    """List the links of a memory or entity, in both directions, ended ones included.

    REF: a full ref, the beginning of an id, or an entity such as people/alice.
    """
    now = datetime.now(UTC)
    library = load_whole_library(stores)
    node = library.resolve_node(ref)
    with library.links.reading() as index:
        outgoing, incoming = index.outgoing(node), index.incoming(node)
        also = index.also_in(node)
    if as_json:
        from memtui.insight.traversal import node_record

        print_json(
            {
                "node": node_record(node),
                "also": [{"store": store, "name": path} for store, path in also],
                "outgoing": [_link_record(library, edge, now) for edge in outgoing],
                "incoming": [_link_record(library, edge, now) for edge in incoming],
            }
        )
        return
    print(f"{one_line(node.name)}  {library.node_label(node)}")
    for store, path in also:
        print(f"  also in {one_line(library.names.of(store))}: {one_line(path)}")
    for edge in outgoing:
        print(_edge_line(library, edge, forward=True))
    for edge in incoming:
        print(_edge_line(library, edge, forward=False))
    if not outgoing and not incoming:
        click.echo("no links", err=True)


def _link_record(library: Library, edge: Edge, now: datetime) -> dict[str, Any]:
    from memtui.insight.traversal import edge_record

    record = {**edge_record(edge), "holds": edge.is_valid(now)}
    record["from"]["label"] = library.node_label(edge.source)
    record["to"]["label"] = library.node_label(edge.target)
    return record


def _edge_line(library: Library, edge: Edge, *, forward: bool) -> str:
    other = edge.target if forward else edge.source
    arrow = _arrow(edge.relation, forward)
    begun, ended = edge.period(date)
    times = f"  [{begun} to {ended}]" if begun else ""
    note = f"  ({one_line(edge.note)})" if edge.note else ""
    return cut(f"  {arrow} {_name(library, other)}{times}{note}", columns())


def _name(library: Library, node: Node) -> str:
    """A node by its short name and, for a memory, its text."""
    from memtui.insight.links import NodeKind

    if node.kind == NodeKind.UNKNOWN:
        return f"{one_line(node.name)} (unknown)"
    if node.kind == NodeKind.ENTITY:
        return f"{one_line(node.name)} (entity)"
    return f"{one_line(node.name)}  {library.node_label(node)}"


@command
def traverse(
    ref: str,
    relations: Sequence[str] = option(
        "--rel",
        metavar="RELATION",
        help="Follow only this relation; repeatable, or comma-separated.",
    ),
    direction: str = option(
        type=click.Choice(["out", "in", "both"]),
        default="both",
        show_default=True,
        help="Follow links from source to target, backwards, or both.",
    ),
    depth: int = option(
        type=click.IntRange(min=1),
        default=2,
        show_default=True,
        metavar="N",
        help="Maximum number of links between REF and a result.",
    ),
    at: str | None = option(
        metavar="TIME", help="Only links that held at this time. Default: now."
    ),
    form: str = option(
        "--format",
        type=click.Choice(["text", "tree", "json"]),
        default="text",
        show_default=True,
        help="Output format.",
    ),
    *,
    stores: Sequence[str],
    as_json: bool,
) -> None:
    """Follow links from a memory or entity, nearest first, with the path to each result.

    REF: a full ref, the beginning of an id, or an entity such as people/alice.
    """
    from memtui.insight.traversal import Direction

    now = datetime.now(UTC)
    time = parse_time_end(at, now).time if at else now
    library = load_whole_library(stores)
    found = library.traverse(
        library.resolve_node(ref),
        depth=depth,
        direction=Direction(direction),
        relations=[name for text in relations for name in text.split(",") if name],
        at=time,
    )
    form = "json" if as_json else form
    if form == "json":
        _print_records(library, found)
    elif form == "text":
        _print_paths(library, found)
    else:
        _print_tree(library, found)


def _print_records(library: Library, found: Neighbourhood) -> None:
    from memtui.insight.traversal import edge_record, node_record, paths

    steps = paths(found)
    print_json(
        {
            "start": {**node_record(found.start), "label": library.node_label(found.start)},
            "reached": [
                {
                    **node_record(each.node),
                    "label": library.node_label(each.node),
                    "distance": each.distance,
                    "path": [_step_record(step) for step in steps[each.node]],
                }
                for each in found.reached[1:]
            ],
            "edges": [edge_record(edge) for edge in found.edges],
            "left_out": found.left_out,
        }
    )


def _step_record(step: Step) -> dict[str, Any]:
    from memtui.insight.traversal import node_record

    direction = "out" if step.is_forward else "in"
    return {
        "relation": step.edge.relation,
        "direction": direction,
        "to": node_record(step.end),
        "stated_by": step.edge.stated_by,
    }


def _print_paths(library: Library, found: Neighbourhood) -> None:
    from memtui.insight.traversal import paths

    width = columns()
    print(cut(_name(library, found.start), width))
    steps = paths(found)
    for each in found.reached[1:]:
        path = " ".join(_arrow(step.edge.relation, step.is_forward) for step in steps[each.node])
        evidence = _evidence(library, each.step) if each.step is not None else ""
        print(cut(f"{each.distance:>3}  {path} {_name(library, each.node)}{evidence}", width))
    if len(found.reached) == 1:
        click.echo("no links", err=True)
    if found.left_out:
        click.echo(f"{found.left_out} more were not followed", err=True)


def _evidence(library: Library, step: Step) -> str:
    """The memory that states an edge between two entities."""
    from memtui.insight.links import Node, NodeKind

    ends = step.edge.source.kind, step.edge.target.kind
    if ends != (NodeKind.ENTITY, NodeKind.ENTITY):
        return ""
    return f"  by {library.node_label(Node(NodeKind.MEMORY, step.edge.stated_by))}"


def _arrow(relation: str, is_forward: bool) -> str:
    return f"-{one_line(relation)}->" if is_forward else f"<-{one_line(relation)}-"


def _print_tree(library: Library, found: Neighbourhood) -> None:
    from memtui.insight.traversal import tree_rows

    width = columns()
    for row in tree_rows(found):
        print(cut(f"{row.guide}{row.relation}{library.node_label(row.reached.node)}", width))
