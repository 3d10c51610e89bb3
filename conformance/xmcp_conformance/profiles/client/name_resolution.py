"""Find which tool an offered name means (section 11.9), from the rules for names and from the calls of the trace."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from .messages import function_of, parameters_of
from .trace import Asked, Setup, Tool

ToolKey = tuple[int, str]
"""The key of a tool: the index of its server, and its name on that server."""

_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_DIGITS = re.compile("[0-9]*")
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


def may_name(setup: Setup, name: str, tool: Tool, renamed: Container[ToolKey] = ()) -> bool:
    """Return whether a conforming client can have offered the tool under this name.

    Args:
        setup: the names of the servers.
        name: the name.
        tool: the tool.
        renamed: the tools that can have another name because theirs is taken, as `may_be_renamed` returns them.
    """
    full = full_name(setup, tool)
    if name == full:
        return True
    if key_of(tool) in renamed and has_name_of(name, tool):
        return True
    if not is_legal(full):
        return resembles(name, full)
    return not setup.servers[tool.server].given_name and name.endswith(f"__{_ILLEGAL.sub('_', tool.name)}")


def may_be_renamed(setup: Setup, own: Container[str], tools: Iterable[Tool]) -> set[ToolKey]:
    """Return the tools whose full name another tool can have, so that the client chooses another one (section 11.9).

    Args:
        setup: the names of the servers.
        own: the names of the client's own tools.
        tools: all tools that the client has ever known: a name stays with its tool.
    """
    by_key = {key_of(tool): tool for tool in tools}
    bearers = Counter(full_name(setup, tool) for tool in by_key.values())
    # Tools with a name of the client's choice, and the beginning that such a name has at least.
    chosen = []
    for key, tool in by_key.items():
        full = full_name(setup, tool)
        if bearers[full] > 1 or full in own or not is_legal(full):
            chosen.append((key, _stem(tool.name)))
    return {
        key
        for key, tool in by_key.items()
        for other, stem in chosen
        if key == other or stem in full_name(setup, tool).lower()
    }


def resembles(name: str, full: str) -> bool:
    """Return whether one name can stand for another: it begins like it, with illegal characters replaced."""
    return _ILLEGAL.sub("_", name).lower().startswith(_stem(full))


def has_name_of(name: str, tool: Tool) -> bool:
    """Return whether a name has the tool's own name, or the beginning of a long one, as a part, not inside of a word.

    A part ends at a character that is no letter or digit, or where a capital begins another word. A number can follow
    it, with which clients tell apart what is named alike.
    """
    offered, stem = _ILLEGAL.sub("_", name), _stem(tool.name)
    lower = offered.lower()
    at = lower.find(stem) if stem else -1
    while at >= 0:
        number = _DIGITS.match(offered, at + len(stem))
        end = number.end() if number is not None else at + len(stem)
        if _ends_a_word(offered, at) and (len(tool.name) > _STEM or _ends_a_word(offered, end)):
            return True
        at = lower.find(stem, at + 1)
    return False


def _ends_a_word(name: str, at: int) -> bool:
    return not _is_inside_a_word(name, at) or (name[at].isupper() and not name[at - 1].isupper())


def _stem(name: str) -> str:
    return _ILLEGAL.sub("_", name)[:_STEM].lower()


def shows(setup: Setup, asked: Asked, name: str, tool: Tool) -> bool:
    """Return whether the parameters that were offered under a name are those of a tool."""
    schema = next((parameters_of(one) for one in asked.tools if function_of(one).get("name") == name), {})
    hidden = {*setup.params, "tag"}
    return {*(schema.get("properties") or {}), *hidden} == {*(tool.input_schema.get("properties") or {}), *hidden}


def resolve(
    setup: Setup,
    asked: Asked,
    name: str,
    tools: Sequence[Tool],
    called: Mapping[str, ToolKey],
    renamed: Container[ToolKey],
) -> Tool | None:
    """Return the tool that an offered name means; `None` where that is open.

    A tool is known by a description that no other one has. Else, where the rules for names allow several tools, it is
    the one that was first called by the name; else the one that was called by no other name and that has the parameters
    which were offered.

    Args:
        setup: the names of the servers, and the parameters that are hidden from the model.
        asked: the request in which the name was offered.
        name: the name.
        tools: all tools at that time.
        called: the tools that were first called, by the names that were used.
        renamed: the tools that can have another name because theirs is taken.
    """
    described = next((str(function_of(one).get("description")) for one in asked.tools if _name(one) == name), "")
    if (known := _described(tools, described)) is not None:
        return known
    exact = [tool for tool in tools if full_name(setup, tool) == name]
    sure = len(exact) == 1 and not _may_have_lost_its_name(setup, asked, exact[0], tools, renamed)
    fits = exact if sure else [tool for tool in tools if may_name(setup, name, tool, renamed)]
    if not fits:  # a name of the client's choice: for a tool without its own, or for one whose own models do not take
        taken = {_name(one) for one in asked.tools}
        nameless = [tool for tool in tools if full_name(setup, tool) not in taken]
        fits = [tool for tool in nameless if key_of(tool) == called.get(name)]
        fits = fits or [tool for tool in tools if not is_legal(full_name(setup, tool))]
    if name in called and len(fits) != 1:
        fits = [tool for tool in fits or tools if key_of(tool) == called[name]]
    if len(fits) > 1:
        fits = [tool for tool in fits if key_of(tool) not in called.values()]
    if len(fits) > 1:
        fits = [tool for tool in fits if shows(setup, asked, name, tool)]
    return fits[0] if len(fits) == 1 else None


def _described(tools: Sequence[Tool], offered: str) -> Tool | None:
    """Return the tool of an offered description; `None` where several can be meant, or one has no description."""
    if not all(tool.description for tool in tools):
        return None
    said = [tool for tool in tools if is_said_in(tool.description or "", offered)]
    longest = max((len(tool.description or "") for tool in said), default=0)
    fits = [tool for tool in said if len(tool.description or "") == longest]
    return fits[0] if len(fits) == 1 else None


def is_said_in(description: str, offered: str) -> bool:
    """Return whether a description is part of another one, between words: a client can add words to it."""
    at = offered.find(description) if description else -1
    while at >= 0:
        end = at + len(description)
        if not _is_inside_a_word(offered, at) and not _is_inside_a_word(offered, end):
            return True
        at = offered.find(description, at + 1)
    return False


def _is_inside_a_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _name(offered: Mapping[str, Any]) -> Any:
    return function_of(offered).get("name")


def _may_have_lost_its_name(
    setup: Setup, asked: Asked, tool: Tool, tools: Sequence[Tool], renamed: Container[ToolKey]
) -> bool:
    """Return whether a request offers a name, besides the full names of all tools, that can stand for this tool."""
    full = {full_name(setup, one) for one in tools}
    others = {str(function_of(one).get("name")) for one in asked.tools} - full
    return key_of(tool) in renamed and any(may_name(setup, name, tool, renamed) for name in others)


def without_name(
    setup: Setup, asked: Asked, tools: Sequence[Tool], called: Mapping[str, ToolKey], own: Container[str] = ()
) -> list[Tool]:
    """Return the tools that are left without a name when each name in a request stands for at most one tool.

    A name stands for a tool that it resembles, and for the one that its description or its first call shows: section
    11.9 lets a client choose names, such as hashes.

    Args:
        setup: the names of the servers.
        asked: the request.
        tools: the tools.
        called: the tools that were first called, by the names that were used.
        own: names in the request that stand for none of the tools.
    """
    offered = [(str(_name(one)), str(function_of(one).get("description"))) for one in asked.tools]
    offered = [one for one in offered if one[0] not in own]
    described = [_described(tools, description) for _, description in offered]
    holders: dict[int, Tool] = {}

    def place(tool: Tool, tried: set[int]) -> bool:
        for at, (name, _) in enumerate(offered):
            is_known = tool is described[at] or called.get(name) == key_of(tool)
            if at in tried or not (is_known or _might_be_offered_as(setup, name, tool)):
                continue
            tried.add(at)
            if at not in holders or place(holders[at], tried):
                holders[at] = tool
                return True
        return False

    return [tool for tool in tools if not place(tool, set())]


def _might_be_offered_as(setup: Setup, name: str, tool: Tool) -> bool:
    """Return whether a name is meant for a tool, also if the name breaks a rule, so that only that rule is reported.

    One that stands for a name which models do not take can be any other.
    """
    return may_name(setup, name, tool) or has_name_of(name, tool) or not is_legal(full_name(setup, tool))
