"""Tools of one chat that the application runs itself: the model is offered them beside those of the servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Self

from xmcp.chat.json_values import encode_json, is_deeper_than
from xmcp.chat.tool_schemas import MAX_NAME, ToolSchemas, legal_name
from xmcp.client.tools.catalogue import Catalogue
from xmcp.client.tools.meta_tools import RESERVED
from xmcp.client.tools.subset import names_in

MAX_TOOLS: Final = 128
"""Maximum number of external tools of a chat."""

MAX_BYTES: Final = 1024 * 1024
"""Maximum size of all of them together, as JSON."""

MAX_LEVELS: Final = 64
"""Maximum depth of all of them together."""

_EXAMPLE: Final = '{"type": "function", "function": {"name": "open_page", "parameters": {"type": "object"}}}'


class ExternalTools(tuple[Mapping[str, Any], ...]):
    """The external tools of one chat, in the OpenAI format; `of` makes them."""

    names: frozenset[str]
    _last: tuple[ToolSchemas, ToolSchemas] | None = None
    """The tools of the servers that were offered last, and those with the external ones."""

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return the tools that an application gives for a chat. What this function returned is not checked again.

        Raises:
            TypeError, ValueError: they are no tools in the OpenAI format, or too many, or two have the same name; the
                message begins with the place, such as `external_tools[0].function.name`.
        """
        if isinstance(given, cls):
            return given
        if not isinstance(given, Sequence) or isinstance(given, str | bytes):
            raise TypeError(f"external_tools must be a list of tools such as {_EXAMPLE}, not {given!r}.")
        if len(given) > MAX_TOOLS:
            raise ValueError(f"external_tools has {len(given)} tools: {MAX_TOOLS} are the most.")
        tools = [_checked(tool, f"external_tools[{place}]") for place, tool in enumerate(given)]
        names = [tool["function"]["name"] for tool in tools]
        if twice := next((name for place, name in enumerate(names) if name in names[:place]), None):
            raise ValueError(f"external_tools has two tools with the name {twice!r}.")
        if is_deeper_than(MAX_LEVELS, tools):
            raise ValueError(f"external_tools is nested more than {MAX_LEVELS} levels deep.")
        if len(encode_json(tools)) > MAX_BYTES:
            raise ValueError(f"external_tools has more than {MAX_BYTES:,} bytes.")
        made = cls(tools)
        made.names = frozenset(names)
        return made

    def clash(self, catalogue: Catalogue) -> str | None:
        """Return a name that one of them shares with a tool of the catalogue; `None` if there is none."""
        return next((name for name in names_in(catalogue) if name in self.names), None)

    def beside(self, catalogue: Catalogue) -> Catalogue:
        """Return the catalogue with these tools, whose names no other one has."""
        if self._last is None or self._last[0] is not catalogue.schemas:
            self._last = catalogue.schemas, catalogue.schemas.plus(*self)
        return replace(catalogue, schemas=self._last[1], external=self.names)


def _checked(tool: Any, place: str) -> Mapping[str, Any]:
    """Return a tool as every vendor takes it: with a description, and with parameters that have `properties`."""
    if not isinstance(tool, Mapping) or not isinstance(function := tool.get("function"), Mapping):
        raise TypeError(f"{place} must be a tool such as {_EXAMPLE}.")
    name, described = function.get("name"), function.get("description")
    parameters = function.get("parameters")
    if not isinstance(name, str) or legal_name(name) != name:
        raise ValueError(f"{place}.function.name must have 1 to {MAX_NAME} letters, digits, _ and -.")
    if name in RESERVED:
        raise ValueError(f"{place}.function.name is {name!r}, the name of a tool of the client itself: use another.")
    if not isinstance(described, str | None):
        raise TypeError(f"{place}.function.description must be a text.")
    if not isinstance(parameters, Mapping | None):
        raise TypeError(f"{place}.function.parameters must be a JSON Schema of an object.")
    strict = {"strict": function["strict"]} if isinstance(function.get("strict"), bool) else {}
    schema = {"type": "object", "properties": {}, **(parameters or {})}
    return {
        "type": "function",
        "function": {"name": name, "description": described or "", "parameters": schema, **strict},
    }
