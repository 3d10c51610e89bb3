"""The tool that `@mcp.tool` and `@mcp.display_tool` register.

Lives here: how the parameters that are not the caller's get out of the input schema and into the call
(`show_user`, and what the server fills in), and how the value a function returned reaches `results`. What it
becomes is decided there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, cast, get_args

import anyio
import jsonschema_rs
from fastmcp.exceptions import ValidationError
from fastmcp.server.context import Context
from fastmcp.server.dependencies import get_context
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from fastmcp.tools.function_tool import FunctionTool, ToolMeta
from fastmcp.utilities.types import Audio, File, Image, NotSet
from mcp_types import CallToolResult, ContentBlock, TextContent
from pydantic import BaseModel, Field, PrivateAttr
from pydantic import ValidationError as PydanticValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from xmcp.server import tool_metadata
from xmcp.server.call import SHOW_USER, Call, current_call
from xmcp.server.parameters.sensitive import Secrets
from xmcp.server.parameters.server_parameters import Filled, Parameter, ParamProviders, fill, hidden, marked
from xmcp.server.responses.mcp_results import in_lanes, response_in
from xmcp.server.responses.results import response_to, under_the_switch
from xmcp.server.surrogates import without_lone_surrogates
from xmcp.wire import DisplayEnvelope, ToolResponse
from xmcp.xml_formatters import XMLFormatter
from xmcp_models.display_envelope import DisplayEnvelope as EnvelopeModel
from xmcp_models.registry import POPULATED_META_KEY

_SHOW_USER_DESCRIPTION: Final = (
    "True shows the result to the person, as a chart, a table or the like; false only returns it to you."
)
_MCP_CONTENT: Final = (ContentBlock, Audio, Image, File)


class Sayings(NamedTuple):
    """What an author said of a tool beyond FastMCP.

    `metadata` is what goes into its `_meta` (spec chapter 5); `server_populated` and `sensitive` are names of
    parameters, besides those that the function itself marks.
    """

    display: bool = False
    metadata: dict[str, Any] = {}  # noqa: RUF012 - nobody writes into it
    formatter: XMLFormatter | None = None
    server_populated: Sequence[str] = ()
    sensitive: Sequence[str] = ()


class XMCPTool(FunctionTool):
    """A FastMCP function tool that knows what it answers with, and what the server fills in for it."""

    display: bool = Field(default=False, exclude=True)
    declares_show_user: bool = Field(default=False, exclude=True)
    formatter: Any = Field(default=None, exclude=True)
    populated: dict[str, Parameter] = Field(default_factory=dict, exclude=True)

    @classmethod
    def of(cls, fn: Callable[..., Any], metadata: ToolMeta, said: Sayings = Sayings()) -> XMCPTool:  # noqa: B008
        """Return the tool for `fn`, described by what FastMCP's decorator was given and what was `said` besides.

        Raises:
            TypeError: a display tool declares a `show_user` that is no boolean.
            ValueError: FastMCP cannot make a tool of this function, a name is none of its parameters, or a display tool
                has an output schema.
        """
        tool = cast("XMCPTool", cls.from_function(fn, metadata=metadata))
        # An envelope or a response is not the data that an output schema inferred from it would promise.
        if said.display and metadata.output_schema not in (NotSet, None):
            raise ValueError(
                f"The display tool {tool.name!r} has an output schema, which a result that is shown could not keep: "
                "leave output_schema out, or give the data by a tool of its own."
            )
        if metadata.output_schema is NotSet and (said.display or _mentions(tool.return_type, ToolResponse)):
            tool.output_schema = None
        told = dict(said.metadata)
        tool.formatter = said.formatter
        tool.populated = marked(fn, tool.parameters, said.server_populated, said.sensitive)
        if tool.populated:
            tool.parameters = hidden(tool.parameters, tool.populated)
            told["server_populated"] = list(tool.populated)
        if said.display:
            if SHOW_USER in tool.populated:
                raise ValueError(f"The tool {tool.name!r}: {SHOW_USER} is the caller's switch; no server fills it in.")
            tool.display = True
            tool.declares_show_user = SHOW_USER in tool.parameters.get("properties", {})
            tool.parameters = _with_switch(tool.name, tool.parameters)
            told["display"] = True
        tool.meta = tool_metadata.in_meta(tool.meta, told)
        return tool

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the function and return its result in the lanes of MCP (`lanes`).

        Raises:
            ValidationError: the arguments do not fit.
            XMCPError: as `populated.fill`.
            Exception: whatever the function raises.
        """
        if not self.populated:
            return await self._answered(arguments, Secrets(()))
        call = current_call.get() or Call(self.name, arguments)
        sensitive: list[Any] = []
        try:
            filled = await self._filled(arguments, sensitive)
        finally:
            call.sensitive.extend(sensitive)
        try:
            answer = await self._answered(filled.arguments, Secrets(sensitive))
        except Exception as failure:
            call.failed_with = failure, filled.told
            raise
        if filled.told and not isinstance(answer, InputRequiredToolResult):
            answer.meta = {**(answer.meta or {}), POPULATED_META_KEY: filled.told}
        return answer

    async def _answered(self, arguments: dict[str, Any], secrets: Secrets) -> ToolResult:
        show_user = False
        if self.display:
            show_user, arguments = self._without_switch(arguments)
        try:
            result = await super().run(arguments)
        except ValidationError as error:
            if (unfit := self._unfit(error)) is not None:
                raise unfit from None  # the cause repeats the value
            raise
        if not isinstance(result, _KeptResult):  # asks the client for input (SEP-2322): no result yet
            return _question(result, secrets) if secrets else result
        answer = self._answer(result.without(secrets) if secrets else result, show_user=show_user)
        if secrets and answer.structured_content is not None and self.output_schema is not None:
            jsonschema_rs.validate(self.output_schema, answer.structured_content)
        if answer.structured_content is None and self.output_schema is not None and not answer.is_error:
            raise TypeError(
                "The tool has an output schema and returned no data for it. A tool that returns a ToolResponse or a "
                "DisplayEnvelope has none: annotate it so, or set output_schema=None."
            )
        return answer

    def _answer(self, result: _KeptResult, *, show_user: bool) -> ToolResult:
        value, data = result.kept
        if not _speaks_mcp(value):
            response = response_to(
                self.name, value, data, display_tool=self.display, show_user=show_user, formatter=self.formatter
            )
            if response.display is not None and self.output_schema is None:
                result.structured_content = None  # a mapping that is an envelope: it goes out once (XMCP-MCP-021)
            return in_lanes(response, result)
        if not self.display:
            return result
        response = response_in(self.name, result)
        ruled = under_the_switch(response, show_user=show_user)
        return result if ruled is response else in_lanes(ruled, result)

    async def _filled(self, arguments: dict[str, Any], sensitive: list[Any]) -> Filled:
        context = _context()
        # The server whose tool it is; where servers are mounted, not the one that the client speaks to.
        providers = getattr(context and context.fastmcp, "param_providers", None) or ParamProviders("override")
        with anyio.fail_after(self.timeout):
            return await fill(self.name, arguments, self.populated, providers, context, sensitive)

    def _unfit(self, error: ValidationError) -> Exception | None:
        """Return what `error` is if the caller is not at fault: a value that the server filled in does not fit."""
        cause = error.__cause__
        if not isinstance(cause, PydanticValidationError):
            return None
        for fault in cause.errors(include_url=False, include_input=False, include_context=False):
            if fault["loc"] and fault["loc"][0] in self.populated:
                return _UnfitValue(f"The value that the server filled in for {fault['loc'][0]!r}: {fault['msg']}")
        return None

    def convert_result(self, raw_value: Any) -> ToolResult:
        """Return FastMCP's own result, with the value it was made from beside it."""
        if isinstance(raw_value, ToolResponse):
            return _KeptResult.of(ToolResult(content=[]), raw_value, None)
        if isinstance(raw_value, EnvelopeModel) and self.output_schema is None:
            # It is no data for programs; beside the document it would go out a second time.
            return _KeptResult.of(ToolResult(content=[]), raw_value, _members(raw_value))
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


class _UnfitValue(Exception):
    """A provider gave a value that the function does not take."""


def _context() -> Context | None:
    try:
        return get_context()
    except RuntimeError:  # run by itself, without a server
        return None


def _question(result: ToolResult, secrets: Secrets) -> ToolResult:
    """Return a question to the client without the secrets; the state it carries is sealed."""
    if not isinstance(result, InputRequiredToolResult):
        return result
    asked = result.input_required
    said = asked.model_dump(mode="json", by_alias=True, exclude_none=True)
    cleaned = {**said, "inputRequests": secrets.out_of(said.get("inputRequests"))}
    return InputRequiredToolResult(type(asked).model_validate(cleaned))


class _Switch(BaseModel):
    show_user: bool = False


class _KeptResult(ToolResult):
    _value: Any = PrivateAttr(default=None)
    _data: Any = PrivateAttr(default=None)

    @classmethod
    def of(cls, native: ToolResult, value: Any, data: Any) -> _KeptResult:
        result = cls(content=native.content, meta=native.meta, is_error=native.is_error)
        result.structured_content = native.structured_content
        result._value, result._data = value, data
        return result

    def without(self, secrets: Secrets) -> _KeptResult:
        """The same without the secrets: whatever is written of the value is written of what is left of it."""
        value, data = self.kept
        if isinstance(value, ToolResponse):
            value = secrets.out_of_response(value)
        elif isinstance(value, EnvelopeModel):
            value = secrets.out_of_display(DisplayEnvelope.model_validate(_members(value)))
        elif not _speaks_mcp(value):
            value = secrets.out_of(value)
        return _KeptResult.of(secrets.out_of_result(self), value, secrets.out_of(data))

    @property
    def kept(self) -> tuple[Any, Any]:
        """What the function returned, and the same as JSON."""
        return self._value, self._data


def _members(envelope: EnvelopeModel) -> dict[str, Any]:
    # Ours hands out its payload as it is; megabytes need not be walked.
    return envelope.to_dict() if isinstance(envelope, DisplayEnvelope) else envelope.model_dump(exclude_none=True)


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
