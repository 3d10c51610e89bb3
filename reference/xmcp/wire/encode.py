"""A tool response as its document: the one writer. decode.py is its mirror."""

from __future__ import annotations

from typing import Any

from xmcp.wire import lexical
from xmcp.wire.emission import check_error, check_server_populated, display_faults
from xmcp.wire.envelope import DisplayEnvelope
from xmcp.wire.jsontext import dump
from xmcp.wire.response import ErrorInfo, ToolResponse
from xmcp.wire.xmltext import Illegal, escape, escape_attribute, legal

_LOSSY = ' lossy="true"'


def encode(response: ToolResponse, *, illegal: Illegal = "replace", check: bool = True) -> str:
    """The response as a document of wire version 1 (spec chapter 2): no XML declaration, one line of markup.

    Every string comes back exactly from any conforming reader. What XML 1.0 cannot carry (in JSON: only lone
    surrogates) becomes U+FFFD and the element says `lossy="true"`; with `illegal="error"` it is a ValueError
    that names the place. With `check=False` a response that a reader accepted is written again although it has
    what a reader takes and an emitter does not write: see Raises.

    Raises ValueError for `llm_output` beside `error`, for a response with neither these nor a display, for a
    name, id, version or format that the schema does not allow and, naming the sentence, for what chapters 2 to
    4 forbid an emitter (emission.py); TypeError, with a path, for a value that has no JSON form.
    """
    if response.llm_output is not None and response.error is not None:
        raise ValueError("a response has llm_output or an error, not both")
    parts = [_start_tag(response, illegal)]
    if response.llm_output is not None:
        parts.append(_llm_output(response, response.llm_output, illegal))
    elif response.error is not None:
        parts.append(_error(response.error, illegal, check))
    elif response.display is None:
        raise ValueError("a response needs llm_output, a display or an error")
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
    # A response that came in lossy stays so; which of its elements it was is no longer known.
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
    return f"<llm_output{attributes}>{escape(text)}</llm_output>"


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
    text, lossy = dump(value, element, illegal)
    return f"<{element}{_LOSSY if lossy else ''}>{text}</{element}>"
