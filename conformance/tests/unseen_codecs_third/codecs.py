"""Eleven further wrong codecs, each with one mistake, and four further that look unusual and are right.

A twelfth allowed what a chart cannot contain (XMCP-DSP-014), which no codec has to know: it is not here any more.
`CODECS` has them by name, `EXPECTED` the ids of the broken sentence and of those that a fair judge might name instead;
a codec that is right has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import BadDisplay, Illegal, Response
from xmcp_conformance.wrong.codecs.miniature_codec import Channel, MiniatureCodec
from xmcp_models.registry import ERROR_CODES

Document = str | bytes

_LONE = re.compile("[\ud800-\udfff]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_LOSSY_TAG = re.compile(r'<(?:tool_response|llm_output|display|error|meta|server_populated)\b[^>]* lossy="true"[^>]*>')
_IN_CHARTS = ("url", "href", "params", "transform", "expr", "signal", "usermeta", "config")
_ALIASES = frozenset(alias for row in ERROR_CODES.values() for alias in row.get("aliases", ()))


def _copied(value: Any, change: Callable[[Any], Any], names: Callable[[dict[Any, Any]], dict[Any, Any]]) -> Any:
    """Return a copy of a JSON value with changed leaves, and with the names of its objects as `names` has them."""
    if isinstance(value, dict):
        return {name: _copied(member, change, names) for name, member in names(value).items()}
    if isinstance(value, list):
        return [_copied(item, change, names) for item in value]
    return change(value)


def _same(value: Any) -> Any:
    return value


def _bytes_of(document: Document) -> bytes:
    return document.encode("utf-8", "surrogatepass") if isinstance(document, str) else document


def _joined(pieces: Sequence[Document]) -> bytes:
    return b"".join(map(_bytes_of, pieces))


# Encode


class OneMoreBelowZero(MiniatureCodec):
    """Takes -2^53 for an integer that JSON has, because integers of a computer reach one further below zero."""

    _MARK = "one-more-below-zero"

    def _json(self, value: Any, channel: Channel) -> str:
        def marked(item: Any) -> Any:
            return self._MARK if type(item) is int and item == -(2**53) else item

        return super()._json(_copied(value, marked, _same), channel).replace(f'"{self._MARK}"', str(-(2**53)))


class MarkedAlready(MiniatureCodec):
    """Leaves the root without `lossy` for values from a lossy document, where an element of it is marked anyway."""

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        if response.get("lossy") is True:
            unmarked: Any = {**response, "lossy": False}
            written = super().encode(unmarked, illegal=illegal)
            if _LOSSY_TAG.search(written):
                return written
        return super().encode(response, illegal=illegal)


class NamesAsReferences(MiniatureCodec):
    """Writes `<`, `>` and `&` in the names of members as references of XML, and only in values as JSON escapes."""

    def _json(self, value: Any, channel: Channel) -> str:
        text = super()._json(value, channel)

        def reference(escape: re.Match[str]) -> str:
            return escape[1] + {"26": "&amp;", "3c": "&lt;", "3e": "&gt;"}[escape[2].lower()]

        def written(string: re.Match[str]) -> str:
            if not text[string.end() :].lstrip(" \t\r\n").startswith(":"):
                return string[0]
            return re.sub(r"(?i)(?<!\\)((?:\\\\)*)\\u00(26|3c|3e)", reference, string[0])

        return _STRING.sub(written, text)


class ZeroIsNoWait(MiniatureCodec):
    """Writes `retry_after_ms="0"` on an error that is not retryable: its check takes 0 for no value."""

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        given: Any = response
        error = given.get("error")
        if isinstance(error, dict) and error.get("retry_after_ms") == 0 and error.get("retryable") is False:
            without = {name: value for name, value in error.items() if name != "retry_after_ms"}
            written = super().encode({**given, "error": without}, illegal=illegal)
            return written.replace("<error ", '<error retry_after_ms="0" ', 1)
        return super().encode(response, illegal=illegal)


class NamesMeetAfterTheCheck(MiniatureCodec):
    """Compares the names of an object before it replaces surrogates, so that two names can become the same U+FFFD."""

    _MARK = "name-after-the-check-{}:"

    def _json(self, value: Any, channel: Channel) -> str:
        hidden: dict[str, str] = {}

        def apart(members: dict[Any, Any]) -> dict[Any, Any]:
            seen: set[Any] = set()
            made: dict[Any, Any] = {}
            for name, member in members.items():
                written = _LONE.sub("\ufffd", name) if isinstance(name, str) else name
                if written in seen and written != name:
                    mark = self._MARK.format(len(hidden))
                    hidden[mark] = written
                    name = mark
                seen.add(written)
                made[name] = member
            return made

        text = super()._json(_copied(value, _same, apart), channel)
        for mark, written in hidden.items():
            text = text.replace(f'"{mark}"', json.dumps(written, ensure_ascii=False))
        return text


# Decode


class EncodingByPython(MiniatureCodec):
    """Takes each name that Python has for UTF-8 in an XML declaration, such as `utf8` and `U8`, for UTF-8."""

    _DECLARED = re.compile(rb"""(?i)^(\xef\xbb\xbf)?(<\?xml[^>]{1,60}encoding\s*=\s*["'])(?:utf8|utf_8|u8)(["'])""")

    def decode(self, document: Document, *, bad_display: BadDisplay = "raise") -> Any:
        return super().decode(self._renamed(document), bad_display=bad_display)

    def decode_pieces(self, pieces: Any, *, bad_display: BadDisplay = "raise") -> Any:
        given = list(pieces)
        whole = _joined(given)
        renamed = self._renamed(whole)
        return super().decode_pieces(given if renamed == whole else [renamed], bad_display=bad_display)

    def _renamed(self, document: Document) -> Document:
        if isinstance(document, str):
            try:
                return self._DECLARED.sub(rb"\1\2UTF-8\3", document.encode()).decode()
            except UnicodeEncodeError:
                return document
        return self._DECLARED.sub(rb"\1\2UTF-8\3", document)


class MessageUpToTheComment(MiniatureCodec):
    """Takes for the message the text before the first node within `error`, so that a comment in it cuts it off."""

    def decode(self, document: Document, *, bad_display: BadDisplay = "raise") -> Any:
        return self._cut(super().decode(document, bad_display=bad_display), document)

    def decode_pieces(self, pieces: Any, *, bad_display: BadDisplay = "raise") -> Any:
        given = list(pieces)
        return self._cut(super().decode_pieces(given, bad_display=bad_display), _joined(given))

    def _cut(self, read: Any, document: Document) -> Any:
        response, warnings = read
        error = response.get("error")
        if error is None:
            return read
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
        element = etree.fromstring(_bytes_of(document), parser).find("error")
        if element is None:
            return read
        message = (element.text or "").strip(" \t\r\n")
        return {**response, "error": {**error, "message": message}}, warnings


class LineEndsOfEachPiece(MiniatureCodec):
    """Normalises line ends in each piece by itself, so that CR LF becomes two line feeds where a piece ends between."""

    def decode_pieces(self, pieces: Any, *, bad_display: BadDisplay = "raise") -> Any:
        return super().decode_pieces([self._normalised(piece) for piece in pieces], bad_display=bad_display)

    def _normalised(self, piece: Document) -> Document:
        if isinstance(piece, str):
            return piece.replace("\r\n", "\n").replace("\r", "\n")
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class NamesAsTheyAreWritten(MiniatureCodec):
    r"""Compares the names of an object as they are written: `"a"` and `"\u0061"` are two, and the last one counts."""

    _PART = re.compile(r"(<(display|meta|server_populated)\b[^<>]*>)([^<>&]*)(</\2\s*>)")
    _MARK = " (as written)"

    def decode(self, document: Document, *, bad_display: BadDisplay = "raise") -> Any:
        return super().decode(self._merged(document), bad_display=bad_display)

    def decode_pieces(self, pieces: Any, *, bad_display: BadDisplay = "raise") -> Any:
        given = list(pieces)
        whole = _joined(given)
        merged = self._merged(whole)
        return super().decode_pieces(given if merged == whole else [merged], bad_display=bad_display)

    def _merged(self, document: Document) -> Document:
        try:
            text = document if isinstance(document, str) else document.decode()
        except UnicodeDecodeError:
            return document
        merged = self._PART.sub(lambda part: part[1] + self._without_earlier(part[3]) + part[4], text)
        if merged == text:
            return document
        return merged if isinstance(document, str) else merged.encode()

    def _without_earlier(self, written: str) -> str:
        """Return the JSON without earlier members of a name that is written in two ways; as it is without any."""
        found = False

        def marked(string: re.Match[str]) -> str:
            is_name = written[string.end() :].lstrip(" \t\r\n").startswith(":")
            return f'{string[0][:-1]}{self._MARK}"' if is_name and "\\" in string[0] else string[0]

        def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            nonlocal found
            if len({name for name, _ in pairs}) < len(pairs):
                raise ValueError("a name twice")
            made: dict[str, Any] = {}
            for name, value in pairs:
                read = name.removesuffix(self._MARK)
                found = found or read in made
                made[read] = value
            return made

        if "\\" not in written:
            return written
        try:
            value = json.loads(_STRING.sub(marked, written), object_pairs_hook=members)
        except (ValueError, RecursionError):
            return written
        if not found:
            return written
        text = json.dumps(value)
        return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


class NullIsAbsentInMeta(MiniatureCodec):
    """Leaves out the members of `meta` that are `null`, also those of a vendor that it does not know."""

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        meta = error.get("meta")
        if isinstance(meta, dict):
            error["meta"] = {name: value for name, value in meta.items() if value is not None}
        return error


class AliasesAreUnknown(MiniatureCodec):
    """Looks for the category of an error by its code alone, so that an alias without `category` is `internal`."""

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        if element.get("category") is None and error["code"] in _ALIASES:
            error["category"] = "internal"
        return error


# Odd and right


class EverythingAsReferences(MiniatureCodec):
    """Writes each character beyond ASCII of a text as a reference, and in JSON as `\\u` escapes (2.3, 2.4)."""

    def _text(self, text: str) -> str:
        written = super()._text(text)
        if written.startswith("<![CDATA["):
            return written
        return re.sub("[^\x00-\x7f]", lambda character: f"&#x{ord(character[0]):X};", written)

    def _json(self, value: Any, channel: Channel) -> str:
        def escaped(character: re.Match[str]) -> str:
            return json.dumps(character[0])[1:-1]

        return re.sub("[^\x00-\x7f]", escaped, super()._json(value, channel))


class SaysTheDefaults(MiniatureCodec):
    """Writes `version="1.0"` where the version is the first, and `lossy="false"` on a root that is not lossy."""

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        written = super().encode(response, illegal=illegal)
        end = re.match(r"""<tool_response(?:\s+[\w:]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*""", written)
        if end is None:
            return written
        tag = end[0].rstrip()
        more = "" if re.search(r"\sversion\s*=", tag) else ' version="1.0"'
        more += "" if re.search(r"\slossy\s*=", tag) else ' lossy="false"'
        return tag + more + written[end.end() :]


class SignsItsDocuments(MiniatureCodec):
    """Adds an element and an attribute in a namespace of its own, which readers ignore (XMCP-RSP-012)."""

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        written = super().encode(response, illegal=illegal)
        signed = written.replace("<tool_response ", '<tool_response xmlns:s="urn:acme:signed" s:by="acme" ', 1)
        end = signed.rindex("</tool_response>")
        return f'{signed[:end]}<s:signature><s:value lossy="true">4711</s:value></s:signature>{signed[end:]}'


class AiryJson(MiniatureCodec):
    """Writes JSON with white space between its tokens and around it, and reads pieces when all of them are there."""

    def _json(self, value: Any, channel: Channel) -> str:
        compact = super()._json(value, channel)
        parts: list[str] = []
        end = 0
        for string in _STRING.finditer(compact):
            parts += [self._airy(compact[end : string.start()]), string[0]]
            end = string.end()
        return "\n" + "".join([*parts, self._airy(compact[end:])]) + "\n"

    def decode_pieces(self, pieces: Any, *, bad_display: BadDisplay = "raise") -> Any:
        given = list(pieces)
        whole = "".join(given) if all(isinstance(piece, str) for piece in given) else _joined(given)
        return super().decode_pieces([whole], bad_display=bad_display)

    def _airy(self, between: str) -> str:
        return re.sub(r"\s*([,:\[\]{}])\s*", r" \1\n\t", between)


_WRONG: tuple[tuple[str, type[MiniatureCodec], tuple[str, ...]], ...] = (
    ("one-more-below-zero", OneMoreBelowZero, ("XMCP-RSP-043",)),
    ("marked-already", MarkedAlready, ("XMCP-RSP-029",)),
    ("names-as-references", NamesAsReferences, ("XMCP-RSP-042",)),
    ("zero-is-no-wait", ZeroIsNoWait, ("XMCP-ERR-005",)),
    ("names-meet-after-the-check", NamesMeetAfterTheCheck, ("XMCP-RSP-052", "XMCP-RSP-041")),
    ("encoding-by-python", EncodingByPython, ("XMCP-RSP-062",)),
    ("message-up-to-the-comment", MessageUpToTheComment, ("XMCP-RSP-067", "XMCP-ERR-014")),
    ("line-ends-of-each-piece", LineEndsOfEachPiece, ("XMCP-RSP-071",)),
    ("names-as-they-are-written", NamesAsTheyAreWritten, ("XMCP-RSP-069", "XMCP-RSP-041")),
    ("null-is-absent-in-meta", NullIsAbsentInMeta, ("XMCP-RSP-086",)),
    ("aliases-are-unknown", AliasesAreUnknown, ("XMCP-ERR-013",)),
)
_ODD: tuple[tuple[str, type[MiniatureCodec]], ...] = (
    ("everything-as-references", EverythingAsReferences),
    ("says-the-defaults", SaysTheDefaults),
    ("signs-its-documents", SignsItsDocuments),
    ("airy-json", AiryJson),
)

CODECS: dict[str, type[MiniatureCodec]] = {name: codec for name, codec, _ in _WRONG} | dict(_ODD)
EXPECTED: dict[str, tuple[str, ...]] = {name: ids for name, _, ids in _WRONG} | {name: () for name, _ in _ODD}
