"""Twelve more wrong codecs, each with one mistake, and four more that look unusual and are right."""

from __future__ import annotations

import decimal
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import BadDisplay, Illegal, Refused, Response
from xmcp_conformance.wrong.codecs.miniature_codec import Channel, MiniatureCodec, Part
from xmcp_models.registry import ERROR_CODES

_DEPTH = 64
_LARGEST = 8 * 1024 * 1024
_EXACT = 2**53 - 1  # JSON is given no larger integer as a number
_ENDS_OF_PLANES = {plane << 16 | low: low for plane in range(1, 17) for low in (0xFFFE, 0xFFFF)}


# Encode


class FirstOfEachReplaced(MiniatureCodec):
    """Replaces only the first tab, line feed and carriage return of an attribute value, and leaves further ones raw."""

    def _attribute(self, value: str) -> str:
        written = super()._attribute(value)
        for reference, raw in (("&#9;", "\t"), ("&#10;", "\n"), ("&#13;", "\r")):
            before, found, behind = written.partition(reference)
            written = before + found + behind.replace(reference, raw)
        return written


class AstralNoncharacters(MiniatureCodec):
    """Treats U+1FFFE, U+1FFFF and so on up to U+10FFFF in the text for the model as if XML did not allow them."""

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        text = response.get("llm_output")
        if isinstance(text, str) and not text.isascii():
            changed: Any = {**response, "llm_output": text.translate(_ENDS_OF_PLANES)}
            return super().encode(changed, illegal=illegal)
        return super().encode(response, illegal=illegal)


class CdataByLowerCase(MiniatureCodec):
    """Writes text with much markup as CDATA, and looks only for tags in lower case when it decides whether it may."""

    _MUCH = 3
    _NOT_INSIDE = re.compile(r"\r|\]\]>|<\s*/?\s*(?:tool_response|llm_output|display|error|meta|server_populated)")

    def _text(self, text: str) -> str:
        if text.count("<") + text.count("&") < self._MUCH or self._NOT_INSIDE.search(text):
            return super()._text(text)
        return f"<![CDATA[{text}]]>"


class SurrogateRuns(MiniatureCodec):
    """Writes one U+FFFD for a whole run of unpaired surrogates in a string value of JSON."""

    def _json(self, value: Any, channel: Channel) -> str:
        def one_each(item: Any) -> Any:
            return re.sub("[\ud800-\udfff]+", "\ud800", item) if isinstance(item, str) else item

        return super()._json(_each(value, one_each), channel)


class DecimalsInContext(MiniatureCodec):
    """Sends decimal numbers through Python's default context, which rounds those of more than 28 digits."""

    _CONTEXT = decimal.Context(prec=28)

    def _json(self, value: Any, channel: Channel) -> str:
        def rounded(item: Any) -> Any:
            if isinstance(item, decimal.Decimal) and item.is_finite() and len(item.as_tuple().digits) > 28:
                return self._CONTEXT.plus(item)
            return item

        return super()._json(_each(value, rounded), channel)


class DoublesInDigits(MiniatureCodec):
    """Writes whole doubles from 2^53 on without fraction and exponent up to 1e21, as JavaScript prints them."""

    _MARK = "double-in-digits:"

    def _json(self, value: Any, channel: Channel) -> str:
        def marked(item: Any) -> Any:
            if isinstance(item, float) and _EXACT < abs(item) < 1e21:
                return f"{self._MARK}{int(item)}"
            return item

        return re.sub(f'"{self._MARK}(-?[0-9]+)"', r"\1", super()._json(_each(value, marked), channel))


# Decode


class MessageStrippedByPython(MiniatureCodec):
    """Strips a message with `str.strip`, which also takes no-break spaces and all other white space of Unicode."""

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        error["message"] = error["message"].strip()
        return error


class MajorByFirstDigit(MiniatureCodec):
    """Looks whether `version` begins with a 1, and so takes 10.0 or 12.3 for a version that it reads."""

    def _check_version(self, root: etree._Element) -> None:
        version = root.get("version")
        if version is None or not re.fullmatch(r"1[0-9]{1,3}\.(0|[1-9][0-9]{0,3})", version):
            super()._check_version(root)
            return
        root.set("version", "1.0")
        try:
            super()._check_version(root)
        finally:
            root.set("version", version)


class EscapedTwins(MiniatureCodec):
    r"""Compares member names as they are spelled, so `"a"` and `"\u0061"` in one object are two; the last one stays."""

    _MARK = "spelled-as:"

    def _value_of(self, text: str) -> Any:
        def marked(match: re.Match[str]) -> str:
            if match[2] is None or "\\" not in match[1]:
                return match[0]
            spelled = match[1][1:-1].encode("utf-8", "surrogatepass").hex()
            return f'"{self._MARK}{spelled}:{match[1][1:]}{match[2]}'

        if "\\" in text:
            text = re.sub(r'("(?:[^"\\]|\\.)*"?)([ \t\r\n]*:)?', marked, text, flags=re.DOTALL)
        return super()._value_of(text)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = super()._object(pairs)
        return {re.sub(f"^{self._MARK}[0-9a-f]+:", "", name): value for name, value in members.items()}


class ParsesBeforeItCounts(MiniatureCodec):
    """Parses JSON first and counts its depth afterwards, so what is too deep and broken behind that is `BAD_JSON`."""

    def _value_of(self, text: str) -> Any:
        try:
            json.loads(text, parse_int=float, parse_constant=_no_constant)
        except RecursionError:
            raise Refused("LIMIT") from None
        except ValueError as fault:
            raise Refused("BAD_JSON", str(fault)) from None
        return super()._value_of(text)


class FirstOfGroupChecked(MiniatureCodec):
    """Checks only the first of the displays in a group against the schema of envelopes."""

    _MOST = 32

    def _response(self, root: etree._Element, bad_display: BadDisplay) -> tuple[Response, int]:
        whole = self._group_of(root)
        if whole is None:
            return super()._response(root, bad_display)
        [element] = root.findall("display")
        text = element.text
        element.text = json.dumps(_each(whole | {"payload": whole["payload"][:1]}, _bounded))
        try:
            response, warnings = super()._response(root, bad_display)
        finally:
            element.text = text
        if response.get("display") is not None:
            taken: Any = {**response, "display": whole}
            response = taken
        return response, warnings

    def _group_of(self, root: etree._Element) -> dict[str, Any] | None:
        """Return the display of the root where it is a group of more than one display."""
        elements = root.findall("display")
        if len(elements) != 1 or len(elements[0]):
            return None
        try:
            value = self._value_of(elements[0].text or "")
        except Refused:
            return None
        if not isinstance(value, dict) or value.get("type") != "group":
            return None
        payload = value.get("payload")
        return value if isinstance(payload, list) and 1 < len(payload) <= self._MOST else None


# Stream


class ThreeBytesHeld(MiniatureCodec):
    """Decodes each piece and keeps back characters cut after one or two bytes, but not those cut after three."""

    _REPLACEMENT = "\ufffd".encode()
    _UNFINISHED = re.compile(rb"[\xf0-\xf4]\Z|(?:\xf0[\x90-\xbf]|[\xf1-\xf3][\x80-\xbf]|\xf4[\x80-\x8f])[\x80-\xbf]?\Z")

    def decode_pieces(
        self, arriving: Iterable[str | bytes], *, bad_display: BadDisplay = "raise"
    ) -> tuple[Response, int]:
        return super().decode_pieces(self._decoded(arriving), bad_display=bad_display)

    def _decoded(self, arriving: Iterable[str | bytes]) -> Iterator[str | bytes]:
        held = b""
        for piece in arriving:
            if isinstance(piece, str):
                yield held
                yield piece
                held = b""
            elif len(held) == 3 and b"\x80" <= piece[:1] <= b"\xbf":
                # The last byte of a character whose first three are gone: neither part is a character.
                held, end = b"", self._cut(piece)
                yield self._REPLACEMENT * 2 + piece[1:end]
                held = piece[max(end, 1) :]
            else:
                piece = held + piece
                end = self._cut(piece)
                yield piece[:end]
                held = piece[end:]
        yield held

    def _cut(self, piece: bytes) -> int:
        """Return where a character of four bytes begins that is not there to its end, or else the piece's own end."""
        cut = self._UNFINISHED.search(piece, max(0, len(piece) - 3))
        return cut.start() if cut else len(piece)


# Odd, and right


class OddJson(MiniatureCodec):
    r"""Right: JSON with each character as `\uXXXX`, members last to first, doubles with exponents, and wide spaces."""

    _LONG = 100_000

    def _json(self, value: Any, channel: Channel) -> str:
        text = super()._json(value, channel)
        return text if len(text) > self._LONG else f"\n{self._spelled(json.loads(text))}\t"

    def _spelled(self, value: Any) -> str:
        if isinstance(value, str):
            units = value.encode("utf-16-be").hex()
            return '"' + re.sub("....", lambda match: f"\\u{match[0]}", units) + '"'
        if isinstance(value, float):
            return f"{value:.16e}"
        if isinstance(value, list):
            return "[ " + " ,\n".join(map(self._spelled, value)) + " ]"
        if isinstance(value, dict):
            members = (f"{self._spelled(name)}\t: {self._spelled(item)}" for name, item in reversed(value.items()))
            return "{\n" + "\n, ".join(members) + " }"
        return json.dumps(value)


class OddLexical(MiniatureCodec):
    """Right: every default written out, booleans as 1 and 0 where they may be, numbers such as ` +0002000 `."""

    def _error(self, error: Mapping[str, Any], illegal: Illegal) -> Part:
        part = super()._error(error, illegal)
        code = part.attributes["code"]
        row = next(
            (row for name, row in ERROR_CODES.items() if code == name or code in (row.get("aliases") or ())), None
        )
        part.attributes.setdefault("category", row["category"] if row else "internal")
        return part

    def _write(self, part: Part) -> str:
        attributes = part.attributes
        if part.name == "tool_response":
            attributes.setdefault("version", "1.0")
        if part.name == "llm_output":
            attributes.setdefault("truncated", "false")
        if part.name == "error":
            attributes["retryable"] = {"true": " 1", "false": "0 "}[attributes["retryable"]]
            if "retry_after_ms" in attributes:
                attributes["retry_after_ms"] = f" +000{attributes['retry_after_ms']} "
        attributes.setdefault("lossy", "0")
        return super()._write(part)


class OddDoubles(MiniatureCodec):
    """Right: knows doubles only, so 1.0 is 1, and the whole double 2^53 is an integer that it writes as a string."""

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        changed: Any = dict(response)
        for name in ("display", "server_populated"):
            if changed.get(name) is not None:
                changed[name] = _each(changed[name], self._written)
        return super().encode(changed, illegal=illegal)

    def _response(self, root: etree._Element, bad_display: BadDisplay) -> tuple[Response, int]:
        response, warnings = super()._response(root, bad_display)
        changed: Any = dict(response)
        for name in ("display", "server_populated"):
            if changed.get(name) is not None:
                changed[name] = _each(changed[name], self._read)
        return changed, warnings

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        return error | ({"meta": _each(error["meta"], self._read)} if error.get("meta") is not None else {})

    def _written(self, item: Any) -> Any:
        return int(item) if isinstance(item, float) and item.is_integer() and str(item) != "-0.0" else item

    def _read(self, item: Any) -> Any:
        if isinstance(item, bool) or not isinstance(item, int | float) or item == 0:
            return item
        try:
            double = float(item)
        except OverflowError:
            return math.inf if item > 0 else -math.inf
        return int(double) if double.is_integer() and abs(double) <= _EXACT else double


class OddTextFile(MiniatureCodec):
    """Right: a line feed before and after the root, a text halved until it fits, and pieces read when all are there."""

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        document = self._file(response, illegal)
        text = response.get("llm_output")
        while isinstance(text, str) and text and len(document.encode()) > _LARGEST:
            text = text[: len(text) // 2]
            cut: Any = {**response, "llm_output": text, "truncated": True}
            document = self._file(cut, illegal)
        return document

    def _file(self, response: Response, illegal: Illegal) -> str:
        return f"\n{super().encode(response, illegal=illegal)}\n"

    def _write(self, part: Part) -> str:
        return re.sub(r"\A(<[a-z_]+(?: [a-z_]+=\"[^\"<>]*\")*)></[a-z_]+>\Z", r"\1 />", super()._write(part))

    def decode_pieces(
        self, arriving: Iterable[str | bytes], *, bad_display: BadDisplay = "raise"
    ) -> tuple[Response, int]:
        pieces, size = [], 0
        for piece in arriving:
            pieces.append(piece)
            size += len(piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece)
            if size > _LARGEST:
                raise Refused("LIMIT")
        texts = [piece for piece in pieces if isinstance(piece, str)]
        if len(texts) == len(pieces):
            pieces = ["".join(texts)]
        return super().decode_pieces(pieces, bad_display=bad_display)


def _no_constant(literal: str) -> Any:
    raise ValueError(f"JSON has no {literal}")


def _bounded(item: Any) -> Any:
    """Return a number that any JSON can hold, and everything else as it is."""
    if isinstance(item, int | float) and not isinstance(item, bool) and not -1e300 < item < 1e300:
        return 1e300 if item > 0 else -1e300
    return item


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


EXPECTED: dict[str, tuple[str, ...]] = {
    "FirstOfEachReplaced": ("XMCP-RSP-028", "XMCP-RSP-007"),
    "AstralNoncharacters": ("XMCP-RSP-020", "XMCP-RSP-026"),
    "CdataByLowerCase": ("XMCP-RSP-027",),
    "SurrogateRuns": ("XMCP-RSP-053",),
    "DecimalsInContext": ("XMCP-RSP-046",),
    "DoublesInDigits": ("XMCP-RSP-043",),
    "MessageStrippedByPython": ("XMCP-ERR-014", "XMCP-RSP-067"),
    "MajorByFirstDigit": ("XMCP-RSP-064", "XMCP-RSP-075"),
    "EscapedTwins": ("XMCP-RSP-069",),
    "ParsesBeforeItCounts": ("XMCP-RSP-077", "XMCP-RSP-068"),
    "FirstOfGroupChecked": ("XMCP-DSP-008",),
    "ThreeBytesHeld": ("XMCP-RSP-071", "XMCP-RSP-067"),
    "OddJson": (),
    "OddLexical": (),
    "OddDoubles": (),
    "OddTextFile": (),
}
CODECS: dict[str, type[MiniatureCodec]] = {name: globals()[name] for name in EXPECTED}
