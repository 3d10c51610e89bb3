"""Twelve wrong codecs, each with one mistake, and four that look unusual and are right."""

from __future__ import annotations

import base64
import datetime
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import BadDisplay, Illegal, Refused, Response
from xmcp_conformance.wrong.codecs.miniature_codec import Channel, Guard, MiniatureCodec, Part
from xmcp_models.registry import ERROR_CODES

_HALF = re.compile("[\ud800-\udfff]")
_JSON_STRING = re.compile(r'("(?:[^"\\]|\\.)*")(:?)')
_DEPTH = 64


# Encode


class BlockwiseEscapes(MiniatureCodec):
    """Escapes text in blocks of 8,192 characters, and so misses a `]]>` that lies across the end of a block."""

    def _text(self, text: str) -> str:
        blocks = (text[start : start + 8192] for start in range(0, len(text), 8192))
        return "".join(self._block(block) for block in blocks)

    def _block(self, block: str) -> str:
        block = block.replace("&", "&amp;").replace("<", "&lt;").replace("\r", "&#13;")
        return block.replace("]]>", "]]&gt;")


class NamesLeftToXml(MiniatureCodec):
    """Writes `<`, `>` and `&` as `\\u003c` and so on in the string values of JSON, but not in member names."""

    def _json(self, value: Any, channel: Channel) -> str:
        def name_back(match: re.Match[str]) -> str:
            if not match[2]:
                return match[0]
            parts = re.split(r"(\\\\)", match[1])  # an escaped backslash before `u003c` is no escape
            for code, markup in (("003c", "<"), ("003e", ">"), ("0026", "&")):
                parts = [part.replace(f"\\u{code}", markup) for part in parts]
            return "".join(parts) + ":"

        return _JSON_STRING.sub(name_back, super()._json(value, channel))


class BytesInLines(MiniatureCodec):
    """Writes bytes as base64 in lines of 76 characters, as MIME does; up to 57 bytes nobody notices."""

    def _json(self, value: Any, channel: Channel) -> str:
        def in_lines(item: Any) -> Any:
            return base64.encodebytes(item).decode("ascii").rstrip() if isinstance(item, bytes) else item

        return super()._json(_each(value, in_lines), channel)


class OffsetsRoundedDown(MiniatureCodec):
    """Splits an offset with `divmod`, which writes -03:30 as -04:30; right for all that are positive or whole hours."""

    def _json(self, value: Any, channel: Channel) -> str:
        def moment(item: Any) -> Any:
            offset = item.utcoffset() if isinstance(item, datetime.datetime) else None
            if not offset or offset.total_seconds() % 60:
                return item
            hours, minutes = divmod(int(offset.total_seconds()) // 60, 60)
            return f"{item.replace(tzinfo=None).isoformat()}{hours:+03d}:{minutes:02d}"

        return super()._json(_each(value, moment), channel)


class NamesComparedTooEarly(MiniatureCodec):
    """Compares member names before it replaces unpaired surrogates: of those that become equal, the last stays."""

    def _json(self, value: Any, channel: Channel) -> str:
        def merged(item: Any) -> Any:
            if not isinstance(item, Mapping) or len({_written(key) for key in item}) < len(item):
                return item
            kept: dict[Any, tuple[Any, Any]] = {}
            for key, member in item.items():
                name = _HALF.sub("\ufffd", key) if isinstance(key, str) else key
                # The key with the surrogate stays, so that the element is marked as lossy.
                first = kept[name][0] if name in kept else key
                kept[name] = (key if first == name else first, member)
            return dict(kept.values())

        return super()._json(_each(value, merged), channel)


# Decode


class EqualTwins(MiniatureCodec):
    """Refuses a member that is there twice only where the two values differ."""

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, value in pairs:
            if name in members and json.dumps(members[name]) != json.dumps(value):
                raise ValueError("a member twice in one object")
            members[name] = value
        return members


class QuoteEndsString(MiniatureCodec):
    """Counts the depth of JSON as if `\\"` ended a string, so brackets in the text behind it count too."""

    def _value_of(self, text: str) -> Any:
        depth = 0
        for match in re.finditer(r'"[^"]*"?|[\[\]{}]', text):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
            if depth > _DEPTH:
                raise Refused("LIMIT")
        return super()._value_of(text)


class DisplayAnywhere(MiniatureCodec):
    """Looks for `display` at any depth, and takes that of an unknown element where the root has none."""

    def _forget_the_unknown(self, root: etree._Element) -> None:
        found = None
        if root.find("display") is None:
            foreign = (child for child in root.iterchildren("*") if str(child.tag).startswith("{"))
            found = next((inner for child in foreign for inner in child.iter("display")), None)
        if found is not None:
            found.tail = None
        super()._forget_the_unknown(root)
        first = next(root.iterchildren("llm_output", "error"), None)
        if found is not None and first is not None:
            root.insert(root.index(first) + 1, found)


class CategorySaysRetryable(MiniatureCodec):
    """Takes an error without `retryable` for retryable where its code is not registered and its category says so."""

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        known = {name for code, row in ERROR_CODES.items() for name in (code, *(row.get("aliases") or ()))}
        if "retryable" not in element.attrib and error["code"] not in known:
            error["retryable"] = element.get("category") in ("rate_limited", "timeout", "unavailable")
        return error


class GuessedTimeout(MiniatureCodec):
    """Gives the category `timeout` to codes that are not registered and end in `_TIMEOUT`."""

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        code = error["code"]
        if "category" not in element.attrib and code not in ERROR_CODES and code.endswith("_TIMEOUT"):
            error["category"] = "timeout"
        return error


# Stream


class EmptyPieceEnds(MiniatureCodec):
    """Takes an empty piece for the end of the document, as with a socket."""

    def decode_pieces(
        self, arriving: Iterable[str | bytes], *, bad_display: BadDisplay = "raise"
    ) -> tuple[Response, int]:
        return super().decode_pieces(itertools.takewhile(len, arriving), bad_display=bad_display)


class LineEndsPerPiece(MiniatureCodec):
    """Unifies line ends in each piece by itself, so a raw CR LF that is cut in its middle becomes two line feeds."""

    def decode_pieces(
        self, arriving: Iterable[str | bytes], *, bad_display: BadDisplay = "raise"
    ) -> tuple[Response, int]:
        return super().decode_pieces(map(self._unified, arriving), bad_display=bad_display)

    def _unified(self, piece: str | bytes) -> str | bytes:
        if isinstance(piece, bytes):
            return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return piece.replace("\r\n", "\n").replace("\r", "\n")


# Odd, and right


class OddCdata(MiniatureCodec):
    """Right: writes all text and all JSON as CDATA, with what cannot be in it as references in between."""

    _OUTSIDE = re.compile(
        r"(\r|(?<=\]\])>|<(?=/?\s*(?:tool_response|llm_output|display|error|meta|server_populated)))", re.IGNORECASE
    )

    def _text(self, text: str) -> str:
        if len(text) > 100_000:
            return super()._text(text)
        references = {"\r": "&#13;", ">": "&gt;", "<": "&lt;"}
        pieces = self._OUTSIDE.split(text)
        return "".join(
            references[piece] if number % 2 else f"<![CDATA[{piece}]]>" if piece else ""
            for number, piece in enumerate(pieces)
        )


class OddReferences(MiniatureCodec):
    """Right: references for nearly everything, single quotes, attributes backwards, and white space where it may be."""

    _LONG = 100_000

    def _text(self, text: str) -> str:
        if len(text) > self._LONG:
            return super()._text(text)
        return re.sub("[^A-Za-z0-9]", lambda match: self._reference(match[0]), text)

    def _attribute(self, value: str) -> str:
        return re.sub("[^A-Za-z0-9]", lambda match: f"&#x{ord(match[0]):06X};", value)

    def _reference(self, character: str) -> str:
        return "&#13;" if character == "\r" else f"&#x{ord(character):x};"

    def _write(self, part: Part) -> str:
        attributes = "".join(
            # `true` and `false` stay what they are.
            f"\n\t{name} = '{value if value in ('true', 'false') else self._attribute(value)}' "
            for name, value in reversed(part.attributes.items())
        )
        if part.name in ("display", "meta", "server_populated"):
            content = f"\n \t{part.text}\n"
        elif part.name == "error":
            content = f"\n  {self._text(part.text)}\n\t" + "".join(map(self._write, part.parts)) + "\n"
        else:
            content = self._text(part.text) + "".join(f"\n  {self._write(inner)}" for inner in part.parts)
        return f"<{part.name}{attributes}>{content}</{part.name}\n>" if content else f"<{part.name}{attributes}/>"


class OddRefuser(MiniatureCodec):
    """Right: refuses unpaired surrogates in JSON and what is too large, omits defaults, and checks in another order."""

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        document = super().encode(response, illegal=illegal)
        if len(document.encode()) > 8 * 1024 * 1024:
            raise Refused(why="more than 8 MiB")
        return document

    def _json(self, value: Any, channel: Channel) -> str:
        return super()._json(value, Channel("error"))

    def _error(self, error: Mapping[str, Any], illegal: Illegal) -> Part:
        part = super()._error(error, illegal)
        code = part.attributes["code"]
        registered = next(
            (row for name, row in ERROR_CODES.items() if code == name or code in (row.get("aliases") or ())), None
        )
        if registered and part.attributes.get("category") == registered["category"]:
            del part.attributes["category"]
        if part.attributes["retryable"] == "false":
            del part.attributes["retryable"]
        return part

    def _write(self, part: Part) -> str:
        if part.attributes.get("version") == "1.0":
            part.attributes.pop("version")
        return super()._write(part)

    def _check_version(self, root: etree._Element) -> None:
        """Look into JSON first: of several faults it reports another than most, except where `VERSION` is due."""
        super()._check_version(root)
        if root.tag == "tool_response":
            for name in ("server_populated", "error/meta"):
                for element in root.findall(name):
                    if not len(element):
                        self._object_of(element)

    def _response(self, root: etree._Element, bad_display: BadDisplay) -> tuple[Response, int]:
        response, warnings = super()._response(root, bad_display)
        # Nothing but what differs from the defaults.
        short: Any = {name: value for name, value in response.items() if value is not None and value is not False}
        return short, warnings


class _GenerousGuard(Guard):
    """Twice to sixteen times what section 2.6 asks for."""

    def start(self, _tag: str, attributes: Mapping[str, str]) -> None:
        self.depth += 1
        self.elements += 1
        self.attributes += len(attributes)
        if self.depth > 128 or self.elements > 4096 or self.attributes > 4096:
            raise Refused("LIMIT")
        for value in attributes.values():
            self._bound(value)

    def _bound(self, value: str) -> None:
        if len(value.encode()) > 32_768:
            raise Refused("LIMIT")


class OddGenerous(MiniatureCodec):
    """Right: higher limits, an element and attributes of its own namespace, indented JSON, every member explicit."""

    _OWN = (
        ' xmlns:odd="urn:example:odd" odd:build="7"',
        '<odd:trace><odd:step>1 &amp; 2</odd:step><display xmlns="">no envelope</display></odd:trace>\n',
    )

    def _write(self, part: Part) -> str:
        document = super()._write(part)
        if part.name != "tool_response" or len(document) > 1_000_000:
            return document
        attributes, element = self._OWN
        end = "</tool_response>"
        start = f"<{part.name}"
        return start + attributes + document.removeprefix(start).removesuffix(end) + element + end

    def _json(self, value: Any, channel: Channel) -> str:
        text = super()._json(value, channel)
        if len(text) > 100_000:
            return text
        return "\n" + json.dumps(json.loads(text), indent=1).translate({60: "\\u003c", 62: "\\u003e", 38: "\\u0026"})

    def _guard(self) -> Guard:
        return _GenerousGuard()

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        def bounded() -> Iterator[bytes]:
            for chunk in chunks:
                held.extend(chunk)
                if len(held) > 9 * 1024 * 1024:
                    raise Refused("LIMIT")
                yield chunk

        guard, held = self._parser(target=self._guard()), bytearray()
        try:
            for chunk in bounded():
                guard.feed(chunk)
            guard.close()
            return etree.fromstring(bytes(held), self._parser(remove_comments=True, remove_pis=True))
        except etree.XMLSyntaxError as fault:
            raise Refused("NOT_WELL_FORMED", str(fault)) from None

    def _value_of(self, text: str) -> Any:
        depth = 0
        for match in re.finditer(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', text, re.DOTALL):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
            if depth > 200:
                raise Refused("LIMIT")
        try:
            value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=self._object)
        except ValueError as fault:
            raise Refused("BAD_JSON", str(fault)) from None
        if _HALF.search(json.dumps(value, ensure_ascii=False)):
            raise Refused("BAD_JSON", "half a surrogate pair")
        return value

    def _response(self, root: etree._Element, bad_display: BadDisplay) -> tuple[Response, int]:
        response, warnings = super()._response(root, bad_display)
        everything: Any = dict.fromkeys(("call_id", "llm_output", "format", "error", "display", "server_populated"))
        everything |= {"version": "1.0", "truncated": False} | response
        return everything, warnings


def _no_constant(literal: str) -> Any:
    raise ValueError(f"JSON has no {literal}")


def _each(value: Any, change: Callable[[Any], Any], depth: int = 0) -> Any:
    """Return the value with everything in it changed, down to a depth that the codec refuses anyway."""
    if depth > _DEPTH + 1:
        return value
    value = change(value)
    if isinstance(value, Mapping):
        return {key: _each(item, change, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_each(item, change, depth + 1) for item in value]
    return value


def _written(key: Any) -> Any:
    """Return a member name as it would be written, were it not for surrogates."""
    return str(key) if isinstance(key, int) and not isinstance(key, bool) else key


EXPECTED: dict[str, list[str]] = {
    "BlockwiseEscapes": ["XMCP-RSP-023"],
    "NamesLeftToXml": ["XMCP-RSP-042"],
    "BytesInLines": ["XMCP-RSP-047"],
    "OffsetsRoundedDown": ["XMCP-RSP-048"],
    "NamesComparedTooEarly": ["XMCP-RSP-052"],
    "EqualTwins": ["XMCP-RSP-069"],
    "QuoteEndsString": ["XMCP-RSP-080"],
    "DisplayAnywhere": ["XMCP-RSP-066"],
    "CategorySaysRetryable": ["XMCP-ERR-015"],
    "GuessedTimeout": ["XMCP-ERR-013"],
    "EmptyPieceEnds": ["XMCP-RSP-071"],
    "LineEndsPerPiece": ["XMCP-RSP-071"],
    "OddCdata": [],
    "OddReferences": [],
    "OddRefuser": [],
    "OddGenerous": [],
}
CODECS: dict[str, type[MiniatureCodec]] = {name: globals()[name] for name in EXPECTED}
