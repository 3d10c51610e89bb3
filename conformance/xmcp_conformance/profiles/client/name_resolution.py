"""Which tool an offered name means (section 11.9). A trace does not say it; the rules for names and the calls do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from .messages import function_of, parameters_of
from .trace import Asked, Setup, Tool

Place = tuple[int, str]
"""A tool: the place of its server, and its name there."""

_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_STEM = 20
"""So many characters a name that stands for another shares with it, where the other has as many."""


def place_of(tool: Tool) -> Place:
    """What tells a tool from all others."""
    return tool.server, tool.name


def full_name(setup: Setup, tool: Tool) -> str:
    """The name that a tool has for the model where nothing is in the way."""
    given = setup.servers[tool.server].given_name
    return f"{given}__{tool.name}" if given else tool.name


def is_legal(name: str) -> bool:
    """Whether the formats of all models take the name."""
    return bool(_LEGAL.fullmatch(name))


def could_mean(setup: Setup, name: str, tool: Tool) -> bool:
    """Whether a client that keeps to the rules can have given the tool this name."""
    full = full_name(setup, tool)
    if not is_legal(full):
        return resembles(name, full)
    if setup.servers[tool.server].given_name:
        return name == full
    return name == full or name.endswith(f"__{_ILLEGAL.sub('_', tool.name)}")


def resembles(name: str, full: str) -> bool:
    """Whether one name can stand for another: the beginning is the same, but for what models do not take."""
    stem = _ILLEGAL.sub("_", full)[:_STEM].lower()
    return _ILLEGAL.sub("_", name).lower().startswith(stem)


def meaning(setup: Setup, asked: Asked, name: str, tools: Sequence[Tool], called: Mapping[str, Place]) -> Tool | None:
    """The tool that an offered name means among those there are; `None` where that is open.

    Where the rules leave several it is the one that was first called by the name, else one that no other name was
    called for and that has the parameters which were offered.

    Args:
        setup: for the names of the servers, and parameters that nobody is offered.
        asked: the request in which the name was offered.
        name: the name.
        tools: all tools at that time.
        called: the tools that were first called, by the names that were used.
    """
    exact = [tool for tool in tools if full_name(setup, tool) == name]
    fits = exact if len(exact) == 1 else [tool for tool in tools if could_mean(setup, name, tool)]
    if name in called and len(fits) != 1:
        fits = [tool for tool in fits or tools if place_of(tool) == called[name]]
    if len(fits) > 1:
        fits = [tool for tool in fits if place_of(tool) not in called.values()]
    if len(fits) > 1:
        schema = next(parameters_of(tool) for tool in asked.tools if function_of(tool).get("name") == name)
        shown = {*(schema.get("properties") or {}), *setup.params, "tag"}
        fits = [t for t in fits if {*(t.input_schema.get("properties") or {}), *setup.params, "tag"} == shown]
    return fits[0] if len(fits) == 1 else None


def unnamed(setup: Setup, names: Sequence[str], tools: Iterable[Tool]) -> list[Tool]:
    """The tools for which no name is left, when each name stands for one tool that it resembles."""
    holders: dict[int, Tool] = {}

    def place(tool: Tool, tried: set[int]) -> bool:
        for at, name in enumerate(names):
            if at in tried or not _might_be_offered_as(setup, name, tool):
                continue
            tried.add(at)
            if at not in holders or place(holders[at], tried):
                holders[at] = tool
                return True
        return False

    return [tool for tool in tools if not place(tool, set())]


def _might_be_offered_as(setup: Setup, name: str, tool: Tool) -> bool:
    """Also under a name that breaks a rule, so that only that rule is broken."""
    own = _ILLEGAL.sub("_", tool.name)[:_STEM].lower()
    return could_mean(setup, name, tool) or own in name.lower()
