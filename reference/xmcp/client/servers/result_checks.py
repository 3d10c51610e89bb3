"""The check that a result has the form which MCP gives it, in time that is bounded whatever the server sends. Pure.

pydantic checks all members of a list before it says what is wrong, with up to fifteen errors for each: ten kilobytes of
empty blocks take it longer than two megabytes of good ones. Here a result is checked in slices, so that a wrong one is
refused after the first slice that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, get_args

from mcp_types import methods
from pydantic import TypeAdapter

from xmcp.client.servers.peer_limits import MAX_CONTAINERS, MAX_ITEMS

SLICE: Final = 500
"""Values that are checked at a time, which takes 30 ms if each is wrong; also the maximum of a list within a member."""

MAX_FORMED: Final = 12_500
"""Maximum number of values with a form in a result, other than a list of tools: 4,000 blocks of text have 12,000, and
checking them takes 40 ms."""

FORMED_LEVELS: Final = 8
"""Levels of a result that have a form: those of a request for input, down to the blocks of a sampling message."""


def check_result(method: str, version: str, result: Mapping[str, Any]) -> None:
    """Check the result of a request, as `mcp_types.methods.validate_server_result` does, which also writes it as JSON.

    Raises:
        ValidationError: it is not a result of `method` in the protocol `version`.
        KeyError: `version` does not have the method.
    """
    form = _adapter(method, version)
    for part in _slices(result):
        form.validate_python(part, by_name=False)
        if part is not result:
            # The SDK checks all of it against this form afterwards, at once.
            _adapter(method, None).validate_python(part, by_name=False)


@cache
def _adapter(method: str, version: str | None) -> TypeAdapter[Any]:
    form: Any = methods.MONOLITH_RESULTS[method] if version is None else methods.SERVER_RESULTS[method, version]
    return TypeAdapter(form)


def _slices(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield results that are right if and only if `result` is, each with a slice of one of its wide members."""
    weights = {name: [_weight(each) for each in _members(value)] for name, value in _formed(_with_a_form(result))}
    wide = {name: each for name, each in weights.items() if sum(each) > SLICE}
    if not wide:
        yield result
        return
    rest = {name: type(value)() if name in wide else value for name, value in result.items()}
    for name, each in wide.items():
        value = result[name]
        members = [*value.items()] if isinstance(value, dict) else value
        begin = weight = 0
        for end, more in enumerate(each, 1):
            weight += more
            if weight >= SLICE or end == len(each):
                yield {**rest, name: type(value)(members[begin:end])}
                begin, weight = end, 0


def is_too_wide(result: Mapping[str, Any]) -> bool:
    """Return whether a result has more values than there is time to check the form of.

    A list or object has `MAX_ITEMS` at most, a list within a member of another one `SLICE`, and all together, other
    than in a list of tools, `MAX_FORMED`. The members of structured content are not checked, but copied.
    """
    structured, values = result.get("structuredContent"), 0
    if isinstance(structured, dict) and len(structured) > MAX_CONTAINERS:
        return True
    if len(result) > MAX_ITEMS:
        return True
    for depth, level in enumerate(_levels(_with_a_form(result))):
        for node in level:
            values += len(node)
            if len(node) > (SLICE if depth > 1 and isinstance(node, list) else MAX_ITEMS):
                return True
    return values > MAX_FORMED and "tools" not in result


def _weight(value: Any) -> int:
    """Return how many values with a form are in a value, itself included."""
    return 1 + sum(sum(map(len, level)) for level in _levels(value, FORMED_LEVELS - 2))


def _levels(value: Any, levels: int = FORMED_LEVELS) -> Iterator[list[Any]]:
    """Yield the lists and objects with a form on each level of a value, from the outside."""
    level = [value] if isinstance(value, list | dict) else []
    while level and levels:
        yield level
        level = [inner for node in level for _, inner in _formed(node)]
        levels -= 1


@cache
def _names_with_a_form() -> frozenset[str]:
    """Return the names of the members of results that MCP defines; another one has no form, and is not checked."""
    forms = [form for union in methods.MONOLITH_RESULTS.values() for form in get_args(union) or (union,)]
    return frozenset(field.alias or name for form in forms for name, field in form.model_fields.items())


def _with_a_form(result: Mapping[str, Any]) -> dict[str, Any]:
    return {name: result[name] for name in result.keys() & _names_with_a_form()}


def _formed(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the members that are lists and objects and have a form, with their names."""
    for name, member in node.items() if isinstance(node, Mapping) else enumerate(node):
        if not isinstance(member, list | dict) or name == "structuredContent":
            continue
        if name in ("_meta", "properties"):
            member = dict.fromkeys(member if isinstance(member, dict) else ())  # only the names have a form
        yield name, member


def _members(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value
