"""The tool that `@mcp.tool` and `@mcp.display_tool` register.

Lives here: how a display tool's `show_user` gets into the input schema and out of the arguments,
and how the value a function returned reaches `results`. What it becomes is decided there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, cast, get_args

from fastmcp.exceptions import ValidationError
from fastmcp.tools.base import ToolResult
from fastmcp.tools.function_tool import FunctionTool, ToolMeta
from fastmcp.utilities.types import Audio, File, Image, NotSet
from mcp_types import CallToolResult, ContentBlock, TextContent
from pydantic import BaseModel, Field, PrivateAttr
from pydantic import ValidationError as PydanticValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from xmcp.server.lanes import in_lanes, response_in, without_lone_surrogates
from xmcp.server.results import response_to, under_the_switch
from xmcp.wire import ToolResponse
from xmcp_models.registry import TOOL_META_KEY

SHOW_USER: Final = "show_user"
_SHOW_USER_DESCRIPTION: Final = (
    "True shows the result to the person, as a chart, a table or the like; false only returns it to you."
)
_MCP_CONTENT: Final = (ContentBlock, Audio, Image, File)


class XMCPTool(FunctionTool):
    """A FastMCP function tool that knows whether it can answer with a display."""

    display: bool = Field(default=False, exclude=True)
    declares_show_user: bool = Field(default=False, exclude=True)

    @classmethod
    def of(cls, fn: Callable[..., Any], metadata: ToolMeta, *, display: bool) -> XMCPTool:
        """Return the tool for `fn`, described by what FastMCP's decorator was given.

        Raises:
            TypeError: a display tool declares a `show_user` that is no boolean.
            ValueError: FastMCP cannot make a tool of this function.
        """
        tool = cast("XMCPTool", cls.from_function(fn, metadata=metadata))
        # An envelope or a response is not the data that an output schema inferred from it would promise.
        if metadata.output_schema is NotSet and (display or _mentions(tool.return_type, ToolResponse)):
            tool.output_schema = None
        if display:
            tool.display = True
            tool.declares_show_user = SHOW_USER in tool.parameters.get("properties", {})
            tool.parameters = _with_switch(tool.name, tool.parameters)
            tool.meta = {**(tool.meta or {}), TOOL_META_KEY: {"display": True}}
        return tool

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the function and return its result in the lanes of MCP (`lanes`).

        Raises:
            ValidationError: the arguments do not fit.
            Exception: whatever the function raises.
        """
        show_user = False
        if self.display:
            show_user, arguments = self._without_switch(arguments)
        result = await super().run(arguments)
        if not isinstance(result, _KeptResult):  # asks the client for input (SEP-2322): no result yet
            return result
        value, data = result.kept
        if not _speaks_mcp(value):
            response = response_to(self.name, value, data, display_tool=self.display, show_user=show_user)
            return in_lanes(response, result)
        if not self.display:
            return result
        response = response_in(self.name, result)
        ruled = under_the_switch(response, show_user=show_user)
        return result if ruled is response else in_lanes(ruled, result)

    def convert_result(self, raw_value: Any) -> ToolResult:
        """Return FastMCP's own result, with the value it was made from beside it."""
        if isinstance(raw_value, ToolResponse):
            return _KeptResult.of(ToolResult(content=[]), raw_value, None)
        try:
            native = super().convert_result(raw_value)
        except PydanticSerializationError:
            # FastMCP cannot write lone surrogates. Data without them is what a client gets; the text
            # for the model is made from the value as it is, so that the wire can say what it replaced.
            data = _as_json(raw_value)
            readable = to_jsonable_python(without_lone_surrogates(data), fallback=str)
            if readable == raw_value:
                raise
            tool = self.model_copy(update={"return_type": Any})
            return _KeptResult.of(FunctionTool.convert_result(tool, readable), raw_value, data)
        return _KeptResult.of(native, raw_value, self._data(native, raw_value))

    def _without_switch(self, arguments: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
        rest = {name: value for name, value in arguments.items() if name != SHOW_USER}
        try:
            # Absent means false, whatever default the function gives it (semantics.md 1).
            show_user = _Switch.model_validate(arguments).show_user
        except PydanticValidationError as error:
            raise ValidationError(f"{SHOW_USER} is no boolean", log_level=logging.WARNING) from error
        return show_user, {**rest, SHOW_USER: show_user} if self.declares_show_user else rest

    def _data(self, native: ToolResult, value: Any) -> Any:
        """Return `value` as JSON: what stands in structuredContent where that is there."""
        if isinstance(value, bytes):
            return "".join(block.text for block in native.content if isinstance(block, TextContent))
        if isinstance(value, str) or _speaks_mcp(value):
            return value
        structured = native.structured_content
        if structured is None:
            return _as_json(value)
        return structured["result"] if (self.output_schema or {}).get("x-fastmcp-wrap-result") else structured


class _Switch(BaseModel):
    show_user: bool = False


class _KeptResult(ToolResult):
    _value: Any = PrivateAttr(default=None)
    _data: Any = PrivateAttr(default=None)

    @classmethod
    def of(cls, native: ToolResult, value: Any, data: Any) -> _KeptResult:
        result = cls(
            content=native.content,
            structured_content=native.structured_content,
            meta=native.meta,
            is_error=native.is_error,
        )
        result._value, result._data = value, data
        return result

    @property
    def kept(self) -> tuple[Any, Any]:
        """What the function returned, and the same as JSON."""
        return self._value, self._data


def _as_json(value: Any) -> Any:
    try:
        return to_jsonable_python(value, fallback=str)
    except UnicodeEncodeError:  # a key with a lone surrogate; the formatter can walk the value itself
        return value


def _speaks_mcp(value: Any) -> bool:
    """Say whether a tool returned MCP's own result or content, which needs no translation."""
    if isinstance(value, list | tuple):
        return any(isinstance(entry, _MCP_CONTENT) for entry in value)
    return isinstance(value, (ToolResult, CallToolResult, *_MCP_CONTENT))


def _mentions(annotation: Any, wanted: type) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, wanted):
        return True
    return any(_mentions(part, wanted) for part in get_args(annotation))


def _with_switch(tool_name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the input schema with the boolean property `show_user`, optional and false by default."""
    properties = parameters.get("properties", {})
    declared = properties.get(SHOW_USER, {})
    if declared.get("type", "boolean") != "boolean":
        raise TypeError(
            f"The display tool {tool_name!r} declares {SHOW_USER} as {declared['type']}; "
            f"it is the caller's switch and must be a bool: `{SHOW_USER}: bool = False`."
        )
    switch = {"type": "boolean", "default": False, "description": declared.get("description", _SHOW_USER_DESCRIPTION)}
    required = [name for name in parameters.get("required", []) if name != SHOW_USER]
    kept = {key: part for key, part in parameters.items() if key != "required"}
    return {**kept, "properties": {**properties, SHOW_USER: switch}, **({"required": required} if required else {})}
