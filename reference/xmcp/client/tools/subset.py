"""Subsets of a catalogue: the tools that one chat offers. Each is made once, and shared by the chats that want it."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final
from weakref import WeakKeyDictionary

from xmcp.chat import client_made_errors
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.client.tools.catalogue import Catalogue, Entry, Offer

MAX_KEPT: Final = 64
"""Maximum number of subsets of one catalogue that are kept; the one used last is the last to go."""


class Subsets:
    """Makes subsets, and keeps them as long as their catalogue is in use. `offer` is as for `catalogue.build`."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._kept: WeakKeyDictionary[ToolSchemas, OrderedDict[frozenset[str], Catalogue]] = WeakKeyDictionary()

    def of(self, catalogue: Catalogue, wanted: Callable[[str], object]) -> Catalogue:
        """Return the catalogue with only those tools, the client's own included, for whose names `wanted` is true."""
        offered = names_in(catalogue)
        names = frozenset(name for name in offered if wanted(name))
        if len(names) == len(offered):
            return catalogue
        kept = self._kept.setdefault(catalogue.schemas, OrderedDict())
        if names not in kept:
            kept[names] = self._made(catalogue, names)
            if len(kept) > MAX_KEPT:
                kept.popitem(last=False)
        kept.move_to_end(names)
        return replace(kept[names], warnings=catalogue.warnings)

    def _made(self, catalogue: Catalogue, names: frozenset[str]) -> Catalogue:
        entries = {name: entry for name, entry in catalogue.entries.items() if name in names}
        siblings: dict[int, dict[str, Entry]] = defaultdict(dict)
        for entry in entries.values():
            siblings[id(entry.server)][entry.tool] = entry
        tools = []
        for tool in catalogue.schemas.tools:
            name = tool["function"]["name"]
            if name not in names:
                continue
            # What a tool that is left out would have handed on, the model has to give itself.
            depends = name in entries and entries[name].depends_on
            tools.append(self._offer(entries[name], siblings[id(entries[name].server)]) if depends else tool)
        return replace(catalogue, entries=entries, schemas=ToolSchemas.of(tools, catalogue.version))


def names_in(catalogue: Catalogue) -> list[str]:
    """Return the names of all tools that a catalogue offers, in order."""
    return [tool["function"]["name"] for tool in catalogue.schemas.tools]


def missing(catalogue: Catalogue, names: Iterable[str]) -> list[str]:
    """Return the names that no tool of the catalogue has, sorted."""
    return sorted(set(names).difference(names_in(catalogue)))


def unknown(catalogue: Catalogue, names: Iterable[str]) -> str | None:
    """Return what is wrong with the first name that no tool has had since the client began; `None` if there is none."""
    if not (absent := missing(catalogue, names)):
        return None
    had = set(catalogue.names.values())
    name = next((name for name in absent if name not in had), None)
    return None if name is None else client_made_errors.unknown_tool(name, names_in(catalogue)).message
