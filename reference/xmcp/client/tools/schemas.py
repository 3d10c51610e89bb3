"""A tool as the model sees it: parameters that results can fill are optional, those of the application are hidden.

Pure. See spec/11-client.md, sections 11.3 and 11.8.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any, Final

from xmcp.client.tools.catalogue import Entry
from xmcp.client.tools.dependencies import (
    MAX_SEARCHED,
    nearest_first,
    only_dependency,
    only_required_parameter,
    parameters,
)
from xmcp.client.tools.input_schema import listed_without, without

MAX_SOURCES: Final = 3
"""Maximum number of tools in the description of a parameter."""


MAX_BETWEEN: Final = 5
"""Maximum number of tools in it that lie between a tool and its source."""


def offered(entry: Entry, siblings: Mapping[str, Entry], hidden: Collection[str] = ()) -> dict[str, Any]:
    """Return the tool in the OpenAI format.

    `siblings` are the tools of the same server by their names there; `hidden` are parameters that the application
    fills, which the model does not see. A parameter that a result can fill is not required, and its description says
    so. The schema of the entry is not changed; unchanged parts of it are shared.
    """
    return {
        "type": "function",
        "function": {
            "name": entry.name,
            "description": entry.description,
            "parameters": _parameters(entry, siblings, hidden),
        },
    }


def _parameters(entry: Entry, siblings: Mapping[str, Entry], hidden: Collection[str]) -> Mapping[str, Any]:
    schema = without(entry.input_schema, hidden)
    given = schema.get("properties")
    if not isinstance(given, Mapping):
        return {**schema, "properties": {}}  # MCP does not require them, some vendors do
    filled = _sources(parameters(entry, hidden), entry, siblings) or _only_source(entry, siblings, hidden)
    if not filled and schema is entry.input_schema:
        return schema
    properties = {name: part for name, part in given.items() if name not in hidden}
    properties |= {name: _described(properties[name], hints) for name, hints in filled.items()}
    return _asking_less({**schema, "properties": properties}, filled)


def _asking_less(schema: dict[str, Any], optional: Collection[str]) -> dict[str, Any]:
    """Change `schema` so that `optional` parameters are not required; return it."""
    required, dependent = schema.get("required"), schema.get("dependentRequired")
    if isinstance(required, list):
        schema["required"] = listed_without(required, optional)
        if not schema["required"]:
            del schema["required"]
    if isinstance(dependent, Mapping):
        schema["dependentRequired"] = {name: listed_without(others, optional) for name, others in dependent.items()}
    return schema


def _sources(names: Sequence[str], entry: Entry, siblings: Mapping[str, Entry]) -> dict[str, list[str]]:
    """Return for each parameter that tools can fill sentences about these tools, preferred ones first."""

    def before(tool: str) -> Sequence[str]:
        named = entry.depends_on if tool == entry.tool else siblings[tool].depends_on
        return [name for name in (named if len(named) < 2 else dict.fromkeys(named)) if name in siblings]

    if not entry.depends_on or not names:
        return {}
    reached = nearest_first(entry.tool, before, MAX_SEARCHED)
    members: dict[str, dict[str, None]] = {}
    wholes: dict[str, dict[str, None]] = {}
    wanted = set(names)
    for tool in reached:
        for name in _members(siblings[tool]) & wanted:
            members.setdefault(name, {})[tool] = None
        if (provided := siblings[tool].provides) in wanted and provided is not None:
            wholes.setdefault(provided, {})[tool] = None

    def between(tool: str) -> Iterator[str]:
        while (tool := reached[tool]) != entry.tool:
            yield siblings[tool].name

    return {
        name: [
            _sentence("Else" if place else "Filled", siblings[tool].name, [*between(tool)])
            for place, tool in enumerate(islice(sources, MAX_SOURCES))
        ]
        for name in names
        if (sources := {**members.get(name, {}), **wholes.get(name, {})})
    }


def _only_source(entry: Entry, siblings: Mapping[str, Entry], hidden: Collection[str]) -> dict[str, list[str]]:
    """Return the parameter that the result of the only predecessor can fill (XMCP-CLI-120), with the sentence for it.

    It is empty where the two schemas say that no result can fit.
    """
    source, name = siblings.get(only_dependency(entry) or ""), only_required_parameter(entry, hidden)
    if source is None or name is None:
        return {}
    given, taken = _types(_result_schema(source)), _types(entry.input_schema["properties"][name])
    if given is not None and taken is not None and given.isdisjoint(taken):
        return {}
    return {name: [f"If you leave it out and call `{source.name}` in the same turn, it gets the result of that call."]}


def _result_schema(entry: Entry) -> Any:
    """Return the schema of a tool's structured result; `None` if the tool does not say it."""
    if entry.output_schema is None or entry.wrapped_in is None:
        return entry.output_schema
    properties = entry.output_schema.get("properties")
    return properties.get(entry.wrapped_in) if isinstance(properties, Mapping) else None


def _types(schema: Any) -> set[str] | None:
    """Return the types that a schema names in `type`; `None` if it names none, so that any type may be allowed."""
    named = schema.get("type") if isinstance(schema, Mapping) else None
    types = [named] if isinstance(named, str) else named
    if not isinstance(types, list) or not all(isinstance(one, str) for one in types):
        return None
    # Every integer is a number, and a number can be an integer.
    return {"number" if one == "integer" else one for one in types}


def _members(entry: Entry) -> Set[str]:
    """Return the names of the members of a tool's structured result, as far as its schema says."""
    schema = _result_schema(entry)
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties.keys() if isinstance(properties, dict) else frozenset()


def _sentence(beginning: str, source: str, between: Sequence[str]) -> str:
    called = "".join(f" and `{name}`" for name in between[:MAX_BETWEEN])
    if len(between) > MAX_BETWEEN:
        called += f" and {len(between) - MAX_BETWEEN} more tools between them"
    called += " are" if between else " is"
    return f"{beginning} from the result of `{source}` when that{called} called in the same turn."


def _described(schema: Any, sentences: Sequence[str]) -> Any:
    """Return a parameter's schema with `sentences` at the end of its description."""
    known = {} if schema is True else schema
    if not isinstance(known, Mapping):
        return schema
    own, added = known.get("description"), " ".join(sentences)
    return {**known, "description": f"{own}\n{added}" if own and isinstance(own, str) else added}
