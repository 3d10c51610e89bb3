"""The names under which a model sees tools (spec/11-client.md, section 11.9). Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from xmcp.chat.tool_schemas import legal_name
from xmcp.client.tools.meta_tools import RESERVED

AFTER_SERVER: Final = "__"
"""What stands between the name of a server and that of its tool, where tools have both."""

MAX_SENTENCES: Final = 20
"""Maximum number of sentences about the names of one server's tools: each chat is told them again."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of one server. If the application named it (`named`), all their names begin with its name."""

    server: str
    named: bool
    tools: Sequence[str]


@dataclass(frozen=True, slots=True)
class Exposed:
    """One tool: its name for the model, the place of its listing, and its name at the server."""

    name: str
    listing: int
    tool: str


Names: TypeAlias = Mapping[tuple[int, str], str]
"""Assigned names, by the place of a server's listing and the tool's name there."""


class Assigned(dict[tuple[int, str], str]):
    """Every name that was assigned since the client began. It only grows, so all catalogues of a client share one.

    A copy for each catalogue would take a time and a memory that grow with all names that there ever were.
    """

    def __init__(self, names: Names | None = None) -> None:
        super().__init__(names or {})
        self.taken = {*RESERVED, *self.values()}

    def add(self, exposed: Exposed) -> None:
        """Add the name of a tool."""
        self[exposed.listing, exposed.tool] = exposed.name
        self.taken.add(exposed.name)


def expose(listings: Sequence[Listing], kept: Names | None = None) -> tuple[list[Exposed], list[str]]:
    """Return a unique name for every tool, in the order of the listings, and a sentence for every clash.

    Every tool gets a name; a tool that a server lists twice counts once. `kept` has the names assigned before, also
    those of tools that are missing now: a tool keeps its name, and no other tool gets it. A server keeps its place in
    the listings as long as `kept` is used; a server that is not connected has an empty listing. The names of the
    client's own tools are reserved. A name that was changed because models do not take it (`delete.all`) never is the
    one that another tool has by itself (`delete_all`).
    """
    each = expose_each(listings, kept)
    return [e for exposed, _ in each for e in exposed], [warning for _, warnings in each for warning in warnings]


def expose_each(listings: Sequence[Listing], kept: Names | None = None) -> list[tuple[list[Exposed], list[str]]]:
    """Return the same as `expose`, for each listing by itself. If `kept` is an `Assigned`, it gets the new names."""
    each: list[tuple[list[Exposed], list[str]]] = []
    assigned = kept if isinstance(kept, Assigned) else Assigned(kept)
    numbers: dict[str, int] = {}
    own = {full for listing in listings for tool in listing.tools if legal_name(full := _full(listing, tool)) == full}
    for place, listing in enumerate(listings):
        exposed: list[Exposed] = []
        changed: list[str] = []
        for tool in dict.fromkeys(listing.tools):
            full = _full(listing, tool)
            wanted = legal_name(full)
            name = assigned.get((place, tool))
            if name is None:
                free = wanted not in assigned.taken and (wanted == full or wanted not in own)
                name = wanted if free else _free(listing.server, tool, assigned.taken, own, numbers)
            if name != wanted:
                why = "the client has a tool of that name itself" if wanted in RESERVED else "its name was taken"
                changed.append(f"The tool {tool!r} of server {listing.server!r} is offered as {name!r}: {why}.")
            exposed.append(Exposed(name, place, tool))
            assigned.add(exposed[-1])
        if len(changed) > MAX_SENTENCES:
            more = len(changed) - MAX_SENTENCES
            last = f"{more} more tools of server {listing.server!r} are offered under other names."
            changed[MAX_SENTENCES:] = [last]
        each.append((exposed, changed))
    return each


def _full(listing: Listing, tool: str) -> str:
    """Return the name that a tool should have; models may not take it."""
    return f"{listing.server}{AFTER_SERVER}{tool}" if listing.named else tool


def _free(server: str, tool: str, taken: Collection[str], own: Collection[str], numbers: dict[str, int]) -> str:
    """Return a name that no tool has. `numbers` has the last number tried for each name; none is tried twice."""
    name = first = legal_name(f"{server}{AFTER_SERVER}{tool}")
    while name in taken or name in own:
        numbers[first] = number = numbers.get(first, 1) + 1
        name = legal_name(f"{server}_{number}{AFTER_SERVER}{tool}")
    return name
