"""The names under which a model sees tools (spec/11-client.md, section 11.9). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xmcp.chat.tool_schemas import legal_name
from xmcp.client.tools.meta_tools import RESERVED


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


def expose(listings: Sequence[Listing], kept: Names | None = None) -> tuple[list[Exposed], list[str]]:
    """Return a unique name for every tool, in the order of the listings, and a sentence for every clash.

    Every tool gets a name; a tool that a server lists twice counts once. `kept` has the names assigned before, also
    those of tools that are missing now: a tool keeps its name, and no other tool gets it. A server keeps its place in
    the listings as long as `kept` is used; a server that is not connected has an empty listing. The names of the
    client's own tools are reserved.
    """
    out: list[Exposed] = []
    warnings: list[str] = []
    kept = kept or {}
    taken = {*RESERVED, *kept.values()}
    for place, listing in enumerate(listings):
        for tool in dict.fromkeys(listing.tools):
            wanted = legal_name(f"{listing.server}__{tool}" if listing.named else tool)
            name = kept.get((place, tool)) or (wanted if wanted not in taken else _free(listing.server, tool, taken))
            if name != wanted:
                why = "the client has a tool of that name itself" if wanted in RESERVED else "its name was taken"
                warnings.append(f"The tool {tool!r} of server {listing.server!r} is offered as {name!r}: {why}.")
            taken.add(name)
            out.append(Exposed(name, place, tool))
    return out, warnings


def _free(server: str, tool: str, taken: set[str]) -> str:
    name, number = legal_name(f"{server}__{tool}"), 1
    while name in taken:
        number += 1
        name = legal_name(f"{server}_{number}__{tool}")
    return name
