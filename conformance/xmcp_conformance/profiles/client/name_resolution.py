"""Find which tool an offered name means (section 11.9), from the rules for names and from the calls of the trace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from .messages import function_of, parameters_of
from .trace import Asked, Setup, Tool

ToolKey = tuple[int, str]
"""The key of a tool: the index of its server, and its name on that server."""

_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_STEM = 20
"""Number of leading characters that a replacement name shares with the name that it stands for."""


def key_of(tool: Tool) -> ToolKey:
    """Return the key that identifies a tool."""
    return tool.server, tool.name


def full_name(setup: Setup, tool: Tool) -> str:
    """Return the name that the model sees of a tool, unless that name is too long, illegal or taken."""
    given = setup.servers[tool.server].given_name
    return f"{given}__{tool.name}" if given else tool.name


def is_legal(name: str) -> bool:
    """Return whether the wire formats of all models allow the name."""
    return bool(_LEGAL.fullmatch(name))


def may_name(setup: Setup, name: str, tool: Tool) -> bool:
    """Return whether a conforming client can have offered the tool under this name."""
    full = full_name(setup, tool)
    if not is_legal(full):
        return resembles(name, full)
    if setup.servers[tool.server].given_name:
        return name == full
    return name == full or name.endswith(f"__{_ILLEGAL.sub('_', tool.name)}")


def resembles(name: str, full: str) -> bool:
    """Return whether one name can stand for another: it begins like it, with illegal characters replaced."""
    stem = _ILLEGAL.sub("_", full)[:_STEM].lower()
    return _ILLEGAL.sub("_", name).lower().startswith(stem)


def resolve(setup: Setup, asked: Asked, name: str, tools: Sequence[Tool], called: Mapping[str, ToolKey]) -> Tool | None:
    """Return the tool that an offered name means; `None` where that is open.

    Where the rules allow several tools, it is the one that was first called by the name; else the one that was called
    by no other name and that has the parameters which were offered.

    Args:
        setup: the names of the servers, and the parameters that are hidden from the model.
        asked: the request in which the name was offered.
        name: the name.
        tools: all tools at that time.
        called: the tools that were first called, by the names that were used.
    """
    exact = [tool for tool in tools if full_name(setup, tool) == name]
    fits = exact if len(exact) == 1 else [tool for tool in tools if may_name(setup, name, tool)]
    if name in called and len(fits) != 1:
        fits = [tool for tool in fits or tools if key_of(tool) == called[name]]
    if len(fits) > 1:
        fits = [tool for tool in fits if key_of(tool) not in called.values()]
    if len(fits) > 1:
        schema = next(parameters_of(tool) for tool in asked.tools if function_of(tool).get("name") == name)
        shown = {*(schema.get("properties") or {}), *setup.params, "tag"}
        fits = [t for t in fits if {*(t.input_schema.get("properties") or {}), *setup.params, "tag"} == shown]
    return fits[0] if len(fits) == 1 else None


def without_name(setup: Setup, names: Sequence[str], tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools that are left without a name when each name stands for at most one tool that it resembles."""
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
    """Return whether a name is meant for a tool, also if the name breaks a rule, so that only that rule is reported."""
    own = _ILLEGAL.sub("_", tool.name)[:_STEM].lower()
    return may_name(setup, name, tool) or own in name.lower()
