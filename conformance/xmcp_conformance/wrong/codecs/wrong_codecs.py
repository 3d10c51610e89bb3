"""Codecs with one mistake each, as people make them: the vectors must find the mistake, and nothing else.

The docstring of a class is the mistake. The tests list the vectors that each class fails; each of them is of one of the
requirements that the class breaks.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import BadDisplay, Illegal, Refused, Response
from xmcp_conformance.wrong.registry import breaks

from .miniature_codec import NO_XML, Channel, Guard, MiniatureCodec, Part


@breaks("XMCP-RSP-020", "XMCP-RSP-095", profile="codec")
class NaiveCdataWriter(MiniatureCodec):
    """Writes text between `<![CDATA[` and `]]>` as it is."""

    def _text(self, text: str) -> str:
        return f"<![CDATA[{text}]]>" if text else ""


@breaks("XMCP-RSP-024", "XMCP-RSP-026", profile="codec")
class ElementTreeWriter(MiniatureCodec):
    """Leaves the writing to xml.etree, which neither checks characters nor keeps a carriage return."""

    def _legal(self, text: str, channel: Channel) -> str:
        return text

    def _write(self, part: Part) -> str:
        def element(part: Part) -> ElementTree.Element:
            made = ElementTree.Element(part.name, part.attributes)
            made.text = part.text
            made.extend(element(inner) for inner in part.parts)
            return made

        return ElementTree.tostring(element(part), encoding="unicode")


@breaks("XMCP-RSP-024", "XMCP-RSP-028", profile="codec")
class HtmlEscapeWriter(MiniatureCodec):
    """Escapes with html.escape, which knows neither carriage returns nor the white space of attributes."""

    def _text(self, text: str) -> str:
        return html.escape(text)

    def _attribute(self, value: str) -> str:
        return html.escape(value)


@breaks("XMCP-RSP-026", profile="codec")
class DroppingWriter(MiniatureCodec):
    """Drops what XML cannot carry without a word."""

    def _legal(self, text: str, channel: Channel) -> str:
        return NO_XML.sub("", text)


@breaks("XMCP-RSP-020", profile="codec")
class StrippingWriter(MiniatureCodec):
    """Strips the text that it writes."""

    def _text(self, text: str) -> str:
        return super()._text(text.strip())


@breaks("XMCP-RSP-020", profile="codec")
class NormalisingWriter(MiniatureCodec):
    """Writes text in the normal form NFC."""

    def _legal(self, text: str, channel: Channel) -> str:
        return super()._legal(unicodedata.normalize("NFC", text), channel)


@breaks(
    "XMCP-RSP-042",
    "XMCP-RSP-043",
    "XMCP-RSP-044",
    "XMCP-RSP-045",
    "XMCP-RSP-047",
    "XMCP-RSP-048",
    "XMCP-RSP-049",
    profile="codec",
)
class PlainJsonWriter(MiniatureCodec):
    """Writes JSON with json.dumps as it comes, and str() for what that refuses."""

    def _json_part(self, name: str, value: Any, illegal: Illegal) -> Part:
        try:
            return Part(name, {}, json.dumps(value, default=str))
        except (TypeError, ValueError) as fault:
            raise Refused(why=str(fault)) from None


@breaks("XMCP-RSP-029", "XMCP-RSP-082", profile="codec")
class ForgetfulWriter(MiniatureCodec):
    """Forgets that the values it was given are lossy or cut."""

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        return super().encode(response | {"lossy": False, "truncated": False}, illegal=illegal)


@breaks(
    "XMCP-RSP-060",
    "XMCP-RSP-061",
    "XMCP-RSP-063",
    "XMCP-RSP-066",
    "XMCP-RSP-067",
    "XMCP-RSP-068",
    "XMCP-RSP-071",
    profile="codec",
)
class RegularExpressionReader(MiniatureCodec):
    """Finds the parts of a document with regular expressions."""

    _ROOT = re.compile(r"<tool_response\b(?P<attributes>[^>]*)>(?P<content>.*)</tool_response>", re.DOTALL)
    _CHILD = re.compile(
        r"<(?P<name>llm_output|display|error|meta|server_populated)\b(?P<attributes>[^>]*)>(?P<content>.*?)</(?P=name)>",
        re.DOTALL,
    )
    _ATTRIBUTE = re.compile(r"([\w:]+)=\"([^\"]*)\"")

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        root = self._ROOT.search(b"".join(chunks).decode("utf-8", "replace"))
        if root is None:
            raise Refused("NOT_WELL_FORMED")
        return self._element("tool_response", root)

    def _element(self, name: str, found: re.Match[str]) -> etree._Element:
        attributes = {key: html.unescape(value) for key, value in self._ATTRIBUTE.findall(found["attributes"])}
        element = etree.Element(name, {key: value for key, value in attributes.items() if ":" not in key})
        inner = [] if name in ("llm_output", "display") else list(self._CHILD.finditer(found["content"]))
        element.extend(self._element(match["name"], match) for match in inner)
        if name != "tool_response":
            text = found["content"][: inner[0].start() if inner else None]
            element.text = html.unescape(re.sub(r"<!\[CDATA\[(.*?)\]\]>", r"\1", text, flags=re.DOTALL))
        return element


@breaks("XMCP-RSP-067", "XMCP-RSP-071", profile="codec")
class StrippingReader(MiniatureCodec):
    """Strips the text that it reads."""

    def _text_of(self, element: etree._Element) -> str:
        return super()._text_of(element).strip()


@breaks("XMCP-RSP-067", profile="codec")
class NormalisingReader(MiniatureCodec):
    """Reads text into the normal form NFC."""

    def _text_of(self, element: etree._Element) -> str:
        return unicodedata.normalize("NFC", super()._text_of(element))


@breaks("XMCP-RSP-067", profile="codec")
class UnescapingReader(MiniatureCodec):
    """Calls html.unescape on text that the parser has decoded already."""

    def _text_of(self, element: etree._Element) -> str:
        return html.unescape(super()._text_of(element))


@breaks("XMCP-RSP-067", profile="codec")
class FirstTextReader(MiniatureCodec):
    """Takes `.text` of an element for its text; a comment ends that."""

    def _parser(self, **options: Any) -> etree.XMLParser:
        return super()._parser(**{name: value for name, value in options.items() if name == "target"})


@breaks("XMCP-RSP-061", "XMCP-RSP-071", profile="codec")
class RepairingReader(MiniatureCodec):
    """Lets the parser repair what is not well-formed."""

    def _parser(self, **options: Any) -> etree.XMLParser:
        return super()._parser(recover=True, **options)


class _NoDoctypeGuard(Guard):
    def doctype(self, *_: str | None) -> None:  # type: ignore[override]
        pass


@breaks("XMCP-RSP-060", "XMCP-RSP-071", profile="codec")
class DoctypeReader(MiniatureCodec):
    """Reads with xml.etree, which takes document types and expands entities."""

    def _guard(self) -> Guard:
        return _NoDoctypeGuard()

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        held = list(chunks)
        super()._tree(held)
        try:
            return _of_lxml(ElementTree.fromstring(b"".join(held)))  # noqa: S314 - the mistake
        except ElementTree.ParseError as fault:
            raise Refused("NOT_WELL_FORMED", str(fault)) from None


def _of_lxml(element: ElementTree.Element) -> etree._Element:
    made = etree.Element(element.tag, dict(element.attrib))
    made.text, made.tail = element.text, element.tail
    made.extend(_of_lxml(child) for child in element)
    return made


@breaks("XMCP-RSP-062", "XMCP-RSP-071", profile="codec")
class AnyEncodingReader(MiniatureCodec):
    """Reads every encoding and version of XML that its parser accepts."""

    def _bytes(self, arriving: Iterable[str | bytes]) -> Iterator[bytes]:
        given = list(arriving)
        try:
            yield from super()._bytes(given)
        except Refused as refusal:
            if refusal.error_class != "ENCODING":
                raise
            whole = b"".join(piece.encode() if isinstance(piece, str) else piece for piece in given)
            yield etree.tostring(etree.fromstring(whole), encoding="unicode").encode()


@breaks("XMCP-RSP-062", "XMCP-RSP-070", "XMCP-RSP-071", profile="codec")
class NoDeclarationReader(MiniatureCodec):
    """Treats an XML declaration or a byte order mark inside text as a fault."""

    def decode(self, document: str | bytes, *, bad_display: BadDisplay = "raise") -> tuple[Response, int]:
        if isinstance(document, str) and document.startswith(("\ufeff", "<?xml")):
            raise Refused("NOT_WELL_FORMED", "Unicode strings with encoding declaration are not supported")
        return super().decode(document, bad_display=bad_display)


@breaks("XMCP-RSP-064", "XMCP-RSP-075", profile="codec")
class AnyVersionReader(MiniatureCodec):
    """Reads a document of another major version as if it were its own."""

    def _check_version(self, root: etree._Element) -> None:
        pass


@breaks("XMCP-RSP-065", "XMCP-RSP-066", "XMCP-RSP-068", "XMCP-RSP-071", profile="codec")
class StrictReader(MiniatureCodec):
    """Refuses attributes and elements that it does not know instead of ignoring them."""

    def _forget_the_unknown(self, root: etree._Element) -> None:
        pass


@breaks("XMCP-RSP-063", "XMCP-RSP-064", profile="codec")
class FindingReader(MiniatureCodec):
    """Looks for the elements that it wants, and for nothing else."""

    def _check_structure(self, root: etree._Element) -> None:
        if root.tag != "tool_response":
            raise Refused("SCHEMA", "the root element is another")


@breaks("XMCP-DSP-008", "XMCP-RSP-069", profile="codec")
class TrustingReader(MiniatureCodec):
    """Accepts every JSON value in `display`, `meta` and `server_populated`."""

    def _envelope_of(self, element: etree._Element) -> Any:
        return self._value_of(self._text_of(element))

    _object_of = _envelope_of


@breaks("XMCP-RSP-068", "XMCP-RSP-069", profile="codec")
class PlainJsonReader(MiniatureCodec):
    """Reads JSON with json.loads as it comes."""

    def _value_of(self, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as fault:
            raise Refused("BAD_JSON", str(fault)) from None


@breaks("XMCP-RSP-063", "XMCP-RSP-095", profile="codec")
class LiteralBooleanReader(MiniatureCodec):
    """Takes only the word `true` for true."""

    def _boolean(self, value: str | None) -> bool:
        return value == "true"


@breaks("XMCP-DSP-008", "XMCP-RSP-069", profile="codec")
class AllOrNothingReader(MiniatureCodec):
    """Refuses the whole document for a bad display, even where it should keep the rest of it."""

    def decode_pieces(
        self, arriving: Iterable[str | bytes], *, bad_display: BadDisplay = "raise"
    ) -> tuple[Response, int]:
        return super().decode_pieces(arriving)


@breaks("XMCP-RSP-071", profile="codec")
class PieceByPieceReader(MiniatureCodec):
    """Decodes the bytes of each piece on their own."""

    def _bytes(self, arriving: Iterable[str | bytes]) -> Iterator[bytes]:
        given = list(arriving)
        if len(given) > 1:
            given = [piece if isinstance(piece, str) else piece.decode("utf-8", "replace") for piece in given]
        return super()._bytes(given)
