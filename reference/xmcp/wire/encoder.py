"""The encoder: a tool response as its document. decoder.py is its counterpart."""

from __future__ import annotations

from typing import Any

from xmcp.wire import lexical
from xmcp.wire.display_envelope import DisplayEnvelope
from xmcp.wire.emitter_rules import check_error, check_server_populated, display_faults
from xmcp.wire.jsontext import dump_json
from xmcp.wire.response import ErrorInfo, ToolResponse
from xmcp.wire.xmltext import Illegal, character_data, escape, escape_attribute, legal

_LOSSY = ' lossy="true"'


def encode(response: ToolResponse, *, illegal: Illegal = "replace", check: bool = True) -> str:
    """Return the response as a document of wire version 1 (spec chapter 2), without an XML declaration, on one line.

    Any conforming reader returns every string exactly. A character that XML 1.0 cannot carry (in JSON: only a lone
    surrogate) becomes U+FFFD and the element gets `lossy="true"`; with `illegal="error"` it is a ValueError that
    names the place. With `check=False` the rules for emitters only (emitter_rules.py) are not applied: to write again
    what a reader accepted.

    Raises:
        ValueError: The response has both `llm_output` and `error`, or neither these nor a display; a name, id,
            version or format is not as the schema says; or the response breaks a rule of chapters 2 to 4 for
            emitters, whose id the message names.
        TypeError: A value has no JSON form; the message has the path to it.
    """
    if response.llm_output is not None and response.error is not None:
        raise ValueError("a response must not have both llm_output and an error")
    parts = [_start_tag(response, illegal)]
    if response.llm_output is not None:
        parts.append(_llm_output(response, response.llm_output, illegal))
    elif response.error is not None:
        parts.append(_error(response.error, illegal, check))
    elif response.display is None:
        raise ValueError("a response must have llm_output, a display or an error")
    if response.display is not None:
        parts.append(_display(response.display, illegal, check))
    if response.server_populated is not None:
        if check:
            check_server_populated(response.server_populated)
        parts.append(_json("server_populated", dict(response.server_populated), illegal))
    parts.append("</tool_response>")
    return "".join(parts)


def _start_tag(response: ToolResponse, illegal: Illegal) -> str:
    lexical.check("tool_response", "tool_name", response.tool_name)
    name, lossy = legal(response.tool_name, "tool_name", illegal)
    # A response that was decoded as lossy stays lossy; which of its elements was lossy is not known any more.
    lossy |= response.lossy
    tag = f'<tool_response tool_name="{escape_attribute(name)}"'
    if response.version != "1.0":
        lexical.check("tool_response", "version", response.version)
        if not response.version.startswith("1."):
            raise ValueError(f"version {response.version} cannot be written: this package writes version 1")
        tag += f' version="{str.__str__(response.version)}"'
    if response.call_id is not None:
        lexical.check("tool_response", "call_id", response.call_id)
        call_id, replaced = legal(response.call_id, "call_id", illegal)
        lossy |= replaced
        tag += f' call_id="{escape_attribute(call_id)}"'
    return tag + (_LOSSY + ">" if lossy else ">")


def _llm_output(response: ToolResponse, llm_output: str, illegal: Illegal) -> str:
    if not isinstance(llm_output, str):
        raise TypeError(f"llm_output must be a string, not {type(llm_output).__qualname__}")
    text, lossy = legal(llm_output, "llm_output", illegal)
    attributes = ""
    if response.format is not None:
        lexical.check("llm_output", "format", response.format)
        attributes += f' format="{escape_attribute(response.format)}"'
    if response.truncated:
        attributes += ' truncated="true"'
    if lossy:
        attributes += _LOSSY
    return f"<llm_output{attributes}>{character_data(text)}</llm_output>"


def _error(error: ErrorInfo, illegal: Illegal, check: bool) -> str:
    if check:
        check_error(error)
    message, lossy = legal(error.message, "error message", illegal)
    attributes = f' code="{error.code}" retryable="{"true" if error.retryable else "false"}"'
    if error.retry_after_ms is not None:
        attributes += f' retry_after_ms="{error.retry_after_ms}"'
    attributes += f' category="{error.category}"'
    if lossy:
        attributes += _LOSSY
    meta = "" if error.meta is None else _json("meta", dict(error.meta), illegal)
    return f"<error{attributes}>{escape(message)}{meta}</error>"


def _display(display: DisplayEnvelope, illegal: Illegal, check: bool) -> str:
    envelope = display.to_dict()
    if check and (fault := next(display_faults(envelope), None)):
        raise ValueError(f"display: {fault}")
    return _json("display", envelope, illegal)


def _json(element: str, value: dict[str, Any], illegal: Illegal) -> str:
    text, lossy = dump_json(value, element, illegal)
    return f"<{element}{_LOSSY if lossy else ''}>{text}</{element}>"
