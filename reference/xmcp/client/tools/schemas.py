"""How a tool stands before the model: what it need not, and what it must not fill in (semantics 18 and 24). Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from xmcp.client.tools.catalogue import Entry
from xmcp.client.tools.dependencies import nearest_first, parameters, wraps
from xmcp.client.tools.input_schema import without

MAX_SOURCES: Final = 3
"""So many tools the description of a parameter names."""


def offered(entry: Entry, siblings: Mapping[str, Entry], hidden: Collection[str] = ()) -> dict[str, Any]:
    """The tool in the OpenAI format.

    `siblings`: the tools of the same server by their names there. `hidden`: parameters that the application fills;
    the model does not see them. A parameter that a result can fill is not required, and its description says so.
    Shares what it can with the entry and changes nothing there.
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
        return {**schema, "properties": {}}  # their absence is legal in MCP, and refused by some vendors
    filled = {name: told for name in parameters(entry, hidden) if (told := _sources(name, entry, siblings))}
    if not filled and schema is entry.input_schema:
        return schema
    properties = {name: part for name, part in given.items() if name not in hidden}
    properties |= {name: _described(properties[name], told) for name, told in filled.items()}
    return _asking_less({**schema, "properties": properties}, hidden, {*hidden, *filled})


def _asking_less(schema: dict[str, Any], hidden: Collection[str], optional: Collection[str]) -> dict[str, Any]:
    """`schema`, which is changed, without demands for what is `optional` and without rules for what is `hidden`."""
    required, dependent = schema.get("required"), schema.get("dependentRequired")
    if isinstance(required, list):
        schema["required"] = [name for name in required if name not in optional]
        if not schema["required"]:
            del schema["required"]
    if isinstance(dependent, Mapping):
        schema["dependentRequired"] = {
            name: [other for other in others if other not in optional] if isinstance(others, list) else others
            for name, others in dependent.items()
            if name not in hidden
        }
    if isinstance(schemas := schema.get("dependentSchemas"), Mapping):
        schema["dependentSchemas"] = {name: part for name, part in schemas.items() if name not in hidden}
    return schema


def _sources(name: str, entry: Entry, siblings: Mapping[str, Entry]) -> list[str]:
    """Sentences about the tools that can fill the parameter `name`, in the order in which `layers` prefers them."""

    def before(tool: str) -> Sequence[str]:
        known = entry if tool == entry.tool else siblings[tool]
        return [named for named in dict.fromkeys(known.depends_on) if named in siblings]

    reached = nearest_first(entry.tool, before)
    members = [tool for tool in reached if _has_member(siblings[tool], name)]
    wholes = [tool for tool in reached if siblings[tool].provides == name and tool not in members]

    def between(tool: str) -> Iterator[str]:
        while (tool := reached[tool]) != entry.tool:
            yield siblings[tool].name

    return [
        _sentence("Else" if place else "Filled", siblings[tool].name, [*between(tool)])
        for place, tool in enumerate([*members, *wholes][:MAX_SOURCES])
    ]


def _has_member(entry: Entry, name: str) -> bool:
    properties = None if entry.output_schema is None or wraps(entry) else entry.output_schema.get("properties")
    return isinstance(properties, Mapping) and name in properties


def _sentence(beginning: str, source: str, between: Sequence[str]) -> str:
    called = "".join(f" and `{name}`" for name in between) + (" are" if between else " is")
    return f"{beginning} from the result of `{source}` when that{called} called in the same turn."


def _described(schema: Any, sentences: Sequence[str]) -> Any:
    """A parameter's schema with `sentences` at the end of its description."""
    known = {} if schema is True else schema
    if not isinstance(known, Mapping):
        return schema
    own, told = known.get("description"), " ".join(sentences)
    return {**known, "description": f"{own}\n{told}" if own and isinstance(own, str) else told}
