"""The fast path of the decoder: a success in the form in which encoder.py writes it, read without an XML parser.

Nearly every document was written by an encoder like ours: no comment, no prefix, and CDATA only around a whole text.
Its few tags can be found by searching bytes, and its JSON can be passed to the JSON reader as it is. For a document in
any other form, or with any fault, the result is None, and content.py reads it and reports faults. So this file must not
accept anything that content.py would refuse or read differently: the tests compare the two.
"""

from __future__ import annotations

import re
from typing import Any
from xml.parsers import expat

from xmcp.wire import lexical
from xmcp.wire.display_envelope import read_envelope
from xmcp.wire.jsontext import load_json
from xmcp.wire.limits import DEFAULT_LIMITS, Limits
from xmcp.wire.response import ToolResponse

# An attribute value of ASCII without quotes, markup and control characters needs no unescaping.
_SPELLED = rb"[^\x00-\x1f\x7f-\xff\"&<>]"
_ROOT = re.compile(rb'<tool_response tool_name="(%b{1,128})"(?: call_id="(%b{1,256})")?>' % (_SPELLED, _SPELLED)).match
_OUTPUT = re.compile(rb'<llm_output(?: format="(%b{1,127})")?( truncated="true")?>' % _SPELLED).match
# Characters that XML does not allow, and CR, which a parser changes.
_CONTROLS = bytes([*range(0x09), *range(0x0B, 0x20)])
_CDATA, _CDATA_END = b"<![CDATA[", b"]]>"


def read_canonical(data: bytes, limits: Limits) -> ToolResponse | None:
    """Return the response of a whole document in that form and within the limits, None for any other document."""
    root = _ROOT(data)
    if not root or (limits is not DEFAULT_LIMITS and not _has_room(limits)):
        return None
    name, call_id = root.groups()
    at = root.end()
    text = media_type = truncated = display = None
    try:
        if output := _OUTPUT(data, at):
            written, truncated = output.groups()
            media_type = None if written is None else lexical.media_type(written.decode())
            text, at = _character_data(data, output.end(), b"</llm_output>")
        if data.startswith(b"<display>", at):
            raw, at = _leaf(data, at + len(b"<display>"), b"</display>")
            display = read_envelope(_json(raw, limits.json_depth))
        elif text is None:
            return None
    except ValueError:
        return None
    if data[at:] != b"</tool_response>":
        return None
    return ToolResponse(
        name.decode(),
        text,
        display,
        call_id=None if call_id is None else call_id.decode(),
        format=media_type,
        truncated=truncated is not None,
    )


def _has_room(limits: Limits) -> bool:
    """Tell whether every document in that form keeps the limits on markup."""
    return (
        limits.attribute_bytes >= 256
        and limits.tag_bytes >= 512
        and limits.attributes >= 4
        and limits.elements >= 3
        and limits.depth >= 2
    )


def _leaf(data: bytes, start: int, end_tag: bytes) -> tuple[bytes, int]:
    """Return the bytes from `start` to the next markup, which must be `end_tag`, and the position after it."""
    end = data.find(b"<", start)
    if not data.startswith(end_tag, end):
        raise ValueError
    return data[start:end], end + len(end_tag)


def _character_data(data: bytes, start: int, end_tag: bytes) -> tuple[str, int]:
    """Return the text from `start` to `end_tag`, which is one CDATA section or none, and the position after the tag."""
    if not data.startswith(_CDATA, start):
        raw, at = _leaf(data, start, end_tag)
        return _text(raw), at
    end = data.find(_CDATA_END, start)
    raw, at = data[start + len(_CDATA) : end], end + len(_CDATA_END)
    if not data.startswith(end_tag, at) or not _is_plain(raw):
        raise ValueError
    return _decoded(raw), at + len(end_tag)


def _is_plain(raw: bytes) -> bool:
    return len(raw.translate(None, _CONTROLS)) == len(raw)


def _text(raw: bytes) -> str:
    if b"&" not in raw and b"]]>" not in raw and _is_plain(raw):
        return _decoded(raw)
    # expat knows all references, and is faster than several passes of replacement.
    pieces: list[str] = []
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.CharacterDataHandler = pieces.append
    try:
        parser.Parse(b"<t>" + raw + b"</t>", True)
    except expat.ExpatError:
        raise ValueError from None
    return "".join(pieces)


def _json(raw: bytes, depth: int) -> Any:
    if b"&" in raw or b">" in raw:
        raise ValueError
    if not raw.isascii():
        _decoded(raw)
    return load_json(raw, depth)


def _decoded(raw: bytes) -> str:
    text = raw.decode()
    if not text.isascii() and ("\ufffe" in text or "\uffff" in text):
        raise ValueError
    return text
