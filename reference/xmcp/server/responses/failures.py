"""Which exception of a call becomes which error of the response: one table (spec chapter 4).

Pure decisions, from an exception to an `ErrorInfo`; the middleware catches, logs and answers. Nothing of an unexpected
exception ever enters an `ErrorInfo`.
"""

from __future__ import annotations

import re
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from fastmcp.exceptions import (
    DisabledError,
    FastMCPError,
    NotFoundError,
    PromptError,
    ResourceError,
    ToolError,
    ValidationError,
)
from fastmcp.server.middleware.rate_limiting import RateLimitError
from fastmcp.utilities.exceptions import is_timeout_error
from mcp import MCPError
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY
from pydantic import ValidationError as PydanticValidationError
from pydantic_core import ErrorDetails

from xmcp.server.call_state import ServedCall
from xmcp.server.errors import XMCPError
from xmcp.server.fastmcp_internals.failures import is_body_error, is_tool_timeout, raised_by_fastmcp
from xmcp.server.responses.explanations import explanation_of
from xmcp.server.result_data import UnsendableResultError
from xmcp.server.worker_threads import OutOfTimeError
from xmcp.wire import DisplayEnvelope, ErrorInfo

MAX_FIELDS: Final = 32
MAX_POINTER: Final = 256  # characters; argument names come from the caller and can be any size
MAX_TOOL_NAME: Final = 128  # characters, as in the XSD


def must_propagate(failure: BaseException) -> bool:
    """Tell whether `failure` is about the connection and must be sent as a JSON-RPC error (SEP-2575)."""
    return isinstance(failure, MCPError) and failure.error.code == MISSING_REQUIRED_CLIENT_CAPABILITY


def error_for(failure: BaseException, call: ServedCall) -> ErrorInfo:
    """Return the error of the response for `failure`; `INTERNAL` for an unexpected exception."""
    if _is_translated(failure):
        failure = failure.__cause__ or failure
    if isinstance(failure, NotFoundError | DisabledError):  # not from inside a tool: there FastMCP wraps it
        return _unknown_tool(call)
    chain = tuple(_unwrapped(failure))
    cause = chain[-1]
    if (explained := explanation_of(chain, hides_upstream=call.mask_error_details is True)) is not None:
        return explained
    for applies, error in _TABLE:
        if applies(cause):
            return error(cause, call)
    return internal(call, failure)


def internal(call: ServedCall, failure: BaseException | None = None) -> ErrorInfo:
    """Return the error that discloses nothing but the id under which the server's log has the details.

    With `mask_error_details=False` its message has the class and the text of `failure`.
    """
    message = "The tool failed unexpectedly. The server's log has the details under the error id."
    if failure is not None and call.mask_error_details is False:
        cause = cause_of(failure)
        message = f"{type(cause).__name__}: {cause}"
    return ErrorInfo(code="INTERNAL", message=message, meta={"error_id": call.error_id, "side_effects": "unknown"})


_NOT_IN_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def carried_tool_name(name: str) -> str:
    """Return the caller's `name` of a tool as a response has it: at most 128 characters that XML can carry."""
    return _NOT_IN_XML.sub("\ufffd", name[:MAX_TOOL_NAME]) or "?"


def safe_tool_name(name: str) -> str:
    """Return the caller's `name` of a tool for a sentence or a log: printable, 1 to 128 characters."""
    return "".join(c if c.isprintable() else "\ufffd" for c in name[:MAX_TOOL_NAME]) or "?"


def field_errors(error: PydanticValidationError, arguments: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return one `{pointer, reason, message}` for each refused argument, at most `MAX_FIELDS`.

    The names of arguments are repeated, their values are not. The message of an author's own validator is passed on
    as it is.
    """
    details = error.errors(include_url=False, include_input=False, include_context=False)[:MAX_FIELDS]
    return [
        {
            "pointer": _pointer(detail, arguments)[:MAX_POINTER].removesuffix("~"),
            "reason": _REASONS.get(detail["type"], detail["type"]),
            "message": _explanation(detail),
        }
        for detail in details
    ]


# ---- the table ----


def _xmcp_error(failure: BaseException, _call: ServedCall) -> ErrorInfo:
    assert isinstance(failure, XMCPError)  # noqa: S101 - the table says so
    return failure.info


def _refused_arguments(failure: BaseException, call: ServedCall) -> ErrorInfo:
    cause = failure.__cause__
    assert isinstance(cause, PydanticValidationError)  # noqa: S101 - the table says so
    root = "" if call.handed_on is None else f"/{_escaped(call.handed_on)}"
    fields = [
        {**field, "pointer": (root + field["pointer"])[:MAX_POINTER].removesuffix("~")}
        for field in field_errors(cause, call.tool_arguments)
    ]
    text = "; ".join(f"{field['pointer'] or 'arguments'}: {field['message']}" for field in fields)
    more = cause.error_count() - len(fields)
    return ErrorInfo(
        code="VALIDATION_FAIL",
        message=f"The arguments do not fit the tool's input schema. {text}" + (f"; and {more} more" if more else ""),
        meta={"fields": fields, "side_effects": "none"},
    )


def _refused_names(failure: BaseException, _call: ServedCall) -> ErrorInfo:
    """Return the error of a transformed tool of FastMCP, which lists the wrong names after a colon."""
    reason = "missing" if str(failure).startswith("Missing") else "unexpected"
    words = {"missing": "Field required", "unexpected": "Unexpected argument"}[reason]
    names = str(failure).partition(": ")[2].split(", ")[:MAX_FIELDS]
    fields = [{"pointer": f"/{_escaped(name)}"[:MAX_POINTER], "reason": reason, "message": words} for name in names]
    text = "; ".join(f"{field['pointer']}: {words}" for field in fields)
    return ErrorInfo(
        code="VALIDATION_FAIL",
        message=f"The arguments do not fit the tool's input schema. {text}",
        meta={"fields": fields, "side_effects": "none"},
    )


def _unsendable_result(failure: BaseException, call: ServedCall) -> ErrorInfo:
    if call.mask_error_details is False:
        return internal(call, failure)
    return replace(
        internal(call),
        message=f"Could not serialize the return value of tool {safe_tool_name(call.tool_name)!r}. The tool ran; the "
        "server's log says under the error id why its result cannot be sent.",
    )


def _refused_envelope(failure: BaseException, call: ServedCall) -> ErrorInfo:
    fault = _envelope_fault(failure)
    assert fault is not None  # noqa: S101 - the table says so
    details = fault.errors(include_url=False, include_input=False, include_context=False)[:MAX_FIELDS]
    faults = [
        {
            "pointer": "".join(f"/{_escaped(str(step))}" for step in detail["loc"])[:MAX_POINTER],
            "reason": _REASONS.get(detail["type"], detail["type"]),
            "message": _explanation(detail),
        }
        for detail in details
    ]
    text = "; ".join(f"{one['pointer']}: {one['message']}".removeprefix(": ") for one in faults)
    return ErrorInfo(
        code="INVALID_PAYLOAD",
        message=f"The tool could not make the display that it wanted to return ({text}).",
        meta={"error_id": call.error_id, "params": {"envelope": faults}, "side_effects": "unknown"},
    )


def _envelope_fault(failure: BaseException) -> PydanticValidationError | None:
    """Return what the constructor of a display envelope raised inside a tool, around which FastMCP puts its own."""
    wrapped = type(failure).__module__.startswith("fastmcp.")
    fault = failure.__cause__ if wrapped else failure
    return fault if isinstance(fault, PydanticValidationError) and fault.title == DisplayEnvelope.__name__ else None


def _unusable_argument(failure: BaseException, _call: ServedCall) -> ErrorInfo:
    return ErrorInfo(code="INVALID_ARGUMENT", message=str(failure).strip() or "The tool cannot use these arguments.")


def _unknown_tool(call: ServedCall) -> ErrorInfo:
    name = safe_tool_name(call.tool_name)
    return ErrorInfo(
        code="UNKNOWN_TOOL",
        message=f"Unknown tool: {name!r}.",  # FastMCP's words, which programs look for
        meta={"params": {"tool": carried_tool_name(call.tool_name)}, "side_effects": "none"},
    )


def _timed_out(failure: BaseException, _call: ServedCall) -> ErrorInfo:
    text = "The tool took longer than it was allowed to."
    if isinstance(failure, MCPError | OutOfTimeError):  # FastMCP's own sentence: the tool's name and its limit
        text = f"{failure}."
    return ErrorInfo(code="TIMEOUT", message=text, meta={"side_effects": "unknown"})


def _rate_limited(_failure: BaseException, _call: ServedCall) -> ErrorInfo:
    return ErrorInfo(code="RATE_LIMIT", message="Too many calls; wait and repeat.", meta={"side_effects": "none"})


def _cancelled(_failure: BaseException, _call: ServedCall) -> ErrorInfo:
    return ErrorInfo(
        code="CANCELLED", message="Something that the tool waited for was cancelled.", meta={"side_effects": "unknown"}
    )


def _tool_error(failure: BaseException, _call: ServedCall) -> ErrorInfo:
    return ErrorInfo(
        code="TOOL_ERROR", message=str(failure).strip() or "The tool reports a failure without saying more."
    )


def _is_wrapper(failure: BaseException) -> bool:
    """Tell whether FastMCP put `failure` around the exception of a tool, a resource or a prompt."""
    wraps = isinstance(failure, ToolError | ResourceError | PromptError) and raised_by_fastmcp(failure)
    return wraps and failure.__cause__ is not None


def _is_translated(failure: BaseException) -> bool:
    """Tell whether FastMCP's `ErrorHandlingMiddleware` made `failure` of another exception."""
    return isinstance(failure, MCPError) and raised_by_fastmcp(failure, "fastmcp.server.middleware.error_handling")


def _unwrapped(failure: BaseException) -> Iterator[BaseException]:
    """Yield `failure`, and what is inside FastMCP's exception or a task group's group, down to the origin."""
    inner: BaseException | None = failure
    while inner is not None:
        failure, inner = inner, None
        yield failure
        if _is_wrapper(failure) or _is_translated(failure) or is_body_error(failure):
            inner = failure.__cause__
        elif isinstance(failure, BaseExceptionGroup) and len(failure.exceptions) == 1:
            inner = failure.exceptions[0]


def cause_of(failure: BaseException) -> BaseException:
    """Return the exception the tool raised, without FastMCP's exceptions or a task group's group around it."""
    return tuple(_unwrapped(failure))[-1]


def _is(*types: type[BaseException]) -> Callable[[BaseException], bool]:
    return lambda failure: isinstance(failure, types)


_TABLE: Final[tuple[tuple[Callable[[BaseException], bool], Callable[[BaseException, ServedCall], ErrorInfo]], ...]] = (
    (_is(XMCPError), _xmcp_error),
    (_is(UnsendableResultError), _unsendable_result),
    (lambda f: _envelope_fault(f) is not None, _refused_envelope),
    (
        lambda f: isinstance(f, ValidationError) and isinstance(f.__cause__, PydanticValidationError),
        _refused_arguments,
    ),
    (_is(ValidationError), _unusable_argument),
    (lambda f: isinstance(f, TypeError) and raised_by_fastmcp(f, "fastmcp.tools.tool_transform"), _refused_names),
    (_is(RateLimitError), _rate_limited),
    (_is(CancelledError), _cancelled),
    (lambda f: is_tool_timeout(f) or is_timeout_error(f) or isinstance(f, TimeoutError), _timed_out),
    (_is(FastMCPError), _tool_error),
)
"""The first match counts. FastMCP shows the text of any `FastMCPError`; it is last, because others are subclasses."""


# ---- refused arguments ----

_REASONS: Final[dict[str, str]] = {
    "missing": "missing",
    "missing_argument": "missing",
    "missing_keyword_only_argument": "missing",
    "missing_positional_only_argument": "missing",
    "unexpected_keyword_argument": "unexpected",
    "extra_forbidden": "unexpected",
    **dict.fromkeys(
        ["int_type", "int_parsing", "int_from_float", "float_type", "float_parsing", "bool_type", "bool_parsing"],
        "wrong_type",
    ),
    **dict.fromkeys(["string_type", "list_type", "dict_type", "model_type", "dataclass_type"], "wrong_type"),
}
"""Plainer words for some of pydantic's error types; any other type is the reason as it is."""

_OWN_MESSAGES: Final[dict[str, str]] = {
    "union_tag_invalid": "Input does not match any of the expected variants",
}
"""Replace the messages of pydantic that repeat what was sent."""


def _explanation(detail: ErrorDetails) -> str:
    words = _OWN_MESSAGES.get(detail["type"], detail["msg"])
    return words.removeprefix("Value error, ").removeprefix("Assertion failed, ")


def _pointer(detail: ErrorDetails, arguments: Mapping[str, Any]) -> str:
    """Return the JSON Pointer (RFC 6901) of an error, without the steps that pydantic adds.

    pydantic also names union members and validators in its locations. Only steps that exist in the arguments, and the
    name of a missing member, belong to the caller's document.
    """
    here: Any = arguments
    path = ""
    for position, step in enumerate(detail["loc"], start=1):
        if isinstance(here, Mapping) and str(step) in here:
            here = here[str(step)]
        elif isinstance(here, list) and isinstance(step, int) and step < len(here):
            here = here[step]
        elif not (position == len(detail["loc"]) and _REASONS.get(detail["type"]) == "missing"):
            continue
        path += "/" + _escaped(str(step))
    return path


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
