"""Who asks, what every result has, and how a tool's arguments are described to an agent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from msgspec import Struct
from pydantic import Field
from typing_extensions import TypedDict

from memtui import query as queries
from memtui.config import Settings
from memtui.errors import QueryError, Refused
from memtui.journal import Author
from memtui.library import Library
from memtui.library.agent_proposals import AgentProposals, answers_for
from memtui.library.review_files import Decisions
from memtui.mcp.framing import Cursors
from memtui.query import Query
from memtui.text import mask_secrets

if TYPE_CHECKING:
    from memtui.context import PackDraft, Recipe
    from memtui.library.finding import SearchResult


MAX_LISTED = 20

Ref = Annotated[str, Field(max_length=500, description="Ref of a memory, as a result names it.")]
Text = Annotated[str, Field(max_length=100_000)]
Reason = Annotated[
    str,
    Field(
        min_length=1,
        max_length=500,
        description="Why, in one sentence, for the person who decides; say who told you.",
    ),
]
Words = Annotated[str, Field(max_length=300)]


class Reply(TypedDict):
    """What every result has."""

    notice: NotRequired[str]
    answers: NotRequired[list[dict[str, Any]]]
    """What the person decided on proposals since the last call."""


class Call(Struct, frozen=True):
    """The library, and who asks."""

    library: Library
    settings: Settings
    author: Author
    may_write: bool
    """The person allows agents to write."""
    writes: bool
    """This tool writes."""
    cursors: Cursors
    answered: dict[str, object]
    """Client -> what was there to see when nothing was left to tell it."""

    @property
    def proposals(self) -> AgentProposals:
        state = self.library.state_folder
        if state is None:
            raise Refused("this library was opened read-only")
        return AgentProposals(state)

    @property
    def decisions(self) -> Decisions:
        return Decisions(self.library.state_folder, self.library.now)

    @property
    def recipes(self) -> Mapping[str, Recipe]:
        """The recipes of packs, by name."""
        from memtui.context import read_recipes

        return read_recipes(self.settings.recipes)

    def draft(self, recipe: str, task: str) -> PackDraft:
        """What a recipe gives an agent for a task, before any budget. Raises Refused."""
        from memtui.context import draft_pack, find_recipe, task_query

        now, chosen = self.library.now().astimezone(), find_recipe(recipe, self.recipes)
        library = self.library.hold(task_query(task))
        return draft_pack(chosen, task, library, now, remarks=library.unheld)

    def find(self, text: str) -> SearchResult:
        """What a search line finds. Raises QueryError."""
        return self.library.find(parse(text, self.library.now()))

    def told_answers(self) -> list[dict[str, Any]]:
        """What became of this agent's proposals; each is told once."""
        if self.library.state_folder is None or not (made := self.proposals.mark):
            return []
        hour = int(self.library.now().timestamp() / 3600)
        mark = made, self.decisions.mark, self.library.log_mark, hour
        if self.answered.get(self.author.client) == mark:
            return []
        found = answers_for(self.author.client, self.library)
        if not found:
            self.answered[self.author.client] = mark
        for answer in found[:MAX_LISTED]:
            self.proposals.mark_told(answer)
        return [
            {
                "proposal": answer.proposal.id,
                "decision": answer.decision,
                "act": str(answer.proposal.act),
                "reason_you_gave": mask_secrets(answer.proposal.reason),
            }
            for answer in found[:MAX_LISTED]
        ]


def parse(text: str, now: datetime) -> Query:
    """The query of a search line. Raises QueryError."""
    parsed = queries.parse_search(text, now)
    if parsed.error is not None:
        raise QueryError(parsed.error.text)
    return parsed
