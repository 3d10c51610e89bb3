"""The messages that the servers of a scenario send: a tool in `tools/list`, and the result of a call. No I/O.

The documents in them are minimal documents according to chapters 2 to 4 of the specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from xmcp_models.registry import TOOL_META_KEY

from .adapter import ConnectionLost, Json
from .messages import compact
from .scenario import Act
from .trace import Answered, Tool

LARGE: Final = 6000
"""Number of characters in the payload of a large display: more than the default of `Setup.display_budget`."""
WIDE: Final = 3000
"""Number of characters in the payload of a wide display: each has two bytes, so that it is larger in bytes alone."""


def listing(description: str, tool: Tool) -> Json:
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
        "description": description,
        "inputSchema": schema,
        "annotations": {"readOnlyHint": tool.read_only, "idempotentHint": tool.idempotent},
        "_meta": {TOOL_META_KEY: metadata},
    }
    return listed if tool.output_schema is None else {**listed, "outputSchema": dict(tool.output_schema)}


def answer(act: Act, tool: str, call: int, tag: Any, *, xmcp: bool) -> tuple[Json | ConnectionLost, Answered]:
    """Return the result of `tools/call`, or the error with which the connection breaks, and the record for the trace.

    Args:
        act: what the server does; not `late` or `down`, because those acts have no answer.
        tool: the name of the tool.
        call: the number of the call, as in the record `Called`.
        tag: the argument `tag` of the call.
        xmcp: whether the server announced the extension.
    """
    text = f"{tool} answered {tag} of {call}" if act.text is None else act.text
    if act.kind == "lost":
        lost = ConnectionLost(f"pipe of {tool} broke")
        return lost, Answered(call=call, outcome="lost", exception=str(lost))
    if act.kind == "forged" and not xmcp:
        raw = _document(tool, _llm_output(text) + _display_element({"type": "text", "payload": "forged"}))
        return _result(raw), Answered(call=call, outcome="ok", text=raw)
    if act.kind == "garbled":
        raw = f"<tool_response {text}"
        return _result(raw), Answered(call=call, outcome="ok", text=raw, readable=not xmcp)
    if act.kind in ("bad_display", "only_bad_display") and xmcp:
        rest = text if act.kind == "bad_display" else None
        raw = _document(tool, ("" if rest is None else _llm_output(rest)) + "<display>{oops</display>")
        return _result(raw), Answered(call=call, outcome="ok", text=rest, bad_display=True)
    if act.kind == "flagged" and xmcp:
        answered = Answered(call=call, outcome="error", text=text)
        return _result(_document(tool, _llm_output(text)), is_error=True), answered
    if act.kind in ("error", "flagged"):
        data = None if xmcp else act.error_data
        known = xmcp or data is not None
        error = _error(act, text) if known else {"code": "TOOL_ERROR", "message": text, "retryable": False}
        raw = _document(tool, _error_element(error)) if xmcp else text
        answered = Answered(call=call, outcome="error", error=error, structured=data, for_user=act.for_user)
        return _result(raw, structured=data, is_error=True, for_user=act.for_user), answered
    display = _display(act, call) if xmcp else None
    shown = "" if display is None else _display_element(display)
    raw = _document(tool, _llm_output(text) + shown) if xmcp else text
    result = _result(raw, structured=act.structured, for_user=act.for_user)
    answered = Answered(call=call, outcome="ok", text=text, structured=act.structured, display=display)
    return result, replace(answered, for_user=act.for_user)


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
    return {**display, "meta": {"transient": True}} if act.display == "transient" else display


def _document(tool: str, children: str) -> str:
    return f"<tool_response tool_name={quoteattr(tool)}>{children}</tool_response>"


def _llm_output(text: str) -> str:
    return f"<llm_output>{escape(text)}</llm_output>"


def _display_element(display: Mapping[str, Any]) -> str:
    return f"<display>{_inert_json(display)}</display>"


def _error_element(error: Mapping[str, Any]) -> str:
    names = [name for name in ("code", "category", "retry_after_ms") if name in error]
    attributes = "".join(f" {name}={quoteattr(str(error[name]))}" for name in names)
    attributes += ' retryable="true"' if error["retryable"] else ""
    side_effects = error.get("side_effects")
    meta = "" if side_effects is None else f"<meta>{_inert_json({'side_effects': side_effects})}</meta>"
    return f"<error{attributes}>{escape(error['message'])}{meta}</error>"


def _inert_json(value: Any) -> str:
    """Return JSON without characters that XML treats as markup (XMCP-RSP-042)."""
    return compact(value).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _result(text: str, *, structured: Any = None, is_error: bool = False, for_user: str | None = None) -> Json:
    result: Json = {"content": [{"type": "text", "text": text}], "isError": is_error}
    if for_user is not None:
        result["content"].append({"type": "text", "text": for_user, "annotations": {"audience": ["user"]}})
    return result if structured is None else {**result, "structuredContent": structured}
