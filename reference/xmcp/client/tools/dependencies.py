"""Dependencies between the calls of one turn, and the results that fill arguments (spec section 11.3). No I/O.

A graph has one row for each call of the turn, in call order: the indexes of the calls on which it directly depends. All
calls of one tool have the same row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, TypeAlias, TypeVar, cast
from urllib.parse import quote

import jsonschema_rs
import orjson

from xmcp.chat import client_made_errors
from xmcp.chat.json_values import encode_json
from xmcp.client.tools.catalogue import Entry
from xmcp.dependency_graph import circle
from xmcp.wire import ErrorInfo, ToolResponse

Graph: TypeAlias = Sequence[Sequence[int]]
Node = TypeVar("Node", bound=Hashable)

SHOW_USER: Final = "show_user"
"""A parameter that never gets a value from a result: the caller decides about it (spec section 3.4)."""

MAX_SEARCHED: Final = 16
"""Maximum number of dependencies that are followed from a tool to find what can fill its parameters, nearest first."""

MAX_VALIDATORS: Final = 256
"""Maximum number of compiled input schemas in memory."""


MAX_VALIDATED_BYTES: Final = 48 * 1024
"""Maximum size as JSON of an input schema that is compiled. That happens on the event loop: the library keeps Python's
lock, so that a worker thread would not help. Arguments for a larger schema are checked by its server only."""

MAX_PATTERNS: Final = 200
"""Maximum number of patterns in it: a few bytes of a pattern can take longer than kilobytes of anything else."""

MAX_PATTERN_BYTES: Final = 50_000
"""Maximum size of a compiled pattern: about `\\w{300}`."""


MAX_CHECK_WORK: Final = 500_000_000
"""Maximum product of the bytes of a parameter's schema and of a value that is checked against it, about 50 ms."""


@dataclass(frozen=True)
class Result:
    """The whole result of a successful call: its structured result, otherwise its text or `None`."""

    value: Any
    structured: bool

    @cached_property
    def parsed(self) -> Any:
        """The JSON value that the text is; the text itself if it is not JSON."""
        try:
            return json.loads(self.value, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return self.value

    @classmethod
    def of(cls, response: ToolResponse, structured_content: Any, entry: Entry) -> Result | None:
        """Return the result of a call of `entry`; `None` if it failed.

        `structured_content` is that of the MCP result, `None` if absent.
        """
        if response.error is not None:
            return None
        if structured_content is None:
            return cls(response.llm_output or (None if response.display is not None else response.llm_output), False)
        member = entry.wrapped_in
        if member is not None and isinstance(structured_content, Mapping) and structured_content.keys() == {member}:
            return cls(structured_content[member], True)
        return cls(structured_content, True)


@dataclass(frozen=True, slots=True)
class FilledArguments:
    """The arguments of a call, with the values of results in them.

    `sources` has, for each parameter that a result filled, the tool (by its name for the model) of that result. The
    values are those of the results, not copies.
    """

    arguments: dict[str, Any]
    sources: Mapping[str, str]


def predecessors(entries: Sequence[Entry | None]) -> tuple[tuple[int, ...], ...]:
    """Return the graph of a turn whose calls go to `entries` (`None`: to no tool of a server).

    A row is in declared order, then in call order. Servers are equal if they are the same object. A circle in the
    metadata is not an error here: in call order, then in declared order, a dependency that would close a circle is
    left out.
    """
    if not any(entry is not None and entry.depends_on for entry in entries):
        return ((),) * len(entries)
    calls: dict[str, list[int]] = {}
    before: dict[str, list[str]] = {}
    for place, entry in enumerate(entries):
        if entry is not None:
            calls.setdefault(_key(entry, entry.tool), []).append(place)
    for entry in entries:
        if entry is not None and (tool := _key(entry, entry.tool)) not in before:
            named = dict.fromkeys(_key(entry, name) for name in entry.depends_on)
            before[tool] = [name for name in named if name in calls and name != tool]
    if circle(before):
        before = _without_circles(before)
    rows = {tool: tuple(place for name in names for place in calls[name]) for tool, names in before.items()}
    return tuple(() if entry is None else rows[_key(entry, entry.tool)] for entry in entries)


def fill_arguments(
    call: int,
    arguments: Mapping[str, Any],
    entries: Sequence[Entry | None],
    graph: Graph,
    results: Sequence[Result | None],
    hidden: Collection[str] = (),
) -> FilledArguments | ErrorInfo:
    """Return the arguments of the call at index `call`, or the error that prevents the call.

    A parameter gets the member of its name of a predecessor's structured result (XMCP-CLI-030), or else the whole
    result of a predecessor whose `provides` is its name (XMCP-CLI-031). If no parameter gets one, the whole result of
    the only tool in `depends_on` goes to the only required parameter, provided that the model left that out and the
    value fits (XMCP-CLI-120).

    Args:
        call: Index of the call in the turn.
        arguments: As the model wrote them.
        entries: The tools of all calls of the turn.
        graph: As returned by `predecessors`.
        results: Of all calls of the turn, `None` for a failed one; those of all predecessors must be there.
        hidden: Parameters that the application fills; no result fills them.

    The error is `DEPENDENCY_FAILED`. It names the first tool of which all calls in the turn failed, or each parameter
    whose schema refuses the value of a result; it does not contain the value.
    """
    entry = entries[call]
    if entry is None or not graph[call]:
        return FilledArguments(dict(arguments), {})
    known = cast("Sequence[Entry]", entries)  # a call without a tool is in no row
    failed, at = None, call
    while (at_fault := _all_failed(graph[at], known, results)) is not None:
        failed = at = at_fault
    if failed is not None:
        return client_made_errors.failed_dependency(known[failed].name)
    before = [*nearest_first(call, lambda place: _successes(graph[place], known, results))]
    fillable = parameters(entry, hidden)
    members: dict[str, int] = {}
    wholes: dict[str, int] = {}
    missing = set(fillable)
    for place in before:
        found = _members(results[place]) & missing
        missing -= found
        members |= dict.fromkeys(found, place)
        provides = known[place].provides
        if provides is not None and _has_value(results[place]):
            wholes.setdefault(provides, place)
    sources = {name: places[name] for name in fillable for places in (wholes, members) if name in places}
    if not sources:
        return _filled_by_the_only_predecessor(entry, arguments, before, known, results, hidden)
    values = {
        name: _value_for(cast("Result", results[place]), name, entry.input_schema) for name, place in sources.items()
    }
    named = {name: known[place].name for name, place in sources.items()}
    refused = _refused(entry.input_schema, values)
    return _misfit(refused, named) if refused else FilledArguments({**arguments, **values}, named)


def shows_all(graph: Graph, shown: Sequence[bool]) -> bool:
    """Return whether every call that no other call depends on has a display; False for a turn without calls."""
    needed = {place for row in graph for place in row}
    return bool(shown) and all(showed or place in needed for place, showed in enumerate(shown))


def nearest_first(start: Node, before: Callable[[Node], Sequence[Node]], limit: int | None = None) -> dict[Node, Node]:
    """Return all predecessors of `start`, nearest first; at equal distance, the one declared later first.

    The value of each is the node through which it was reached: `start` for a direct predecessor. Circles are allowed.
    With a `limit`, all direct predecessors are returned, and others as long as no more dependencies are followed.
    """
    reached = {start: start}
    queue = [start]
    followed = 0
    for node in queue:
        row = before(node)
        followed += len(row)
        if limit is not None and followed > limit and node != start:
            break
        for found in reversed(row):
            if found not in reached:
                reached[found] = node
                queue.append(found)
    del reached[start]
    return reached


def parameters(entry: Entry, hidden: Collection[str] = ()) -> list[str]:
    """Return the parameters of `entry` that a result may fill."""
    properties = entry.input_schema.get("properties")
    return [n for n in properties if n != SHOW_USER and n not in hidden] if isinstance(properties, Mapping) else []


def only_dependency(entry: Entry) -> str | None:
    """Return the only other tool that `entry` names in `depends_on`; `None` if it names none or several."""
    named = {name for name in entry.depends_on if name != entry.tool}
    return named.pop() if len(named) == 1 else None


def only_required_parameter(entry: Entry, hidden: Collection[str] = ()) -> str | None:
    """Return the only parameter that `entry` requires and that a result may fill; `None` if there are none or several.

    Parameters in `hidden` do not count: the model need not give them.
    """
    required = entry.input_schema.get("required")
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return None
    named = {name for name in required if name not in hidden}
    return named.pop() if len(named) == 1 and named <= set(parameters(entry, hidden)) else None


def _filled_by_the_only_predecessor(
    entry: Entry,
    arguments: Mapping[str, Any],
    before: Sequence[int],
    entries: Sequence[Entry],
    results: Sequence[Result | None],
    hidden: Collection[str],
) -> FilledArguments:
    """Return the arguments with the whole result that XMCP-CLI-120 hands on, or unchanged if it hands on nothing."""
    tool, parameter = only_dependency(entry), only_required_parameter(entry, hidden)
    place = next((p for p in before if entries[p].tool == tool), None)
    if place is None or parameter is None or parameter in arguments or not _has_value(results[place]):
        return FilledArguments(dict(arguments), {})
    value = _whole_value(cast("Result", results[place]), parameter, entry.input_schema)
    if not _fits_parameter(entry.input_schema, parameter, value):
        return FilledArguments(dict(arguments), {})
    return FilledArguments({**arguments, parameter: value}, {parameter: entries[place].name})


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _key(entry: Entry, tool: str) -> str:
    return f"{id(entry.server)} {tool}"


def _without_circles(before: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    kept: dict[str, list[str]] = {tool: [] for tool in before}
    for tool, names in before.items():
        for name in names:
            if tool not in nearest_first(name, kept.__getitem__):
                kept[tool].append(name)
    return kept


def _successes(row: Sequence[int], entries: Sequence[Entry], results: Sequence[Result | None]) -> list[int]:
    """Return the last successful call of each tool in a row, in the order of the row."""
    return [*{entries[place].tool: place for place in row if results[place] is not None}.values()]


def _all_failed(row: Sequence[int], entries: Sequence[Entry], results: Sequence[Result | None]) -> int | None:
    """Return the first call in a row whose tool has no successful call; `None` if there is none."""
    succeeded = {entries[place].tool for place in row if results[place] is not None}
    return next((place for place in row if entries[place].tool not in succeeded), None)


def _has_member(result: Result | None, name: str) -> bool:
    return result is not None and isinstance(result.value, Mapping) and name in result.value


def _members(result: Result | None) -> Set[str]:
    return result.value.keys() if result is not None and isinstance(result.value, Mapping) else frozenset()


def _has_value(result: Result | None) -> bool:
    """Return whether the result has a value to inject: a structured `null` is a value, a display alone is not."""
    return result is not None and (result.structured or result.value is not None)


def _value_for(result: Result, name: str, schema: Mapping[str, Any]) -> Any:
    return result.value[name] if _has_member(result, name) else _whole_value(result, name, schema)


def _whole_value(result: Result, name: str, schema: Mapping[str, Any]) -> Any:
    """Return the whole result; a text that does not fit the parameter `name`, as the JSON value that it is."""
    return result.value if result.structured or _fits_parameter(schema, name, result.value) else result.parsed


def _fits_parameter(schema: Mapping[str, Any], name: str, value: Any) -> bool:
    """Return whether a parameter's schema allows a value; True if that cannot be checked here: the server decides."""
    validator = _validator_of(schema)
    return validator is None or _takes_too_long(schema, name, value) or _fits(validator, {name: value})


def _refused(schema: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the parameters whose schemas refuse their values, each with the keyword that refuses it, if known."""
    if not values or (validator := _validator_of(schema)) is None:
        return {}
    return {
        name: _keyword(validator, {name: value})
        for name, value in values.items()
        if not _takes_too_long(schema, name, value) and not _fits(validator, {name: value})
    }


def _takes_too_long(schema: Mapping[str, Any], name: str, value: Any) -> bool:
    """Return whether checking a value could stop the event loop: each rule may be applied to each part of it."""
    if not isinstance(value, str | list | dict):
        return False
    rules = orjson.dumps(schema["properties"][name])
    if b'Ref"' in rules or b'"$ref"' in rules:
        rules = orjson.dumps(schema)
    try:
        size = len(value) if isinstance(value, str) else len(encode_json(value))
    except (TypeError, ValueError, RecursionError):
        return False  # no JSON: the check refuses it at once
    return len(rules) * size > MAX_CHECK_WORK


def _fits(validator: jsonschema_rs.Draft202012Validator, values: Mapping[str, Any]) -> bool:
    try:
        return validator.is_valid(values)
    except ValueError:
        return False  # it is not JSON: half of a surrogate pair, for example


def _keyword(validator: jsonschema_rs.Draft202012Validator, values: Mapping[str, Any]) -> str | None:
    try:
        validator.validate(values)
    except jsonschema_rs.ValidationError as fault:
        return fault.kind.name
    except ValueError:
        pass  # not JSON, or nested too deeply for an error
    return None


def _validator_of(schema: Mapping[str, Any]) -> jsonschema_rs.Draft202012Validator | None:
    try:
        written = orjson.dumps(schema)
    except TypeError:
        return None
    if len(written) > MAX_VALIDATED_BYTES or written.count(b'"pattern') > MAX_PATTERNS:
        return None
    return _validator(written)


@lru_cache(MAX_VALIDATORS)
def _validator(schema: bytes) -> jsonschema_rs.Draft202012Validator | None:
    """Return a validator for an object by the `properties` of `schema` only: other rules need all arguments.

    `None` if the schema cannot be compiled; the server validates as well. A server's schema must not cause downloads
    (`offline`) or more than linear time for a pattern. Without `mask`, an error would contain the whole value.
    """
    root = orjson.loads(schema)
    base = root.get("$id") or "urn:xmcp:input"
    alone = {
        "properties": {name: {"$ref": f"{base}#/properties/{_escaped(name)}"} for name in root["properties"]},
        "$defs": {"input": {**root, "$id": base}},
    }
    try:
        return jsonschema_rs.Draft202012Validator(
            alone,
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN_BYTES),
            mask="…",
        )
    except (ValueError, jsonschema_rs.ReferencingError):
        return None


def _pointed(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _escaped(name: str) -> str:
    return quote(_pointed(name), safe="")


def _misfit(refused: Mapping[str, str | None], sources: Mapping[str, str]) -> ErrorInfo:
    first = next(iter(refused))
    fields = [
        {
            "pointer": f"/{_pointed(name)}",
            "reason": "does_not_fit",
            "message": f"The value from `{sources[name]}` does not fit the parameter's schema"
            + (f" (`{keyword}`)." if keyword else "."),
        }
        for name, keyword in refused.items()
    ]
    return client_made_errors.unfit_result(sources[first], first, fields)
