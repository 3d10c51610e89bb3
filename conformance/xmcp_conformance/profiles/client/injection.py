"""What depends on what in a turn, and which values are handed on (section 11.3). Recomputed from the text alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import jsonschema_rs

from .messages import compact
from .trace import Tool
from .trace_index import TraceIndex
from .trace_model import Call

NEVER_HANDED_ON = ("show_user", "tag")
"""The caller's switch, and what tells the calls of a trace apart."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value for a parameter; the call, and its tool, whose result it is or is a member of."""

    value: Any
    source: Call
    tool: Tool
    member: bool


@dataclass(frozen=True, slots=True)
class Due:
    """What a parameter is due: any of `values`. The rest of what there was for it, for whoever says what went wrong."""

    values: tuple[Value, ...]
    earlier_calls: tuple[Value, ...]
    other_tools: tuple[Value, ...]

    @property
    def by_member(self) -> bool:
        """Whether it is a member of a structured result, rather than a whole one."""
        return self.values[0].member


def needed(call: Call) -> list[Call]:
    """The calls of the turn that a call directly depends on, in call order."""
    if call.tool is None:
        return []
    names = {name for name in call.tool.depends_on if name != call.tool.name}
    return [
        other
        for other in call.turn.calls
        if other.tool is not None and other.tool.server == call.tool.server and other.tool.name in names
    ]


def ends(call: Call) -> bool:
    """Whether no other call of the turn depends on this one."""
    return not any(call in needed(other) for other in call.turn.calls if other is not call)


def failed(call: Call) -> bool:
    """Whether the model was told that a call failed."""
    return call.reply is not None and call.reply.error is not None


def failed_tools(call: Call) -> list[str]:
    """The tools that a call directly depends on, of which every call of the turn failed."""
    calls = needed(call)
    names = {other.tool.name for other in calls if other.tool is not None}
    lost = {name for name in names if all(failed(c) for c in calls if c.tool is not None and c.tool.name == name)}
    return sorted(lost)


def parameters(trace: TraceIndex, tool: Tool) -> list[str]:
    """The parameters that a result can fill: the application's own values come first."""
    properties = tool.input_schema.get("properties")
    names = properties if isinstance(properties, Mapping) else {}
    return [name for name in names if name not in NEVER_HANDED_ON and name not in trace.setup.params]


def due(trace: TraceIndex, call: Call) -> dict[str, Due] | None:
    """What each parameter of a call is due from its predecessors; `None` where the results are not all known."""
    if call.tool is None or call.turn.is_open:
        return None
    levels = _levels(call)
    if any(c.succeeded and c.answer is None and not c.meta for level in levels for c in level):
        return None
    found = {}
    for name in parameters(trace, call.tool):
        entry = _due(call.tool, name, levels, member=True) or _due(call.tool, name, levels, member=False)
        if entry is not None:
            found[name] = entry
    return found


def misfits(call: Call, values: Mapping[str, Due]) -> list[str]:
    """The parameters whose value does not fit their schema, whichever of the values it is."""
    tool = call.tool
    return [n for n, entry in values.items() if tool and not any(_fits(tool, n, v.value) for v in entry.values)]


def expected_arguments(trace: TraceIndex, call: Call) -> dict[str, Any] | None:
    """With what a call is made; `None` where that is open."""
    values = due(trace, call)
    if call.tool is None or call.arguments is None or values is None:
        return None
    if any(len(entry.values) > 1 for entry in values.values()):
        return None
    handed = {name: entry.values[0].value for name, entry in values.items()}
    return {**call.arguments, **handed, **filled_in(trace, call.tool)}


def filled_in(trace: TraceIndex, tool: Tool) -> dict[str, Any]:
    """The parameters of a tool that the application fills in, with their values."""
    properties = tool.input_schema.get("properties")
    return {n: v for n, v in trace.setup.params.items() if isinstance(properties, Mapping) and n in properties}


def _levels(call: Call) -> list[list[Call]]:
    """The predecessors by how near they are."""
    levels: list[list[Call]] = []
    seen = {id(call)}
    current = [call]
    while current:
        following = []
        for one in current:
            for other in needed(one):
                if id(other) not in seen:
                    seen.add(id(other))
                    following.append(other)
        if following:
            levels.append(following)
        current = following
    return levels


def _due(tool: Tool, name: str, levels: Sequence[Sequence[Call]], *, member: bool) -> Due | None:
    """Of the nearest level that has a value: by tool the last success, and of several tools the one declared later.

    Which of two is declared later is plain where the tool itself names both in `depends_on`; elsewhere it is open.
    """
    by_level = [[value for call in level if (value := _value(call, name, member=member))] for level in levels]
    nearest = next((place for place, values in enumerate(by_level) if values), None)
    if nearest is None:
        return None
    by_tool: dict[str, list[Value]] = {}
    for value in sorted(by_level[nearest], key=lambda value: value.source.place):
        by_tool.setdefault(value.tool.name, []).append(value)
    chosen = [max(by_tool, key=list(tool.depends_on).index)] if nearest == 0 else list(by_tool)
    values = tuple(by_tool[one][-1] for one in chosen)
    earlier = tuple(value for one in chosen for value in by_tool[one][:-1])
    rest = [value for one, values in by_tool.items() if one not in chosen for value in values]
    rest += [value for values in by_level[nearest + 1 :] for value in values]
    return Due(values, earlier, tuple(rest))


def _value(call: Call, name: str, *, member: bool) -> Value | None:
    answer = call.answer
    if not call.succeeded or answer is None or answer.outcome != "ok" or call.tool is None:
        return None
    structured = answer.structured
    if member:
        has = isinstance(structured, Mapping) and name in structured
        return Value(structured[name], call, call.tool, True) if has else None
    if call.tool.provides != name:
        return None
    whole = structured if structured is not None else answer.text
    return Value(whole, call, call.tool, False) if whole is not None else None


def _fits(tool: Tool, name: str, value: Any) -> bool:
    check = _validator(compact(dict(tool.input_schema)), name)
    return check is None or check.is_valid(value)


@lru_cache(256)
def _validator(schema: str, name: str) -> jsonschema_rs.Draft202012Validator | None:
    """What judges one parameter; `None` where its schema is none."""
    root = json.loads(schema)
    pointer = quote(name.replace("~", "~0").replace("/", "~1"), safe="")
    whole = {"$ref": f"json-schema:///input#/properties/{pointer}"}
    try:
        registry = jsonschema_rs.Registry([("json-schema:///input", root)])
        return jsonschema_rs.Draft202012Validator(whole, registry=registry, offline=True)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None
