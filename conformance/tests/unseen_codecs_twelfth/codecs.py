"""Twelve further wrong codecs, each with one mistake, and four further that look unusual and are right.

`CODECS` has them by name, `EXPECTED` the ids of the broken sentence and of those that a fair judge might name instead;
a codec that is right has none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import Illegal, Refused
from xmcp_conformance.wrong.codecs.miniature_codec import Channel, MiniatureCodec, Part

_BYTES, _JSON_DEPTH = 8 * 1024 * 1024, 64  # section 2.6


def _changed(value: Any, change: Callable[[Any], Any], depth: int = 1) -> Any:
    """Return a JSON value with `change` made to each value in it, the innermost first."""
    if depth > _JSON_DEPTH:
        return value
    if isinstance(value, Mapping):
        value = {key: _changed(item, change, depth + 1) for key, item in value.items()}
    elif isinstance(value, list | tuple):
        value = [_changed(item, change, depth + 1) for item in value]
    return change(value)


class _Lenient(MiniatureCodec):
    """Checks the JSON of an element as `_as_checked` has it, and writes it as it is."""

    def _as_checked(self, name: str, value: Any) -> Any:
        """Return what the checks see of the JSON of the element `name`."""
        raise NotImplementedError

    def _json_part(self, name: str, value: Any, illegal: Illegal) -> Part:
        super()._json_part(name, self._as_checked(name, value), illegal)
        channel = Channel(illegal)
        text = self._json(value, channel)
        return Part(name, {"lossy": "true"} if channel.lossy else {}, text)


# Wrong when writing


class ChartsWithoutTheirLists(_Lenient):
    """Breaks XMCP-DSP-014: looks for forbidden names in the objects of a chart, and not in its lists, as in `layer`."""

    def _as_checked(self, name: str, value: Any) -> Any:
        return _changed(value, self._chart) if name == "display" else value

    def _chart(self, value: Any) -> Any:
        if isinstance(value, dict) and value.get("type") == "chart" and isinstance(value.get("payload"), dict):
            return value | {
                "payload": _changed(value["payload"], lambda inner: [] if isinstance(inner, list) else inner)
            }
        return value


class AdviceByStr(MiniatureCodec):
    """Breaks XMCP-ERR-003: writes the advice about retries, where it has a time, by `str`: `retryable="True"`."""

    def _write(self, part: Part) -> str:
        if part.name == "error" and "retry_after_ms" in part.attributes:
            part.attributes["retryable"] = str(part.attributes["retryable"] == "true")
        return super()._write(part)


class AnythingIsADisplay(MiniatureCodec):
    """Breaks XMCP-DSP-001: checks a display that is an object, and writes a text or a list as it comes."""

    def _json_part(self, name: str, value: Any, illegal: Illegal) -> Part:
        if name == "display" and not isinstance(value, Mapping):
            channel = Channel(illegal)
            text = self._json(value, channel)
            return Part(name, {"lossy": "true"} if channel.lossy else {}, text)
        return super()._json_part(name, value, illegal)


class SectionsWithEmptyTags(MiniatureCodec):
    """Breaks XMCP-RSP-027: looks for start and end tags before it writes CDATA, and overlooks `<meta/>`."""

    _tag = re.compile(
        r"</?(?:tool_response|llm_output|display|error|meta|server_populated)(?:\s[^>]*)?>", re.IGNORECASE
    )

    def _text(self, text: str) -> str:
        if not re.search("[<&]", text) or "\r" in text or "]]>" in text or self._tag.search(text):
            return super()._text(text)
        return f"<![CDATA[{text}]]>"


class FactsOfAnyKind(_Lenient):
    """Breaks XMCP-DSP-004: takes lists and objects for the values in an object of facts."""

    def _as_checked(self, name: str, value: Any) -> Any:
        return _changed(value, self._facts) if name == "display" else value

    def _facts(self, value: Any) -> Any:
        if isinstance(value, dict) and value.get("type") == "facts" and isinstance(value.get("payload"), dict):
            facts = value["payload"].items()
            return value | {"payload": {key: "" if isinstance(fact, dict | list) else fact for key, fact in facts}}
        return value


class NullIsNotDisclosed(_Lenient):
    """Breaks XMCP-RSP-096: lets a parameter that is redacted be among the values, as `null`."""

    def _as_checked(self, name: str, value: Any) -> Any:
        if name == "server_populated" and isinstance(value, Mapping) and isinstance(value.get("values"), Mapping):
            return dict(value) | {"values": {key: item for key, item in value["values"].items() if item is not None}}
        return value


class FormatsWithParameters(MiniatureCodec):
    """Breaks XMCP-RSP-006: writes a media type with its parameters: `format="text/csv; header=present"`."""

    _parameters = ""

    def encode(self, response: dict[str, Any], *, illegal: Illegal = "replace") -> str:
        """Return the document of a response, with the parameters of its media type."""
        kind, semicolon, parameters = (response.get("format") or "").partition(";")
        self._parameters = ""
        if semicolon and parameters.isascii() and parameters.isprintable():
            self._parameters = semicolon + parameters
            response = response | {"format": kind.rstrip()}
        return super().encode(response, illegal=illegal)

    def _write(self, part: Part) -> str:
        if part.name == "llm_output" and self._parameters:
            part.attributes["format"] += self._parameters
        return super()._write(part)


class ComposedNames(MiniatureCodec):
    """Breaks XMCP-RSP-007: writes the name of a tool in the normal form C of Unicode."""

    def _root(self, response: dict[str, Any], illegal: Illegal) -> Part:
        name = response.get("tool_name")
        if isinstance(name, str):
            response = response | {"tool_name": unicodedata.normalize("NFC", name)}
        return super()._root(response, illegal)


class VersionsOfDigits(MiniatureCodec):
    """Breaks XMCP-RSP-008: takes any four digits for a number of a version, zeros at the beginning included: `1.01`."""

    _version: str | None = None

    def encode(self, response: dict[str, Any], *, illegal: Illegal = "replace") -> str:
        """Return the document of a response, with its version as it was given."""
        self._version = response.get("version")
        numbers = (self._version or "").split(".")
        if len(numbers) == 2 and all(re.fullmatch("[0-9]{1,4}", number) for number in numbers) and int(numbers[0]) == 1:
            response = response | {"version": "1.0"}
        return super().encode(response, illegal=illegal)

    def _write(self, part: Part) -> str:
        if part.name == "tool_response" and self._version:
            part.attributes["version"] = self._version
        return super()._write(part)


class NamespaceOfALaterVersion(MiniatureCodec):
    """Breaks XMCP-RSP-005: puts a document of a later minor version into a namespace of that version."""

    def _write(self, part: Part) -> str:
        version = part.attributes.get("version", "1.0")
        if part.name == "tool_response" and version != "1.0":
            part.attributes["xmlns"] = f"urn:xmcp:tool-response:{version}"
        return super()._write(part)


# Wrong when reading


class LinesOfUnix(MiniatureCodec):
    """Breaks XMCP-RSP-067: makes a line feed of a carriage return and a line feed, those of references included."""

    def _text_of(self, element: etree._Element) -> str:
        return super()._text_of(element).replace("\r\n", "\n")


class DecodedAlready(MiniatureCodec):
    """Breaks XMCP-RSP-062: given characters, it pays no attention to the encoding that their declaration names."""

    _encoding = re.compile(
        r"""(\ufeff?<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"1\.0"|'1\.0'))"""
        r"""[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"([A-Za-z][A-Za-z0-9._-]*)"|'([A-Za-z][A-Za-z0-9._-]*)')"""
    )

    def _bytes(self, arriving: Iterable[str | bytes]) -> Iterator[bytes]:
        pieces = list(arriving)
        if all(isinstance(piece, str) for piece in pieces):
            text = "".join(piece for piece in pieces if isinstance(piece, str))
            declared = self._encoding.match(text)
            if declared and (declared[2] or declared[3]).lower() != "utf-8":
                pieces = [declared[1] + text[declared.end() :]]
        return super()._bytes(pieces)


# Unusual and right


class MarkupByNumber(MiniatureCodec):
    """Right: writes what is neither a letter nor a digit of ASCII by its number, in texts of a moderate size."""

    _longest = 100_000

    def _text(self, text: str) -> str:
        # The JSON of an element comes here too; references are the same to a parser, but it needs none.
        if len(text) > self._longest or text.startswith(("{", "[", '"')):
            return super()._text(text)
        return self._by_number(text)

    def _attribute(self, value: str) -> str:
        return self._by_number(value) if len(value) <= 512 else super()._attribute(value)

    def _by_number(self, text: str) -> str:
        return re.sub("[^A-Za-z0-9 ]", lambda match: f"&#{ord(match[0])};", text)


class ExponentsOnly(MiniatureCodec):
    """Right: writes each double with an exponent and all digits that a double has: 42.5 is `4.2500000000000000e+01`."""

    _token = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?')

    def _json(self, value: Any, channel: Channel) -> str:
        return self._token.sub(self._with_exponent, super()._json(value, channel))

    def _with_exponent(self, token: re.Match[str]) -> str:
        text = token[0]
        return text if text.startswith('"') or not re.search("[.eE]", text) else f"{float(text):.16e}"


class TracedParts(MiniatureCodec):
    """Right: gives each element an attribute in a namespace of its own, and adds an element of it at the end."""

    def _write(self, part: Part) -> str:
        if part.name != "tool_response":
            part.attributes["log:part"] = part.name
            return super()._write(part)
        part.attributes["xmlns:log"] = "https://acme.example/log"
        part.attributes["log:parts"] = str(len(part.parts))
        end = f"</{part.name}>"
        trace = '<log:trace level="debug">written &amp; <log:step/>checked</log:trace>'
        return super()._write(part).removesuffix(end) + trace + end


class FormBeforeSize(MiniatureCodec):
    """Right: where a document is not well-formed and has too much of something, it reports the former.

    What is larger than the limit in bytes it does not parse.
    """

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        held = bytearray()
        kept = self._kept(chunks, held)
        try:
            return super()._tree(kept)
        except Refused as refusal:
            while refusal.error_class == "LIMIT" and len(held) <= _BYTES and next(kept, None) is not None:
                pass
            if refusal.error_class == "LIMIT" and len(held) <= _BYTES:
                try:
                    etree.fromstring(bytes(held), self._parser(huge_tree=True))
                except etree.XMLSyntaxError as fault:
                    raise Refused("NOT_WELL_FORMED", str(fault)) from None
            raise

    def _kept(self, chunks: Iterable[bytes], held: bytearray) -> Iterator[bytes]:
        for chunk in chunks:
            held += chunk
            yield chunk


CODECS: dict[str, type[MiniatureCodec]] = {
    "charts-without-their-lists": ChartsWithoutTheirLists,
    "advice-by-str": AdviceByStr,
    "anything-is-a-display": AnythingIsADisplay,
    "sections-with-empty-tags": SectionsWithEmptyTags,
    "facts-of-any-kind": FactsOfAnyKind,
    "null-is-not-disclosed": NullIsNotDisclosed,
    "formats-with-parameters": FormatsWithParameters,
    "composed-names": ComposedNames,
    "versions-of-digits": VersionsOfDigits,
    "namespace-of-a-later-version": NamespaceOfALaterVersion,
    "lines-of-unix": LinesOfUnix,
    "decoded-already": DecodedAlready,
    "markup-by-number": MarkupByNumber,
    "exponents-only": ExponentsOnly,
    "traced-parts": TracedParts,
    "form-before-size": FormBeforeSize,
}

EXPECTED: dict[str, tuple[str, ...]] = {
    "charts-without-their-lists": ("XMCP-DSP-014",),
    "advice-by-str": ("XMCP-ERR-003",),
    "anything-is-a-display": ("XMCP-DSP-001",),
    "sections-with-empty-tags": ("XMCP-RSP-027",),
    "facts-of-any-kind": ("XMCP-DSP-004",),
    "null-is-not-disclosed": ("XMCP-RSP-096",),
    "formats-with-parameters": ("XMCP-RSP-006",),
    "composed-names": ("XMCP-RSP-007",),
    "versions-of-digits": ("XMCP-RSP-008",),
    "namespace-of-a-later-version": ("XMCP-RSP-005", "XMCP-RSP-009"),
    "lines-of-unix": ("XMCP-RSP-067", "XMCP-RSP-024"),
    "decoded-already": ("XMCP-RSP-062", "XMCP-RSP-070"),
    "markup-by-number": (),
    "exponents-only": (),
    "traced-parts": (),
    "form-before-size": (),
}
