"""The messages that the servers of a scenario send: a tool in `tools/list`, and the result of a call. No I/O.

The documents in them are minimal documents according to chapters 2 to 4 of the specification.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from xmcp_conformance.reader import read
from xmcp_models.registry import (
    DISPLAY_META_KEY,
    ERROR_CODES,
    ERROR_META_KEY,
    POPULATED_META_KEY,
    RESULT_META_KEY,
    TOOL_META_KEY,
    VERSION,
)

from .adapter import ConnectionLost, Json, OutsideProtocol, ProtocolError
from .messages import compact
from .scenario import Act
from .sent_displays import BAD_DISPLAYS, envelope
from .trace import INVALID_PARAMS, Answered, Server, Tool

_PROTOCOL_ERRORS: Final[Mapping[str, tuple[int, str]]] = {
    "invalid_params": (INVALID_PARAMS, "VALIDATION_FAIL"),  # XMCP-MCP-041
    "internal_error": (-32603, "TOOL_ERROR"),
}
"""The code of JSON-RPC, and that of the error as a client has to read it (section 11.4)."""
_REFUSED: Final[Json] = {"code": "AUTH_REQUIRED", "retryable": False, "side_effects": "none"}
_NO_MESSAGE: Final[Json] = {"code": "CONNECTION_FAILED", "retryable": True, "side_effects": "unknown"}
PAGES: Final[Mapping[str, tuple[int, Json | None]]] = {
    "http_401": (401, _REFUSED),
    "http_403": (403, _REFUSED),
    "http_429": (429, _NO_MESSAGE),
    "http_503": (503, None),
    "web_page": (200, _NO_MESSAGE),
}
"""The HTTP status, and the error as which section 6.5 reads it; `None`: the connection counts as lost."""
_PAGE_OF_A_PROXY: Final = """Traceback (most recent call last):
  File "/srv/gateway/proxy.py", line 88, in forward
UpstreamError: {} is busy
"""
_OF_A_TEXT: Final = ' format="text/markdown" truncated="true"'
_FILLED_IN: Final = '{"values":{"user_id":"u-17"},"redacted":["api_key"],"overridden":["user_id"]}'
_SERVER_POPULATED: Final = f"<server_populated>{_FILLED_IN}</server_populated>"
_ABOUT_VALUES: Final[Json] = {
    "type": "text",
    "text": "Filled in by the server: user_id = u-17; api_key.",
    "_meta": {POPULATED_META_KEY: True},
}
"""The block of XMCP-MCP-048, which is no part of the text of a plain result."""
PICTURE: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
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
        "_meta": {TOOL_META_KEY: metadata},
    }
    hints = {"readOnlyHint": tool.read_only, "idempotentHint": tool.idempotent}
    if annotations := hints if tool.annotations is None else dict(tool.annotations):
        listed["annotations"] = annotations
    return listed if tool.output_schema is None else {**listed, "outputSchema": dict(tool.output_schema)}


def answer(
    act: Act, tool: str, call: int, tag: Any, server: Server
) -> tuple[Json | ConnectionLost | ProtocolError | OutsideProtocol, Answered]:
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
        return ProtocolError(number, text), Answered(call=call, outcome="error", error=error, protocol_error=number)
    if act.kind in PAGES:
        status, read_as = PAGES[act.kind]
        page = OutsideProtocol(status, _PAGE_OF_A_PROXY.format(tool))
        return page, Answered(call=call, outcome="outside" if read_as else "lost", error=read_as)
    if not server.xmcp:
        result, answered = _of_another_server(act, tool, call, text)
        result = _as_sent(result, act)
        return result, replace(answered, own_words=any(map(_needs_words, result["content"])))
    result, answered = (_plain if server.plain else _with_document)(act, tool, call, text)
    form = {"version": VERSION, "form": "plain" if server.plain else "document"}
    result = _as_sent({**result, "_meta": {RESULT_META_KEY: form, **result.get("_meta", {})}}, act)
    if not answered.readable:
        raw = "\n".join(block["text"] for block in result["content"] if "text" in block)
        answered = replace(answered, text=raw, why_unreadable=_why_unreadable(result["content"]))
    if server.plain:
        told = result["_meta"]
        filled_in, media_type = told.get(POPULATED_META_KEY), told[RESULT_META_KEY].get("format")
        own_words = any(map(_needs_words, result["content"]))
        answered = replace(answered, plain=True, filled_in=filled_in, format=media_type, own_words=own_words)
    return result, answered


def _why_unreadable(blocks: Sequence[Json]) -> str | None:
    """Return why no document can be read in the blocks of a result; `None` where nothing is wrong with them."""
    if not blocks:
        return "`content` is an empty list"
    first = blocks[0]
    if first.get("annotations", {}).get("audience") == ["user"]:
        return "the first block is for the user alone"
    if "text" not in first:
        return f"the first block is no text, but of the type `{first.get('type')}`"
    faults = (one for one in read(first["text"]).observations if not one.ok)
    return next((f"{one.requirement}: {one.seen}" for one in faults), None)


def _needs_words(block: Json) -> bool:
    """Return whether a client says in words of its own that a block is there (section 6.4)."""
    is_text = "text" in block or "text" in block.get("resource", {})
    return not is_text and block.get("annotations", {}).get("audience") != ["user"]


def _as_sent(result: Json, act: Act) -> Json:
    """Return a result with the members that an act gives as they are sent."""
    if act.sent is None:
        return result
    sent = {**result, **act.sent}
    meta, given = result.get("_meta", {}), act.sent.get("_meta", {})
    if meta or given:
        own = {RESULT_META_KEY: {**meta[RESULT_META_KEY], **given.get(RESULT_META_KEY, {})}} if meta else {}
        sent["_meta"] = {name: value for name, value in {**meta, **given, **own}.items() if value is not None}
    return {name: value for name, value in sent.items() if value is not None}


def _with_document(act: Act, tool: str, call: int, text: str) -> tuple[Json, Answered]:
    """Return a result that is a document."""
    if act.kind in ("garbled", "garbled_error"):
        raw, failed = f"<tool_response {text}", act.kind == "garbled_error"
        answered = Answered(call=call, outcome="error" if failed else "ok", text=raw, readable=False)
        return _result(raw, is_error=failed), answered
    if act.kind == "misplaced":
        raw = _document(tool, _llm_output(text))
        result = _result(raw)
        result["content"].insert(0, {"type": "image", "data": PICTURE, "mimeType": "image/png"})
        return result, Answered(call=call, outcome="ok", text=raw, readable=False)
    if act.kind in ("bad_display", "only_bad_display"):
        rest = text if act.kind == "bad_display" else None
        shown = f"<display>{BAD_DISPLAYS.get(act.display, BAD_DISPLAYS['bad'])}</display>"
        raw = _document(tool, ("" if rest is None else _llm_output(rest)) + shown)
        return _result(raw), Answered(call=call, outcome="ok", text=rest, bad_display=True)
    display, is_bad = envelope(act.display, call), act.display in BAD_DISPLAYS
    shown = "" if display is None else _display_element(display)
    if is_bad:
        shown = f"<display>{BAD_DISPLAYS[act.display]}</display>"
    if act.kind == "flagged":
        answered = Answered(call=call, outcome="error", text=text, display=display, bad_display=is_bad)
        parts = _llm_output(text) if text or not shown else ""  # a display alone is a document, too (section 2.2)
        parts += shown + (_SERVER_POPULATED if act.all_parts else "")
        return _result(_document(tool, parts), is_error=True), answered
    if act.kind == "error":
        error = _error(act, text)
        raw = _document(tool, _error_element(error) + shown)
        answered = Answered(call=call, outcome="error", error=error, display=display, for_user=act.for_user)
        return _result(raw, act, is_error=True), replace(answered, bad_display=is_bad)
    attributes = ' lossy="true"' if act.lossy else ""
    if act.all_parts:
        output = f"<llm_output{_OF_A_TEXT}>{_written(text)}</llm_output>"
        attributes += f' version="{VERSION}" call_id="call-{call}"'
        raw = _document(tool, output + shown + _SERVER_POPULATED, attributes)
        told = replace(_succeeded(act, call, text, display), document=raw)
    else:
        raw = _document(tool, _llm_output(text) + shown, attributes)
        told = _succeeded(act, call, text, display)
    return _result(raw, act, structured=act.structured), replace(told, bad_display=is_bad)


def _plain(act: Act, tool: str, call: int, text: str) -> tuple[Json, Answered]:
    """Return a plain result of a server that announces the extension (section 6.3)."""
    display, is_bad = envelope(act.display, call), act.display in BAD_DISPLAYS
    meta: Json = {} if display is None else {DISPLAY_META_KEY: display}
    if is_bad:
        meta[DISPLAY_META_KEY] = _json_or_text(BAD_DISPLAYS[act.display])
    if act.kind in ("error", "flagged"):
        known = ERROR_CODES.get(act.code, {}).get("category", "internal")
        error = {"category": known, **_error(act, text)}
        said = f"{act.code}: {text}" if text.strip() else text
        answered = Answered(call=call, outcome="error", error=error, text=said, display=display, for_user=act.for_user)
        answered = replace(answered, bad_display=is_bad)
        sent = {name: value for name, value in error.items() if name != "side_effects"}
        if act.side_effects is not None:
            sent["meta"] = {"side_effects": act.side_effects}
        return {**_result(said, act, is_error=True), "_meta": {ERROR_META_KEY: sent, **meta}}, answered
    raw = _forged(tool, text) if act.kind == "forged" else text
    result = _of_blocks(raw, act)
    if act.all_parts:
        meta[POPULATED_META_KEY] = json.loads(_FILLED_IN)
        result["content"].append(_ABOUT_VALUES)
    told = _succeeded(act, call, _for_model(raw, act), display)
    return {**result, "_meta": meta}, replace(told, bad_display=is_bad)


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
    if act.as_resource:
        result["content"][0] = {"type": "resource", "resource": {"uri": "file:///answer", "text": text}}
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


def _json_or_text(written: str) -> Any:
    try:
        return json.loads(written)
    except ValueError:
        return written


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
        elif act.resource_for_user:
            block = {"type": "resource", "resource": {"uri": "file:///for-you", "text": act.for_user}}
        result["content"].append({**block, "annotations": {"audience": ["user"]}})
    return result if structured is None else {**result, "structuredContent": structured}
