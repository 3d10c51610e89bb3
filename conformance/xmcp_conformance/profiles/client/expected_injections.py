"""The dependencies between the calls of a turn, and the values that a client has to inject (section 11.3)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import jsonschema_rs

from .messages import compact, parameter_names
from .trace import Tool
from .trace_index import TraceIndex
from .trace_model import NO_DATA, ModelCall, data_of

NEVER_INJECTED = ("show_user", "tag")
"""Parameters that no result may fill: the caller sets `show_user`, and `tag` identifies a call in a trace."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value for a parameter: the result of the call `source`, or a member of that result if `member` is true."""

    value: Any
    source: ModelCall
    tool: Tool
    member: bool


@dataclass(frozen=True, slots=True)
class Expected:
    """The value that is correct for a parameter, and the values that a client with a known fault injects instead.

    `earlier_calls`: values of earlier calls of the same tool. `other_tools`:
    values of other tools, which have lower priority. `unnamed`: the value comes from the only tool in `depends_on`,
    and neither a member nor `provides` has the parameter's name (XMCP-CLI-120).
    """

    right: Value
    earlier_calls: tuple[Value, ...]
    other_tools: tuple[Value, ...]
    unnamed: bool = False

    @property
    def by_member(self) -> bool:
        """Whether the correct value is a member of a structured result, not a whole result."""
        return self.right.member


def dependencies_of(call: ModelCall) -> list[ModelCall]:
    """Return the calls of the same turn on which a call directly depends, in call order."""
    if call.tool is None:
        return []
    names = {name for name in call.tool.depends_on if name != call.tool.name}
    return [
        other
        for other in call.turn.calls
        if other.tool is not None and other.tool.server == call.tool.server and other.tool.name in names
    ]


def is_last(call: ModelCall) -> bool:
    """Return whether no other call of the turn depends on this one."""
    return not any(call in dependencies_of(other) for other in call.turn.calls if other is not call)


def failed(call: ModelCall) -> bool:
    """Return whether the model got an error as the result of a call."""
    return call.reply is not None and call.reply.error is not None


def failed_dependencies(call: ModelCall) -> list[str]:
    """Return the direct dependencies of a call that failed: tools whose calls in the turn all failed.

    A call that the end of its chat ended has not failed, for the calls that wait for it: that ends them, too.
    """
    calls = dependencies_of(call)
    names = {other.tool.name for other in calls if other.tool is not None}
    lost = {name for name in names if all(_has_failed(c) for c in calls if c.tool and c.tool.name == name)}
    return sorted(lost)


def _has_failed(call: ModelCall) -> bool:
    return failed(call) and not call.ended_with_its_chat


def waited_at_the_end(call: ModelCall) -> bool:
    """Return whether the end of the chat met a call while it waited for another one."""
    waited = any(other.ended_with_its_chat for other in dependencies_of(call))
    return waited and not call.attempts and not failed_dependencies(call)


def fillable_parameters(trace: TraceIndex, tool: Tool) -> list[str]:
    """Return the parameters that a result can fill, without those that the application fills."""
    properties = tool.input_schema.get("properties")
    names = properties if isinstance(properties, Mapping) else {}
    return [name for name in names if name not in NEVER_INJECTED and name not in trace.setup.params]


def expected_values(trace: TraceIndex, call: ModelCall) -> dict[str, Expected] | None:
    """Return the values that parameters must get from dependencies; `None` if the trace lacks a result to know them."""
    if call.tool is None or call.turn.is_open:
        return None
    levels = _levels(call)
    if any(c.succeeded and c.answer is None and not c.meta for level in levels for c in level):
        return None
    found = {}
    for name in fillable_parameters(trace, call.tool):
        entry = _expected(call.tool, name, levels, member=True) or _expected(call.tool, name, levels, member=False)
        if entry is not None:
            found[name] = entry
    if not can_be_checked(call.tool) and any(_is_read_from_text(entry.right) for entry in found.values()):
        return None  # the text as it is, or what it is as JSON: who cannot check the schema cannot tell
    return found or _unnamed(trace, call, call.tool)


def only_dependency(trace: TraceIndex, tool: Tool, at: int) -> Tool | None:
    """Return the only other tool that a tool names in `depends_on`, of those offered of the server at a record."""
    listed = [t for t in trace.tools_within_limit_at(at) if t.server == tool.server and t.name in tool.depends_on]
    others = [t for t in listed if t.name != tool.name]
    return others[0] if len(others) == 1 else None


def only_required_parameter(trace: TraceIndex, tool: Tool) -> str | None:
    """Return the only parameter that a tool requires, without those of the application, if a result can fill it."""
    listed = tool.input_schema.get("required") or ()
    required = {name for name in listed if name not in trace.setup.params}
    fillable = [name for name in fillable_parameters(trace, tool) if name in required]
    return fillable[0] if len(required) == len(fillable) == 1 else None


def without_fitting_value(call: ModelCall, values: Mapping[str, Expected]) -> list[str]:
    """Return the parameters whose schema allows none of the expected values."""
    tool = call.tool
    if tool is None or not can_be_checked(tool):
        return []
    return [name for name, entry in values.items() if not _fits(tool, name, entry.right.value)]


def expected_arguments(trace: TraceIndex, call: ModelCall) -> dict[str, Any] | None:
    """Return the arguments with which a call must be made; `None` where they are not known."""
    values = expected_values(trace, call)
    if call.tool is None or call.arguments is None or values is None:
        return None
    injected = {name: entry.right.value for name, entry in values.items()}
    written = {name: value for name, value in call.arguments.items() if name not in trace.setup.params}
    return {**written, **injected, **application_values(trace, call)}


def fit_the_schema(trace: TraceIndex, call: ModelCall) -> bool:
    """Return whether the arguments that a call has to be made with are valid; true where nobody can tell."""
    arguments = expected_arguments(trace, call)
    if call.tool is None or arguments is None or not can_be_checked(call.tool):
        return True
    schema = dict(call.tool.input_schema)
    schema["properties"] = {"tag": {}, **(schema.get("properties") or {})}  # as its server lists it
    check = _validator_of_all(compact(schema))
    return check is None or check.is_valid(arguments)


def application_values(trace: TraceIndex, call: ModelCall) -> dict[str, Any]:
    """Return the parameters that the application fills in for a call, with their values."""
    return {name: value for name, value in _of_the_application(trace, call).items() if value is not None}


def values_that_lack(trace: TraceIndex, call: ModelCall) -> list[str]:
    """Return the parameters that the application fills in for a call, and for which it has no value in that chat."""
    return [name for name, value in _of_the_application(trace, call).items() if value is None]


def _of_the_application(trace: TraceIndex, call: ModelCall) -> dict[str, Any]:
    if call.tool is None or not trace.setup.params:
        return {}
    declared, given = set(parameter_names(call.tool.input_schema)), call.turn.chat.began.params
    return {name: given.get(name, value) for name, value in trace.setup.params.items() if name in declared}


def _levels(call: ModelCall) -> list[list[ModelCall]]:
    """Return the direct and indirect dependencies of a call, grouped by distance, the nearest group first.

    Within a group they are in the order of section 11.3: of what one `depends_on` names, the last name comes first.
    """
    levels: list[list[ModelCall]] = []
    seen = {id(call)}
    current = [call]
    while current:
        following = []
        for one in current:
            named = list(one.tool.depends_on) if one.tool is not None else []
            of = sorted(dependencies_of(one), key=lambda other: -named.index(other.tool.name) if other.tool else 0)
            for other in of:
                if id(other) not in seen:
                    seen.add(id(other))
                    following.append(other)
        if following:
            levels.append(following)
        current = following
    return levels


def _expected(tool: Tool, name: str, levels: Sequence[Sequence[ModelCall]], *, member: bool) -> Expected | None:
    """Return the expected values of a parameter; `None` if no dependency has a value for it.

    The values come from the nearest level that has any, there from the first tool in the order of section 11.3, and of
    several calls of that tool from the last successful one.
    """
    by_level = []
    for level in levels:
        known = [value for call in level if (value := _value(call, tool, name, member=member))]
        handing_on = {value.tool.name for value in known if value.source in _last_successes(level)}
        by_level.append([value for value in known if value.tool.name in handing_on])
    nearest = next((place for place, values in enumerate(by_level) if values), None)
    if nearest is None:
        return None
    by_tool: dict[str, list[Value]] = {}
    for value in sorted(by_level[nearest], key=lambda value: value.source.place):
        by_tool.setdefault(value.tool.name, []).append(value)
    chosen = by_level[nearest][0].tool.name
    *earlier, right = by_tool.pop(chosen)
    rest = [value for values in (*by_tool.values(), *by_level[nearest + 1 :]) for value in values]
    return Expected(right, tuple(earlier), tuple(rest))


def _last_successes(level: Sequence[ModelCall]) -> list[ModelCall]:
    """Return of each tool the last call that succeeded: only that one hands anything on (XMCP-CLI-034)."""
    return list({call.tool.name: call for call in sorted(level, key=_place) if call.tool and call.succeeded}.values())


def _place(call: ModelCall) -> int:
    return call.place


def _unnamed(trace: TraceIndex, call: ModelCall, tool: Tool) -> dict[str, Expected] | None:
    """Return the value that XMCP-CLI-120 gives a call that gets none by a name; empty if it gives none.

    `None` where a client can do both, because not every client can check the schema.
    """
    source = only_dependency(trace, tool, call.turn.asked_at)
    name = only_required_parameter(trace, tool)
    if source is None or name is None or call.arguments is None or name in call.arguments:
        return {}
    calls = [other for other in dependencies_of(call) if other.tool is not None and other.tool.name == source.name]
    results = [_whole(other, tool, name) for other in calls if other.succeeded]
    value = results[-1] if results else None
    if value is None or not _fits(tool, name, value.value):
        return {} if value is None or can_be_checked(tool) else None
    if not can_be_checked(tool) and _is_read_from_text(value):
        return None
    return {name: Expected(value, tuple(one for one in results[:-1] if one is not None), (), unnamed=True)}


def _value(call: ModelCall, taker: Tool, name: str, *, member: bool) -> Value | None:
    """Return the value that a call has for the parameter `name` of the tool `taker`, by that name."""
    if not member:
        return _whole(call, taker, name) if call.tool is not None and call.tool.provides == name else None
    answer = call.answer
    if not call.succeeded or answer is None or answer.outcome != "ok" or call.tool is None:
        return None
    structured = data_of(answer, call.tool)
    has = isinstance(structured, Mapping) and name in structured
    return Value(structured[name], call, call.tool, True) if has else None


def _whole(call: ModelCall, taker: Tool, name: str) -> Value | None:
    """Return the whole result of a call, for the parameter `name` of the tool `taker`."""
    answer = call.answer
    if not call.succeeded or answer is None or answer.outcome != "ok" or call.tool is None:
        return None
    if (structured := data_of(answer, call.tool)) is not NO_DATA:
        return Value(structured, call, call.tool, False)
    text = answer.text or ""
    if not text and answer.display is not None and not answer.bad_display:
        return None
    whole = text if _fits(taker, name, text) else _json_or_text(text)
    return Value(whole, call, call.tool, False)


def _is_read_from_text(value: Value) -> bool:
    """Return whether a whole result is the JSON value that a text is, and not the text."""
    answer = value.source.answer
    return not value.member and answer is not None and answer.structured is None and not isinstance(value.value, str)


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def can_be_checked(tool: Tool) -> bool:
    """Return whether each client can check an input schema: it is of 2020-12, and has no pattern beyond the common."""
    dialect = tool.input_schema.get("$schema", _DIALECT)
    return str(dialect).rstrip("#") == _DIALECT and not any(map(_RARE.search, _patterns(tool.input_schema)))


_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_RARE = re.compile(r"\(\?|\\[pPkbBAzZG]|[+*?}]\+|\[\[")
"""What not every kind of regular expressions has, or means in the same way."""


def _patterns(schema: Any) -> Iterator[str]:
    """Yield the regular expressions in a schema."""
    waiting = [schema]
    for part in waiting:
        if isinstance(part, Mapping):
            if isinstance(part.get("pattern"), str):
                yield part["pattern"]
            if isinstance(part.get("patternProperties"), Mapping):
                yield from map(str, part["patternProperties"])
            waiting.extend(part.values())
        elif isinstance(part, list | tuple):
            waiting.extend(part)


def _fits(tool: Tool, name: str, value: Any) -> bool:
    check = _validator(compact(dict(tool.input_schema)), name)
    return check is None or check.is_valid(value)


@lru_cache(256)
def _validator_of_all(schema: str) -> jsonschema_rs.Draft202012Validator | None:
    """Return the validator of all arguments; `None` if the schema is not valid."""
    try:
        return jsonschema_rs.Draft202012Validator(json.loads(schema), offline=True)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None


@lru_cache(256)
def _validator(schema: str, name: str) -> jsonschema_rs.Draft202012Validator | None:
    """Return the validator of one parameter; `None` if its schema is not valid."""
    root = json.loads(schema)
    pointer = quote(name.replace("~", "~0").replace("/", "~1"), safe="")
    whole = {"$ref": f"json-schema:///input#/properties/{pointer}"}
    try:
        registry = jsonschema_rs.Registry([("json-schema:///input", root)])
        return jsonschema_rs.Draft202012Validator(whole, registry=registry, offline=True)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None
