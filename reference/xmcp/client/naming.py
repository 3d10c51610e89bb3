"""The names under which a model sees tools (semantics 20). Pure; the catalogue is built from what stands here."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MAX_NAME: Final = 64
"""Longest function name that the chat formats of all vendors take."""

_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Listing:
    """What one server offers. `named` by the caller: all its tools carry the server's name."""

    server: str
    named: bool
    tools: Sequence[str]


@dataclass(frozen=True, slots=True)
class Exposed:
    """One tool: its name for the model, the place of its listing, and its name on the wire."""

    name: str
    listing: int
    tool: str


def expose(listings: Sequence[Listing]) -> tuple[list[Exposed], list[str]]:
    """A name for every tool, all different, in the order of the listings; and a sentence for every clash.

    Nothing is dropped, except that a tool which one server lists twice counts once.
    """
    out: list[Exposed] = []
    warnings: list[str] = []
    taken: set[str] = set()
    for place, listing in enumerate(listings):
        for tool in dict.fromkeys(listing.tools):
            name = legal(f"{listing.server}__{tool}" if listing.named else tool)
            if name in taken:
                name = _free(listing.server, tool, taken)
                warnings.append(
                    f"The tool {tool!r} of server {listing.server!r} is offered as {name!r}: its name was taken."
                )
            taken.add(name)
            out.append(Exposed(name, place, tool))
    return out, warnings


def legal(name: str) -> str:
    """`name` as a function name that every vendor takes: the same if it is one, else a close and stable one."""
    clean = _ILLEGAL.sub("_", name) or "_"
    if len(clean) <= MAX_NAME:
        return clean
    return f"{clean[: MAX_NAME - 9]}_{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _free(server: str, tool: str, taken: set[str]) -> str:
    name, number = legal(f"{server}__{tool}"), 1
    while name in taken:
        number += 1
        name = legal(f"{server}_{number}__{tool}")
    return name
