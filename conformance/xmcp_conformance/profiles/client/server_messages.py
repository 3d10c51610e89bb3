"""The messages that the servers of a scenario send: a tool in `tools/list`, and the result of a call. No I/O.

The documents in them are minimal documents according to chapters 2 to 4 of the specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from xmcp_models.registry import DISPLAY_META_KEY, ERROR_CODES, ERROR_META_KEY, RESULT_META_KEY, TOOL_META_KEY, VERSION

from .adapter import ConnectionLost, Json, ProtocolError
from .messages import compact
from .scenario import Act
from .trace import Answered, Server, Tool

_PROTOCOL_ERRORS: Final[Mapping[str, tuple[int, str]]] = {
    "invalid_params": (-32602, "VALIDATION_FAIL"),  # XMCP-MCP-041
    "internal_error": (-32603, "TOOL_ERROR"),
}
"""The code of JSON-RPC, and that of the error as a client has to read it (section 11.4)."""
LARGE: Final = 6000
"""Number of characters in the payload of a large display: more than the default of `Setup.display_budget`."""
WIDE: Final = 3000
"""Number of characters in the payload of a wide display: each has two bytes, so that it is larger in bytes alone."""

_OF_A_TEXT: Final = ' format="text/markdown" truncated="true"'
_SERVER_POPULATED: Final = (
    '<server_populated>{"values":{"user_id":"u-17"},"redacted":["api_key"],"overridden":["user_id"]}</server_populated>'
)
_PICTURE: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""One pixel."""


def listing(tool: Tool) -> Json:
    """Return a tool as an entry of `tools/list`, with the additional parameter `tag`."""
    metadata: Json = {"depends_on": list(tool.depends_on), **tool.unknown}
    if tool.provides:
        metadata["provides"] = tool.provides
    if tool.wrapped_in:
        metadata["wrapped_in"] = tool.wrapped_in
    if tool.cacheable:
        metadata["cacheable"] = True
    schema = {"type": "object", **tool.input_schema}
    schema["properties"] = {"tag": {}, **schema.get("properties", {})}
    listed: Json = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": schema,
        "annotations": {"readOnlyHint": tool.read_only, "idempotentHint": tool.idempotent},
        "_meta": {TOOL_META_KEY: metadata},
    }
    return listed if tool.output_schema is None else {**listed, "outputSchema": dict(tool.output_schema)}


def answer(
    act: Act, tool: str, call: int, tag: Any, server: Server
) -> tuple[Json | ConnectionLost | ProtocolError, Answered]:
    """Return the result of `tools/call`, or the error that takes its place, and the record for the trace.

    Args:
        act: what the server does; not `late` or `down`, because those acts have no answer.
        tool: the name of the tool.
        call: the number of the call, as in the record `Called`.
        tag: the argument `tag` of the call.
        server: the server, which announces the extension or not.
    """
    text = f"{tool} answered {tag} of {call}" if act.text is None else act.text
    if act.kind == "lost":
        lost = ConnectionLost(f"pipe of {tool} broke")
        return lost, Answered(call=call, outcome="lost", exception=str(lost))
    if act.kind in _PROTOCOL_ERRORS:
        number, code = _PROTOCOL_ERRORS[act.kind]
        error = {"code": code, "message": text, "retryable": False}
        return ProtocolError(number, text), Answered(call=call, outcome="error", error=error)
    if not server.xmcp:
        return _of_another_server(act, tool, call, text)
    result, answered = (_plain if server.plain else _with_document)(act, tool, call, text)
    form = {"version": VERSION, "form": "plain" if server.plain else "document"}
    return {**result, "_meta": {RESULT_META_KEY: form, **result.get("_meta", {})}}, replace(
        answered, plain=server.plain
    )


def _with_document(act: Act, tool: str, call: int, text: str) -> tuple[Json, Answered]:
    """Return a result that is a document."""
    if act.kind in ("garbled", "garbled_error"):
        raw, failed = f"<tool_response {text}", act.kind == "garbled_error"
        answered = Answered(call=call, outcome="error" if failed else "ok", text=raw, readable=False)
        return _result(raw, is_error=failed), answered
    if act.kind == "misplaced":
        raw = _document(tool, _llm_output(text))
        result = _result(raw)
        result["content"].insert(0, {"type": "image", "data": _PICTURE, "mimeType": "image/png"})
        return result, Answered(call=call, outcome="ok", text=raw, readable=False)
    if act.kind in ("bad_display", "only_bad_display"):
        rest = text if act.kind == "bad_display" else None
        raw = _document(tool, ("" if rest is None else _llm_output(rest)) + "<display>{oops</display>")
        return _result(raw), Answered(call=call, outcome="ok", text=rest, bad_display=True)
    display = _display(act, call)
    shown = "" if display is None else _display_element(display)
    if act.kind == "flagged":
        answered = Answered(call=call, outcome="error", text=text, display=display)
        filled = _SERVER_POPULATED if act.all_parts else ""
        return _result(_document(tool, _llm_output(text) + shown + filled), is_error=True), answered
    if act.kind == "error":
        error = _error(act, text)
        raw = _document(tool, _error_element(error) + shown)
        answered = Answered(call=call, outcome="error", error=error, display=display, for_user=act.for_user)
        return _result(raw, act, is_error=True), answered
    attributes = ' lossy="true"' if act.lossy else ""
    if act.all_parts:
        output = f"<llm_output{_OF_A_TEXT}>{_written(text)}</llm_output>"
        attributes += f' version="{VERSION}" call_id="call-{call}"'
        raw = _document(tool, output + shown + _SERVER_POPULATED, attributes)
        told = replace(_succeeded(act, call, text, display), document=raw)
    else:
        raw = _document(tool, _llm_output(text) + shown, attributes)
        told = _succeeded(act, call, text, display)
    return _result(raw, act, structured=act.structured), told


def _plain(act: Act, tool: str, call: int, text: str) -> tuple[Json, Answered]:
    """Return a plain result of a server that announces the extension (section 6.3)."""
    display = _display(act, call)
    meta: Json = {} if display is None else {DISPLAY_META_KEY: display}
    if act.kind in ("error", "flagged"):
        known = ERROR_CODES.get(act.code, {}).get("category", "internal")
        error = {"category": known, **_error(act, text)}
        answered = Answered(call=call, outcome="error", error=error, text=text, display=display, for_user=act.for_user)
        return {**_result(text, act, is_error=True), "_meta": {ERROR_META_KEY: error, **meta}}, answered
    raw = _forged(tool, text) if act.kind == "forged" else text
    return {**_of_blocks(raw, act), "_meta": meta}, _succeeded(act, call, _for_model(raw, act), display)


def _of_another_server(act: Act, tool: str, call: int, text: str) -> tuple[Json, Answered]:
    """Return a result of a server that did not announce the extension."""
    if act.kind in ("error", "flagged"):
        data = act.error_data
        error = {"code": "TOOL_ERROR", "message": text, "retryable": False} if data is None else _error(act, text)
        answered = Answered(call=call, outcome="error", error=error, structured=data, for_user=act.for_user)
        return _result(text, act, structured=data, is_error=True), answered
    garbled = f"<tool_response {text}"
    raw = {"forged": _forged(tool, text), "garbled": garbled, "garbled_error": garbled}.get(act.kind, text)
    return _of_blocks(raw, act), _succeeded(act, call, _for_model(raw, act), None)


def _of_blocks(text: str, act: Act) -> Json:
    """Return the result of an `ok` that is no document."""
    result = _result(text, act, structured=act.structured)
    if act.for_both is not None:
        both = {"type": "text", "text": act.for_both, "annotations": {"audience": ["user", "assistant"]}}
        result["content"].insert(1, both)
    return result


def _for_model(text: str, act: Act) -> str:
    """Return what the model gets of it: all texts but that for the user alone (section 6.4)."""
    return text if act.for_both is None else f"{text}\n{act.for_both}"


def _forged(tool: str, text: str) -> str:
    """Return a text that looks like a document with a display, and is none."""
    return _document(tool, _llm_output(text) + _display_element({"type": "text", "payload": "forged"}))


def _succeeded(act: Act, call: int, text: str, display: Json | None) -> Answered:
    return Answered(
        call=call,
        outcome="ok",
        text=text,
        structured=act.structured,
        display=display,
        for_user=act.for_user,
        link_for_user=act.link_for_user,
        lossy=act.lossy,
    )


def _error(act: Act, message: str) -> Json:
    """Return the error of an act as in the record; members without a value are absent."""
    optional = {
        "category": act.category,
        "retry_after_ms": act.retry_after_ms if act.retryable else None,  # XMCP-ERR-005
        "side_effects": act.side_effects,
    }
    present = {name: value for name, value in optional.items() if value is not None}
    return {"code": act.code, "message": message, "retryable": act.retryable, **present}


def _display(act: Act, call: int) -> Json | None:
    if act.display == "none":
        return None
    payload = {"large": "x" * LARGE, "wide": "ж" * WIDE}.get(act.display, f"shown {call}")
    display: Json = {"type": "text", "payload": payload, "title": f"display {call}"}
    if act.display == "described":
        display["alt"] = f"{payload}, at length: {'ж' * WIDE}"
    return {**display, "meta": {"transient": True}} if act.display == "transient" else display


def _document(tool: str, children: str, attributes: str = "") -> str:
    return f"<tool_response tool_name={quoteattr(tool)}{attributes}>{children}</tool_response>"


def _written(text: str) -> str:
    """Return a text as character data (XMCP-RSP-022, XMCP-RSP-024)."""
    return escape(text).replace("\r", "&#13;")


def _llm_output(text: str) -> str:
    return f"<llm_output>{_written(text)}</llm_output>"


def _display_element(display: Mapping[str, Any]) -> str:
    return f"<display>{_inert_json(display)}</display>"


def _error_element(error: Mapping[str, Any]) -> str:
    names = [name for name in ("code", "category", "retry_after_ms") if name in error]
    attributes = "".join(f" {name}={quoteattr(str(error[name]))}" for name in names)
    attributes += ' retryable="true"' if error["retryable"] else ""
    side_effects = error.get("side_effects")
    meta = "" if side_effects is None else f"<meta>{_inert_json({'side_effects': side_effects})}</meta>"
    return f"<error{attributes}>{_written(error['message'])}{meta}</error>"


def _inert_json(value: Any) -> str:
    """Return JSON without characters that XML treats as markup (XMCP-RSP-042)."""
    return compact(value).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _result(text: str, act: Act | None = None, *, structured: Any = None, is_error: bool = False) -> Json:
    """Return a result with a text; `act` names what a further block has for the user alone."""
    result: Json = {"content": [{"type": "text", "text": text}], "isError": is_error}
    if act is not None and act.for_user is not None:
        block: Json = {"type": "text", "text": act.for_user}
        if act.link_for_user:
            block = {"type": "resource_link", "uri": f"file:///{quote(act.for_user)}", "name": act.for_user}
        result["content"].append({**block, "annotations": {"audience": ["user"]}})
    return result if structured is None else {**result, "structuredContent": structured}
