"""From the value that a tool returned and the caller's `show_user` to a `ToolResponse` (spec chapters 2 and 3).

Pure decisions. Content blocks of MCP are handled in `mcp_results`, documents in `delivery`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic import ValidationError as PydanticValidationError
from pydantic_core import PydanticSerializationError, to_json

from xmcp.server.formatter_binding import formatted, keeps_nothing, media_type_of, name_of, writes_data_only
from xmcp.server.responses.display_advice import advise_on_decorator, advise_on_display
from xmcp.server.responses.failures import field_errors
from xmcp.server.result_data import UnsendableResultError, as_json, is_non_finite
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse, display_faults, in_json_types, is_media_type
from xmcp.xml_formatters import XMLFormatter
from xmcp_models.display_envelope import DisplayEnvelope as EnvelopeModel

logger = logging.getLogger("xmcp.server")

SUMMARY_BUDGET: Final = 2048  # bytes of a display's payload that the model sees if the envelope has no `alt`
DATA_URI_SHOWN: Final = 64  # characters of a data URI that a model sees: enough to know its media type
_MOST_MEMBERS: Final = 8  # names of members in a warning
NO_ENVELOPE: Final = "INVALID_PAYLOAD"
_NO_JSON_FORM: Final = "no_json_form"
JSON: Final = "application/json"


def response_to(
    tool_name: str,
    value: Any,
    data: Any,
    *,
    display_tool: bool,
    show_user: bool,
    is_shown: bool = True,
    formatter: XMLFormatter | None = None,
) -> ToolResponse:
    """Return the response for `value`, which the tool returned.

    `data` is `value` as JSON, as in structuredContent; `formatter` writes it, or the payload of an envelope, for the
    model. There is a display only if a display tool was called with `show_user`; then there must be one, otherwise
    the response is the error `INVALID_PAYLOAD`. A `ToolResponse` of the tool is kept, except for that rule. `is_shown`
    tells whether the client said that it shows displays; the model of another one gets the data instead of a summary.
    """
    if isinstance(value, ToolResponse):
        value = _writable(replace(value, tool_name=tool_name))
        response = apply_show_user(value, show_user=show_user, is_shown=is_shown)  # never set for a plain tool
        if response.display is not None:
            advise_on_display(tool_name, response.display)
        return response
    if not display_tool:
        if isinstance(value, DisplayEnvelope):
            advise_on_decorator(tool_name)
        return _for_the_model(tool_name, value, data, formatter)
    envelope = envelope_of(value)
    if isinstance(envelope, DisplayEnvelope):
        if show_user:
            advise_on_display(tool_name, envelope)
        shown = ToolResponse(tool_name, display=envelope if show_user else None)
        summarises = show_user and is_shown
        if formatter is not None and not (summarises and writes_data_only(formatter)):
            shown = _with_text(shown, _formatted_payload(tool_name, envelope, formatter))
        elif summarises:
            shown = _with_text(shown, summary_of(envelope))
        else:
            shown = _with_text(shown, data_of(envelope))
        return shown
    if show_user:
        return ToolResponse(tool_name, error=_no_envelope(envelope))
    return _for_the_model(tool_name, value, data, formatter)


def _writable(response: ToolResponse) -> ToolResponse:
    """Return an author's response with its `llm_output` as text, and without a `format` that is no media type."""
    if response.llm_output is not None and not isinstance(response.llm_output, str):
        text, media_type = model_text(as_json(response.llm_output))
        response = replace(response, llm_output=text, format=response.format or media_type)
    if response.format is not None and not is_media_type(response.format):
        logger.warning("%r is not a media type, so the format of the response was left out.", response.format)
        response = replace(response, format=None)
    return response


def without_envelope(tool_name: str, fault: UnsendableResultError) -> ToolResponse:
    """Return the response of a display tool whose result, which should be shown, has no JSON form."""
    described = {"pointer": fault.pointer, "reason": _NO_JSON_FORM, "message": fault.reason.removesuffix(".")}
    return ToolResponse(tool_name, error=_no_envelope([described]))


def envelope_of(value: Any) -> DisplayEnvelope | list[dict[str, str]]:
    """Return `value` as an envelope in the types of JSON, or the faults of it: `{pointer, reason, message}` of each."""
    if isinstance(value, DisplayEnvelope):
        value = value.to_dict()  # to be checked again: its members can be assigned to
    elif isinstance(value, EnvelopeModel):  # the generated model does not check payloads
        value = value.model_dump(exclude_none=True)
    if not isinstance(value, Mapping):
        return [{"pointer": "", "reason": "wrong_type", "message": "it is not an object with `type` and `payload`"}]
    try:
        members = in_json_types(dict(value), "")
    except (TypeError, ValueError) as fault:
        pointer, _, message = str(fault).partition(": ")
        return [{"pointer": pointer, "reason": _NO_JSON_FORM, "message": message}]
    try:
        envelope = DisplayEnvelope.model_validate(members)
    except PydanticValidationError as error:
        return field_errors(error, members)
    faults = list(display_faults(envelope.to_dict()))
    return [{"pointer": "", "reason": "not_allowed", "message": sentence} for sentence in faults] or envelope


def model_text(data: Any, formatter: XMLFormatter | None = None) -> tuple[str, str | None]:
    """Return the text a model reads for JSON `data`, and its media type; None for plain text."""
    is_data = isinstance(data, Mapping | list | tuple)
    if formatter is not None and not is_non_finite(data) and (is_data or not writes_data_only(formatter)):
        text = formatted(formatter, data)
        return str(text), media_type_of(formatter, text)
    match data:
        case None:
            return "", None
        case str():
            return data, None
        case float() if is_non_finite(data):
            return json.dumps(data), None  # by its name (XMCP-RSP-092)
        case bool() | int() | float():
            return _compact(data), None
        case _:
            return _compact(data), JSON


def _for_the_model(tool_name: str, value: Any, data: Any, formatter: XMLFormatter | None) -> ToolResponse:
    # An envelope has many optional members; the model gets only those that were set.
    text, media_type = model_text(as_json(value.to_dict()) if isinstance(value, DisplayEnvelope) else data, formatter)
    return ToolResponse(tool_name, llm_output=text, format=media_type)


def apply_show_user(response: ToolResponse, *, show_user: bool, is_shown: bool = True) -> ToolResponse:
    """Apply the caller's `show_user` to a response that the author built; `is_shown` as for `response_to`."""
    shown = response.display
    if show_user:
        if response.error is not None:
            return response
        envelope = envelope_of(shown) if shown is not None else []
        if not isinstance(envelope, DisplayEnvelope):
            return ToolResponse(response.tool_name, error=_no_envelope(envelope))
        response = replace(response, display=envelope)
        if response.llm_output is not None:
            return response
        return _with_text(response, summary_of(envelope) if is_shown else data_of(envelope))
    if shown is None:
        return response
    if response.error is not None or response.llm_output is not None:
        return replace(response, display=None)
    told = data_of(shown.model_copy(update={"payload": as_json(shown.payload)}))
    return _with_text(replace(response, display=None), told)


def _no_envelope(faults: list[dict[str, str]]) -> ErrorInfo:
    has_text = all(fault["reason"] != _NO_JSON_FORM for fault in faults)
    listed = "; ".join(f"{fault['pointer']}: {fault['message']}".removeprefix(": ") for fault in faults)
    return ErrorInfo(
        code=NO_ENVELOPE,
        message="A display was asked for and the tool returned no valid display envelope"
        + (f" ({listed})." if listed else ".")
        + (" Call it with show_user=false to get its result as text." if has_text else ""),
        meta={"params": {"envelope": faults}, "side_effects": "unknown"},
    )


# ---- the text for the model of an envelope ----


class DisplayText(NamedTuple):
    """What a model reads of an envelope, its media type (None for plain text), and whether it was cut."""

    text: str
    format: str | None = None
    truncated: bool = False


def _with_text(response: ToolResponse, told: DisplayText) -> ToolResponse:
    return replace(response, llm_output=told.text, format=told.format, truncated=told.truncated)


def summary_of(envelope: DisplayEnvelope) -> DisplayText:
    """Return a text about a display for the model: `alt`, else title and the start of the payload."""
    if envelope.alt is not None:
        return DisplayText(envelope.alt)
    payload = _without_blobs(envelope.payload)
    text = payload if isinstance(payload, str) else _compact(payload)
    start = _cut(text, SUMMARY_BUDGET)
    heading = envelope.title or f"Shown to the user ({envelope.type}):"
    return DisplayText(f"{heading}\n{start}", truncated=start != text)


def _formatted_payload(tool_name: str, envelope: DisplayEnvelope, formatter: XMLFormatter) -> DisplayText:
    """Return what a formatter writes of a display's payload.

    One that selects the members of the tool's data, and none of the payload, would leave the model with nothing. It
    reads `alt` or the title then, and not the payload, which can have what the selection leaves out (XMCP-RSP-091).
    """
    payload = as_json(envelope.payload)
    if not keeps_nothing(formatter, payload):
        return DisplayText(*model_text(payload, formatter))
    told = envelope.alt or envelope.title
    logger.warning(
        "The formatter %s of %s selects nothing of its display's payload (members: %s), so the model reads %s. Select "
        "members of the payload, or return ToolResponse(llm_output=..., display=...).",
        name_of(formatter),
        tool_name,
        ", ".join(list(payload)[:_MOST_MEMBERS]) if isinstance(payload, Mapping) else "those of its rows",
        "`alt`" if envelope.alt else "the title" if envelope.title else "only its type",
    )
    return DisplayText(told or f"A {envelope.type} without a description.")


def data_of(envelope: DisplayEnvelope) -> DisplayText:
    """Return the data of an envelope as text, for the model of a client that shows nothing or was not asked to."""
    if isinstance(envelope.payload, str):
        payload = _without_blobs(envelope.payload)
        body = envelope.alt if envelope.alt is not None and payload != envelope.payload else payload
        return DisplayText("\n".join(filter(None, [envelope.title, body])))
    members = {"title": envelope.title, "alt": envelope.alt, "payload": envelope.payload}
    members = {key: part for key, part in members.items() if part is not None}
    text = _compact(members)
    if '"data:' in text:  # walking through a large table takes longer than writing it
        text = _compact(_without_blobs(members))
    return DisplayText(text, JSON)


def _compact(payload: Any) -> str:
    try:
        return to_json(payload, inf_nan_mode="null").decode()
    except PydanticSerializationError:  # a lone surrogate
        return json.dumps(as_json(payload), ensure_ascii=False, separators=(",", ":"))


def _without_blobs(value: Any) -> Any:
    """Return `value` with long data URIs cut, because base64 is of no use to a model."""
    match value:
        case str() if value.startswith("data:") and len(value) > DATA_URI_SHOWN:
            return f"{value[:DATA_URI_SHOWN]}… ({len(value)} characters)"
        case Mapping():
            return {key: _without_blobs(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_without_blobs(entry) for entry in value]
        case _:
            return value


def _cut(text: str, budget: int) -> str:
    raw = text.encode("utf-8", "replace")
    if len(raw) <= budget:
        return text
    return f"{raw[:budget].decode('utf-8', 'ignore')}… ({len(raw)} bytes in all)"
