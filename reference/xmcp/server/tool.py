"""The tool that `@mcp.tool` and `@mcp.display_tool` register.

It removes the parameters that are not the caller's from the input schema and adds them to the call (`show_user`, and
those that the server fills in), and passes the value that a function returned to `responses/returned_values.py`.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, cast, get_args

import anyio
import jsonschema_rs
from fastmcp.exceptions import ToolError, ValidationError
from fastmcp.server.context import Context
from fastmcp.server.dependencies import get_context, without_injected_parameters
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from fastmcp.tools.function_tool import FunctionTool, ToolMeta
from fastmcp.utilities.async_utils import is_coroutine_function
from fastmcp.utilities.types import NotSet, get_cached_typeadapter
from mcp.server.session import ServerSession
from mcp_types import ContentBlock, TextContent
from pydantic import BaseModel, Field, PrivateAttr
from pydantic import ValidationError as PydanticValidationError
from pydantic_core import PydanticSerializationError

from xmcp.server.call_state import SHOW_USER, ServedCall, current_call
from xmcp.server.kept_result import KeptResult, is_mcp, members_of, with_known_blocks
from xmcp.server.lone_surrogates import without_lone_surrogates
from xmcp.server.parameters.filling import FilledArguments, fill
from xmcp.server.parameters.finite_numbers import refuse_non_finite, takes_numbers
from xmcp.server.parameters.model_fields import ModelFields, has_alias_path, object_sent, resolved, with_hidden
from xmcp.server.parameters.providers import ParamProviders
from xmcp.server.parameters.sensitive import Secrets
from xmcp.server.parameters.server_parameters import ServerParameter, hidden_from_caller, server_parameters_of
from xmcp.server.parameters.withheld import withhold
from xmcp.server.responses.display_text import is_written_by_server, mark_text
from xmcp.server.responses.listed_data import lists_schema, mark_unlisted, with_derived_schema
from xmcp.server.responses.mcp_results import response_from, to_mcp_result
from xmcp.server.responses.returned_values import JSON, NO_ENVELOPE, apply_show_user, response_to, without_envelope
from xmcp.server.result_data import UnsendableResultError, as_json, check_data, is_non_finite, known_to_pydantic, listed
from xmcp.server.tool_metadata import WRAPPED_IN, in_meta, wraps
from xmcp.server.worker_threads import Threads, in_threads
from xmcp.wire import ToolResponse
from xmcp.xml_formatters import XMLFormatter
from xmcp_models.display_envelope import DisplayEnvelope as EnvelopeModel
from xmcp_models.registry import POPULATED_META_KEY, RESULT_META_KEY

_SHOW_USER_DESCRIPTION: Final = "True shows the user the result; you then read a summary."

logger = logging.getLogger("xmcp.server")


class XMCPToolOptions(NamedTuple):
    """The options of a tool that FastMCP does not have.

    `metadata` goes into the tool's `_meta` (spec chapter 5); `server_populated` and `sensitive` are names of
    parameters, besides those that the function itself marks.
    """

    display: bool = False
    metadata: dict[str, Any] = {}  # noqa: RUF012 - never changed
    formatter: XMLFormatter | None = None
    server_populated: Sequence[str] = ()
    sensitive: Sequence[str] = ()


class XMCPTool(FunctionTool):
    """A FastMCP function tool with a formatter, a display, and parameters that the server fills in."""

    display: bool = Field(default=False, exclude=True)
    declares_show_user: bool | ModelFields = Field(default=False, exclude=True)
    formatter: Any = Field(default=None, exclude=True)
    server_parameters: dict[str, ServerParameter] = Field(default_factory=dict, exclude=True)
    takes_numbers: bool = Field(default=False, exclude=True)
    is_adopted: bool = Field(default=False, exclude=True)
    _threads: Threads | None = PrivateAttr(default=None)
    """The threads of a synchronous function with a time-out, which FastMCP would wait for; else None."""
    _validator: tuple[dict[str, Any] | None, Any] = PrivateAttr(default=(None, None))
    """The output schema, and its validator as soon as there was a result."""
    param_providers: Any = Field(default=None, exclude=True)
    """Those of the server that the tool was added to first, wherever it runs; None until it is added to one."""

    @classmethod
    def of(cls, fn: Callable[..., Any], metadata: ToolMeta, options: XMCPToolOptions | None = None) -> XMCPTool:
        """Return the tool for `fn`, with the metadata of FastMCP's decorator and the XMCP options.

        Raises:
            TypeError: A display tool declares a `show_user` that is not a boolean.
            ValueError: FastMCP cannot make a tool of this function, a name is not one of its parameters, or a display
                tool has an output schema.
        """
        options = options or XMCPToolOptions()
        tool = cast("XMCPTool", cls.from_function(fn, metadata=metadata))
        # FastMCP infers an output schema from the return type, but an envelope or a response is not sent as data.
        if options.display and metadata.output_schema not in (NotSet, None):
            raise ValueError(
                f"The display tool {tool.name!r} must not have an output schema: a result that is shown is not data. "
                "Leave output_schema out, or return the data from another tool."
            )
        if metadata.output_schema is NotSet and (options.display or _mentions(tool.return_type, ToolResponse)):
            tool.output_schema = None
        if metadata.output_schema is NotSet and tool.output_schema is not None and options.formatter is not None:
            tool.meta = with_derived_schema(tool.meta, tool.output_schema)
        return cls._configured(tool, fn, options)

    @classmethod
    def adopting(cls, other: FunctionTool) -> XMCPTool:
        """Return a tool like `other`, which FastMCP made, that answers as the ones of this server do.

        Raises:
            ValueError: A mark stands inside a parameter, where it would hide nothing, or beside an `AliasPath`.
        """
        tool = cls.model_construct(**dict(other))
        tool.is_adopted = True
        if _mentions(tool.return_type, ToolResponse):
            tool.output_schema = None
        return cls._configured(tool, other.fn, XMCPToolOptions())

    @staticmethod
    def _configured(tool: XMCPTool, fn: Callable[..., Any], options: XMCPToolOptions) -> XMCPTool:
        if tool.run_in_thread and not is_coroutine_function(tool.fn) and not inspect.isasyncgenfunction(tool.fn):
            tool.fn, threads = in_threads(tool.fn, f"Tool {tool.name!r}")
            tool._threads = None if tool.timeout is None else threads
        members = dict(options.metadata)
        tool.formatter = options.formatter
        tool.server_parameters = server_parameters_of(fn, tool.parameters, options.server_populated, options.sensitive)
        if tool.server_parameters:
            tool.parameters = hidden_from_caller(tool.parameters, tool.server_parameters)
            members["server_populated"] = list(tool.server_parameters)
            tool._refuse_alias_paths()
        if options.display:
            if SHOW_USER in tool.server_parameters:
                raise ValueError(
                    f"The tool {tool.name!r}: {SHOW_USER} is set by the caller, so the server cannot fill it in."
                )
            tool.display = True
            tool.declares_show_user = _declares_show_user(tool.parameters)
            tool.parameters = _with_show_user_property(tool.name, tool.parameters, tool.declares_show_user)
            members["display"] = True
        tool.takes_numbers = takes_numbers(tool.parameters)
        tool.meta = in_meta(tool.meta, members)
        return tool

    def _refuse_alias_paths(self) -> None:
        in_models = [name for name, parameter in self.server_parameters.items() if parameter.model is not None]
        if in_models and has_alias_path(get_cached_typeadapter(without_injected_parameters(self.fn)).core_schema):
            raise ValueError(
                f"The tool {self.name!r}: the server fills in the field {in_models[0]!r} of a model, so no field may "
                "have an AliasPath: a caller could send a value there. Use a plain alias."
            )

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the function and return its response as a plain MCP result (`responses/mcp_results.py`).

        Raises:
            ValidationError: The arguments do not fit.
            XMCPError: As `server_parameters.fill`.
            Exception: Any exception of the function.
        """
        if not self.server_parameters:
            return await self._answered(arguments, Secrets(()))
        call = current_call.get() or ServedCall(self.name, arguments)
        sensitive: list[Any] = []
        try:
            filled = await self._filled(arguments, sensitive)
        finally:
            call.sensitive.extend(sensitive)
        if sensitive and (session := _session()) is not None:
            withhold(session, sensitive)
        try:
            answer = await self._answered(filled.arguments, Secrets(sensitive))
        except Exception as failure:
            call.failed_with = failure, filled.server_populated
            raise
        call.filled = filled.server_populated
        if filled.server_populated and not isinstance(answer, InputRequiredToolResult):
            answer.meta = {**(answer.meta or {}), POPULATED_META_KEY: filled.server_populated}
        return answer

    async def _answered(self, arguments: dict[str, Any], secrets: Secrets) -> ToolResult:
        show_user = False
        if self.display:
            show_user, arguments = self._without_show_user(arguments)
        if self.takes_numbers:
            refuse_non_finite(self.parameters, arguments)
        try:
            result = await self._run_in_time(arguments)
        except ValidationError as error:
            if (fault := self._server_value_fault(error)) is not None:
                raise fault from None  # the cause repeats the value
            raise
        except UnsendableResultError as fault:
            if not show_user:
                raise
            return self._shown(without_envelope(self.name, fault), ToolResult(content=[]), None)
        if not isinstance(result, KeptResult):  # a question to the client (SEP-2322), not a result yet
            return _question(result, secrets) if secrets else result
        answer = self._answer(result.without(secrets) if secrets else result, show_user=show_user)
        if self.output_schema is not None and not answer.is_error:
            if answer.structured_content is None:
                raise UnsendableResultError(
                    "the tool has an output schema and returned no data for it. For a tool that returns a ToolResponse "
                    "or a DisplayEnvelope, annotate that return type or set output_schema=None."
                )
            self._check_data(self.output_schema, answer.structured_content)
        if answer.structured_content is not None and self._repeats_its_text(result):
            mark_unlisted(answer, is_in_text=self.formatter is None and not self.display)
        return answer

    def _repeats_its_text(self, result: KeptResult) -> bool:
        """Tell whether the data in a result says what the text says, and is promised to nobody.

        An author, or a library such as Prefab or FastMCP's code mode, can have given data of its own.
        """
        if self.is_adopted or lists_schema(self) or is_mcp(result.kept[0]):
            return False
        return self.output_schema is not None or not result.content or _is_json(result.content[0])

    async def _run_in_time(self, arguments: dict[str, Any]) -> ToolResult:
        if self._threads is None or self.timeout is None:
            return await super().run(arguments)
        result: ToolResult = await self._threads.run(partial(super().run, arguments), self.timeout)
        return result

    def _check_data(self, schema: dict[str, Any], data: dict[str, Any]) -> None:
        known, validator = self._validator
        if known is not schema:
            validator = _offline_validator(schema)
            self._validator = schema, validator
        if validator is not None:
            check_data(validator, data)

    def _answer(self, result: KeptResult, *, show_user: bool) -> ToolResult:
        value, data = result.kept
        if self.formatter is None and not self.display and result.has_fastmcps_text:
            if isinstance(data, dict | list) and not is_mcp(value) and _is_json(result.content[0]):
                result.meta = {**(result.meta or {}), RESULT_META_KEY: {"format": JSON}}
            return result  # with the text that FastMCP wrote
        if not is_mcp(value):
            response = response_to(
                self.name,
                value,
                data,
                display_tool=self.display,
                show_user=show_user,
                is_shown=_is_shown(),
                formatter=self.formatter,
            )
            if response.display is not None and self.output_schema is None:
                result.structured_content = None  # a mapping that is an envelope must be sent once only (XMCP-MCP-021)
            return self._shown(response, result, value)
        if not self.display:
            return result
        response = response_from(self.name, result)
        allowed = apply_show_user(response, show_user=show_user, is_shown=_is_shown())
        return result if allowed is response else self._shown(allowed, result, response)

    def _shown(self, response: ToolResponse, native: ToolResult, value: Any) -> ToolResult:
        if response.error is not None and response.error.code == NO_ENVELOPE:
            logger.warning("The tool %r: %s", self.name, response.error.message, extra={"tool": self.name})
        shown = to_mcp_result(response, native)
        if response.display is not None and not shown.is_error and is_written_by_server(value, self.formatter):
            mark_text(shown, is_shown=_is_shown())
        return shown

    async def _filled(self, arguments: dict[str, Any], sensitive: list[Any]) -> FilledArguments:
        providers = self.param_providers or ParamProviders("override")
        with anyio.fail_after(self.timeout):
            return await fill(self.name, arguments, self.server_parameters, providers, _context(), sensitive)

    def _server_value_fault(self, error: ValidationError) -> Exception | None:
        """Return the exception to raise instead of `error` if a value does not fit that the server filled in."""
        cause = error.__cause__
        if not isinstance(cause, PydanticValidationError):
            return None
        for fault in cause.errors(include_url=False, include_input=False, include_context=False):
            for name, parameter in self.server_parameters.items():
                if fault["loc"][: len(parameter.place(name))] == parameter.place(name):
                    return _ServerValueError(f"The value that the server filled in for {name!r}: {fault['msg']}")
        return None

    def convert_result(self, raw_value: Any) -> ToolResult:
        """Return FastMCP's result together with the value it was made from.

        Raises:
            UnsendableResultError: The value has no JSON form.
        """
        if isinstance(raw_value, ToolResponse):
            return KeptResult.of(ToolResult(content=[]), raw_value, None)
        if isinstance(raw_value, EnvelopeModel) and self.output_schema is None:
            # An envelope is not data for programs; beside the document it would be sent a second time.
            return KeptResult.of(ToolResult(content=[]), raw_value, members_of(raw_value))
        value = with_known_blocks(raw_value) if is_mcp(raw_value) else listed(raw_value)
        try:
            native = super().convert_result(value)
            return KeptResult.of(native, value, self._data(native, value))
        except (PydanticSerializationError, UnicodeError, ToolError) as refused:
            if isinstance(refused, ToolError) and not isinstance(
                refused.__cause__, PydanticSerializationError | UnicodeError
            ):
                raise
        # Pydantic does not know something in it. FastMCP gets the same as JSON, and cannot write lone surrogates: the
        # text for the model keeps them, so that the encoder marks what it replaces.
        tool = self.model_copy(update={"return_type": Any})
        try:
            data = as_json(value)
        except UnsendableResultError as fault:
            # Without an output schema nobody was promised the data: as in FastMCP, the text alone is sent.
            if self.output_schema is not None or not fault.pointer:
                raise
            logger.warning("The tool %r: %s", self.name, fault, extra={"tool": self.name})
            data = as_json(value, name_unknown=True)
            native = FunctionTool.convert_result(tool, without_lone_surrogates(data))
            native.structured_content = None
            return KeptResult.of(native, value, data, is_converted=True)
        native = FunctionTool.convert_result(tool, without_lone_surrogates(data))
        return KeptResult.of(native, value, data, is_converted=True)

    def _without_show_user(self, arguments: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
        rest = {name: value for name, value in arguments.items() if name != SHOW_USER}
        try:
            # Absent or null means false, whatever default the function has (XMCP-DSP-021, XMCP-DSP-024).
            show_user = bool(_ShowUser.model_validate(arguments).show_user)
        except PydanticValidationError as error:
            raise ValidationError(f"{SHOW_USER} is not a boolean", log_level=logging.WARNING) from error
        match self.declares_show_user:
            case ModelFields() as model:
                rest[model.parameter] = {**object_sent(rest, model), SHOW_USER: show_user}
            case True:
                rest[SHOW_USER] = show_user
        return show_user, rest

    def _data(self, native: ToolResult, value: Any) -> Any:
        """Return `value` as JSON: structuredContent, if there is any."""
        if isinstance(value, bytes):
            return "".join(block.text for block in native.content if isinstance(block, TextContent))
        if isinstance(value, str) or is_non_finite(value) or is_mcp(value):
            return value
        structured = native.structured_content
        if structured is None:
            return known_to_pydantic(value)
        return structured[WRAPPED_IN] if wraps(self.output_schema) else structured


def _offline_validator(schema: dict[str, Any]) -> Any:
    """Return the validator of an author's schema, or None for one that refers to another document or cannot be used.

    Documents are not fetched: that would block the event loop, and no host reads them.
    """
    try:
        return jsonschema_rs.validator_for(schema, offline=True)
    except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError):
        return None


def _is_json(block: ContentBlock) -> bool:
    """Tell whether FastMCP wrote data as JSON; for a user interface of Prefab it writes a few words."""
    return isinstance(block, TextContent) and _JSON_BEGINS.match(block.text) is not None


_JSON_BEGINS: Final = re.compile(r"\{[\"}]|\[[\"\]\[{tfn0-9-]")


class _ServerValueError(Exception):
    """A provider returned a value that the function does not accept."""


def _is_shown() -> bool:
    """Tell whether the client said that it shows displays."""
    call = current_call.get()
    return call is None or call.shows_displays


def _context() -> Context | None:
    try:
        return get_context()
    except RuntimeError:  # run without a server
        return None


def _session() -> ServerSession | None:
    context = _context()
    try:
        return None if context is None else context.session
    except RuntimeError:  # called in process, not by a client
        return None


def _question(result: ToolResult, secrets: Secrets) -> ToolResult:
    """Return a question to the client without the secrets; the state in it is sealed, so it is kept."""
    if not isinstance(result, InputRequiredToolResult):
        return result
    asked = result.input_required
    request = asked.model_dump(mode="json", by_alias=True, exclude_none=True)
    cleaned = {**request, "inputRequests": secrets.out_of(request.get("inputRequests"))}
    return InputRequiredToolResult(type(asked).model_validate(cleaned))


class _ShowUser(BaseModel):
    show_user: bool | None = None


def _mentions(annotation: Any, wanted: type) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, wanted):
        return True
    return any(_mentions(part, wanted) for part in get_args(annotation))


def _declares_show_user(parameters: Mapping[str, Any]) -> bool | ModelFields:
    """Tell whether the function has the parameter `show_user`, or in which model it is a field."""
    properties = parameters.get("properties", {})
    if SHOW_USER in properties:
        return True
    for name, property_schema in properties.items():
        schema = resolved(property_schema, parameters.get("$defs", {}))
        if schema.get("properties", {}).get(SHOW_USER, {}).get("type") == "boolean":
            return ModelFields(name, schema, (SHOW_USER,))
    return False


def _with_show_user_property(
    tool_name: str, parameters: dict[str, Any], declared_by: bool | ModelFields
) -> dict[str, Any]:
    """Return the input schema with the boolean property `show_user`, optional and false by default."""
    if isinstance(declared_by, ModelFields):
        parameters = with_hidden(parameters, [declared_by])
    properties = parameters.get("properties", {})
    declared = properties.get(SHOW_USER, {})
    if declared.get("type", "boolean") != "boolean":
        raise TypeError(
            f"The display tool {tool_name!r} declares {SHOW_USER} as {declared['type']}; the caller sets it, and it "
            f"must be a bool: `{SHOW_USER}: bool = False`."
        )
    switch = {"type": "boolean", "default": False, "description": declared.get("description", _SHOW_USER_DESCRIPTION)}
    required = [name for name in parameters.get("required", []) if name != SHOW_USER]
    kept = {key: part for key, part in parameters.items() if key != "required"}
    return {**kept, "properties": {**properties, SHOW_USER: switch}, **({"required": required} if required else {})}
