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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import BadDisplay, Illegal, Refused, Response
from xmcp_conformance.reader.schemas import validator
from xmcp_conformance.wrong.registry import breaks

from .miniature_codec import NO_XML, SCHEMAS, Channel, Guard, MiniatureCodec, Part


@breaks("XMCP-RSP-020", profile="codec")
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


@breaks("XMCP-RSP-007", "XMCP-RSP-020", profile="codec")
class NormalisingWriter(MiniatureCodec):
    """Writes text in the normal form NFC."""

    def _legal(self, text: str, channel: Channel) -> str:
        return super()._legal(unicodedata.normalize("NFC", text), channel)


@breaks(
    "XMCP-DSP-001",
    "XMCP-DSP-002",
    "XMCP-DSP-004",
    "XMCP-DSP-005",
    "XMCP-ERR-007",
    "XMCP-RSP-042",
    "XMCP-RSP-043",
    "XMCP-RSP-044",
    "XMCP-RSP-045",
    "XMCP-RSP-047",
    "XMCP-RSP-048",
    "XMCP-RSP-049",
    "XMCP-RSP-081",
    "XMCP-DSP-006",
    "XMCP-DSP-010",
    "XMCP-DSP-011",
    "XMCP-DSP-014",
    "XMCP-DSP-015",
    "XMCP-RSP-096",
    profile="codec",
)
class PlainJsonWriter(MiniatureCodec):
    """Writes JSON with json.dumps as it comes, and str() for what that refuses."""

    def _json_part(self, name: str, value: Any, illegal: Illegal) -> Part:
        try:
            return Part(name, {}, json.dumps(value, default=str))
        except (TypeError, ValueError) as fault:
            raise Refused(why=str(fault)) from None


@breaks(
    "XMCP-ERR-002",
    "XMCP-ERR-004",
    "XMCP-ERR-005",
    "XMCP-ERR-006",
    "XMCP-RSP-006",
    "XMCP-RSP-007",
    "XMCP-RSP-008",
    "XMCP-RSP-009",
    profile="codec",
)
class ObedientWriter(MiniatureCodec):
    """Writes every text and number that it is given, whether or not a document can have it."""

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        root = self._root(response | {"version": None}, illegal)
        root.attributes["version"] = response.get("version") or "1.0"
        return self._write(root)

    def _error(self, error: Mapping[str, Any], illegal: Illegal) -> Part:
        message = error["message"].strip()
        part = super()._error({**error, "message": message or "empty", "retryable": True}, illegal)
        part.text = part.text if message else ""
        part.attributes["retryable"] = "true" if error["retryable"] else "false"
        return part


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


@breaks("XMCP-ERR-014", "XMCP-RSP-067", "XMCP-RSP-069", "XMCP-RSP-071", profile="codec")
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


@breaks("XMCP-RSP-065", "XMCP-RSP-066", "XMCP-RSP-068", "XMCP-RSP-071", "XMCP-RSP-079", profile="codec")
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


_TRIMMED = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f"
    "\u3000\ufeff"
)
"""What JavaScript's `trim()` removes."""
_INHERITED = frozenset({"__proto__", "constructor", "hasOwnProperty", "isPrototypeOf", "toString", "valueOf"})
"""Names that `in` finds in every plain object of JavaScript, the empty one too."""


@breaks("XMCP-ERR-014", "XMCP-RSP-020", "XMCP-RSP-040", "XMCP-RSP-061", "XMCP-RSP-063", "XMCP-RSP-069", profile="codec")
class TrimmingCodec(MiniatureCodec):
    """Takes for white space what JavaScript's trim() removes."""

    def _text(self, text: str) -> str:
        return super()._text(text.strip(_TRIMMED))

    def decode(self, document: str | bytes, *, bad_display: BadDisplay = "raise") -> tuple[Response, int]:
        trimmed = document.strip(_TRIMMED) if isinstance(document, str) else document
        return super().decode(trimmed, bad_display=bad_display)

    def _check_structure(self, root: etree._Element) -> None:
        for element in root.iter("*"):
            if element is not root and not (element.tail or "").strip(_TRIMMED):
                element.tail = None
            for name in {"retryable", "retry_after_ms", "truncated", "lossy"} & set(element.attrib):
                element.set(name, element.get(name, "").strip(_TRIMMED))
        super()._check_structure(root)

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        return error | {"message": error["message"].strip(_TRIMMED)}

    def _value_of(self, text: str) -> Any:
        return super()._value_of(text.strip(_TRIMMED))


def _utf_16(text: str) -> str:
    """Return as many characters as the text has code units in UTF-16."""
    return "x" * (len(text.encode("utf-16-le", "surrogatepass")) // 2)


class _Utf16Guard(Guard):
    def _bound(self, value: str) -> None:
        super()._bound(_utf_16(value))


@breaks("XMCP-DSP-008", "XMCP-RSP-007", "XMCP-RSP-063", "XMCP-RSP-068", profile="codec")
class Utf16Codec(MiniatureCodec):
    """Measures text with JavaScript's `length`, in code units of UTF-16."""

    def _root(self, response: Response, illegal: Illegal) -> Part:
        root = super()._root(response, illegal)
        if len(_utf_16(root.attributes["tool_name"])) > 128:
            raise Refused(why="a name of more than 128 characters")
        return root

    def _guard(self) -> Guard:
        return _Utf16Guard()

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        whole = b"".join(chunks)
        with suppress(UnicodeDecodeError):
            text = whole.decode()
            if len(_utf_16(text)) <= 8 * 1024 * 1024 < len(whole):
                return etree.fromstring(whole, self._parser(huge_tree=True))
        return super()._tree([whole])

    def _check_structure(self, root: etree._Element) -> None:
        super()._check_structure(root)
        if len(_utf_16(root.get("tool_name", ""))) > 128 or len(_utf_16(root.get("call_id", ""))) > 256:
            raise Refused("SCHEMA", "a name is too long")

    def _envelope_of(self, element: etree._Element) -> Any:
        envelope = super()._envelope_of(element)
        if len(_utf_16(envelope.get("title", ""))) > 200:
            raise Refused("BAD_ENVELOPE")
        return envelope


class _UpperBoundGuard(Guard):
    def _bound(self, value: str) -> None:
        super()._bound(_utf_16(value) * 3)


@breaks("XMCP-RSP-068", "XMCP-RSP-080", profile="codec")
class UpperBoundReader(MiniatureCodec):
    """Takes three bytes for each code unit of UTF-16, which JavaScript's `length` counts."""

    def _guard(self) -> Guard:
        return _UpperBoundGuard()

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        whole = b"".join(chunks)
        if len(whole.decode("utf-8", "replace").encode("utf-16-le")) // 2 * 3 > 8 * 1024 * 1024:
            raise Refused("LIMIT")
        return super()._tree([whole])


@breaks("XMCP-RSP-080", profile="codec")
class RawAttributeReader(MiniatureCodec):
    """Measures the value of an attribute as it is written, before its references are resolved."""

    _VALUE = re.compile(rb"=\s*(?:\"([^\"<]*)\"|'([^'<]*)')")

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        whole = b"".join(chunks)
        root = super()._tree([whole])
        if any(len(match[1] or match[2] or b"") > 4096 for match in self._VALUE.finditer(whole)):
            raise Refused("LIMIT")
        return root


class _InheritedNamesGuard(Guard):
    def start(self, _tag: str, attributes: Mapping[str, str]) -> None:
        super().start(_tag, attributes)
        if not _INHERITED.isdisjoint(attributes):
            raise Refused("NOT_WELL_FORMED", "an attribute twice")


@breaks("XMCP-DSP-007", "XMCP-DSP-008", "XMCP-RSP-063", "XMCP-RSP-079", "XMCP-RSP-086", profile="codec")
class InheritedNamesReader(MiniatureCodec):
    """Looks names up in plain objects of JavaScript with `in` and `table[name]`, which find inherited members too."""

    def _guard(self) -> Guard:
        return _InheritedNamesGuard()

    def _check_structure(self, root: etree._Element) -> None:
        for child in root.findall("constructor"):  # the table of elements has a value for it
            root.remove(child)
        super()._check_structure(root)

    def _envelope_of(self, element: etree._Element) -> Any:
        envelope = super()._envelope_of(element)
        if envelope["type"] in _INHERITED:  # the table of display types has a value for it, which is no schema
            raise Refused("BAD_ENVELOPE")
        return envelope

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if any(name in _INHERITED for name, _ in pairs):
            raise ValueError("a member twice in one object")
        return super()._object(pairs)


@breaks("XMCP-DSP-008", "XMCP-RSP-040", "XMCP-RSP-069", "XMCP-RSP-086", profile="codec")
class AssigningCodec(MiniatureCodec):
    """Copies members with `copy[name] = value`: in JavaScript, `__proto__` then becomes the prototype of the copy."""

    def _json(self, value: Any, channel: Channel) -> str:
        return super()._json(self._copy(value), channel)

    def _copy(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._copy(member) for name, member in value.items() if name != "__proto__"}
        return [self._copy(item) for item in value] if isinstance(value, list) else value

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        inherited = [value for name, value in pairs if name == "__proto__" and isinstance(value, dict)]
        members = super()._object([(name, value) for name, value in pairs if name != "__proto__"])
        return (inherited[-1] if inherited else {}) | members


@breaks("XMCP-RSP-061", "XMCP-RSP-067", profile="codec")
class HtmlReferenceReader(MiniatureCodec):
    """Resolves references as a browser does in HTML."""

    _CDATA = re.compile(r"(<!\[CDATA\[.*?\]\]>)", re.DOTALL)
    _REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[A-Za-z]+;?)?")

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        try:
            text = b"".join(chunks).decode()
        except UnicodeDecodeError:
            raise Refused("NOT_WELL_FORMED", "it is not UTF-8") from None
        outside = [part if part.startswith("<![CDATA[") else self._resolved(part) for part in self._CDATA.split(text)]
        return super()._tree(["".join(outside).encode()])

    def _resolved(self, text: str) -> str:
        return self._REFERENCE.sub(lambda found: "".join(f"&#{ord(c)};" for c in html.unescape(found[0])), text)


@breaks(
    "XMCP-ERR-014",
    "XMCP-RSP-040",
    "XMCP-RSP-061",
    "XMCP-RSP-063",
    "XMCP-RSP-067",
    "XMCP-RSP-069",
    "XMCP-RSP-071",
    "XMCP-RSP-080",
    profile="codec",
)
class FewReferencesReader(MiniatureCodec):
    """Resolves the references that it writes itself, with a chain of replaceAll(), and takes all others for text."""

    _OTHER = re.compile(rb"&(?!lt;|gt;|amp;|quot;|#39;|#13;)")

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        return super()._tree([self._OTHER.sub(b"&amp;", b"".join(chunks))])


@breaks("XMCP-RSP-063", profile="codec")
class CaseFoldingReader(MiniatureCodec):
    """Finds elements as a document of HTML does, whatever the case of their names."""

    def _forget_the_unknown(self, root: etree._Element) -> None:
        super()._forget_the_unknown(root)
        for element in root.iter("*"):
            element.tag = element.tag.lower()


class _NumberReader(MiniatureCodec):
    def _check_structure(self, root: etree._Element) -> None:
        for error in root.findall("error[@retry_after_ms]"):
            with suppress(ValueError):
                error.set("retry_after_ms", str(self._number(error.get("retry_after_ms", "").strip(_TRIMMED))))
        super()._check_structure(root)

    def _number(self, written: str) -> int:
        raise NotImplementedError


@breaks("XMCP-RSP-063", profile="codec")
class NumberReader(_NumberReader):
    """Converts numbers with JavaScript's Number()."""

    def _number(self, written: str) -> int:
        number = float(int(written, 16)) if written.startswith(("0x", "0X")) else float(written or "0")
        if not number.is_integer() or abs(number) > 2**53 - 1:
            raise ValueError("not a whole number")
        return int(number)


@breaks("XMCP-RSP-063", profile="codec")
class ParseIntReader(_NumberReader):
    """Converts numbers with JavaScript's parseInt(), which stops at the first character that is no digit."""

    def _number(self, written: str) -> int:
        found = re.match(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|([0-9]+))", written)
        if found is None or len(found[3] or "") > 15:
            raise ValueError("not a number")
        number = int(found[2], 16) if found[2] else int(found[3])
        return -number if found[1] == "-" else number


@breaks("XMCP-RSP-063", profile="codec")
class OwnNumberReader(MiniatureCodec):
    """Takes a number only if `String(value | 0)` is what was written."""

    def _check_structure(self, root: etree._Element) -> None:
        super()._check_structure(root)
        for error in root.findall("error[@retry_after_ms]"):
            written = error.get("retry_after_ms", "")
            if written != str(int(written) & 0x7FFFFFFF):
                raise Refused("SCHEMA", "not a whole number")


@breaks("XMCP-RSP-040", "XMCP-RSP-069", profile="codec")
class ForgivingJsonReader(MiniatureCodec):
    """Takes JSON with control characters in strings and with white space of any kind, and none with U+2028."""

    def _value_of(self, text: str) -> Any:
        if "\u2028" in text:  # ends a line in a program that is evaluated
            raise Refused("BAD_JSON")
        forgiven = re.sub("[\u00a0\u3000\ufeff]", " ", text).strip()
        return super()._value_of(re.sub(r"[\t\n\r]+", " ", forgiven))


@breaks("XMCP-RSP-071", profile="codec")
class LineEndsByPieceReader(MiniatureCodec):
    """Replaces the line ends of each piece on its own."""

    def _bytes(self, arriving: Iterable[str | bytes]) -> Iterator[bytes]:
        for piece in super()._bytes(arriving):
            yield piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


@breaks(
    *("XMCP-DSP-006", "XMCP-DSP-010", "XMCP-DSP-011", "XMCP-DSP-014", "XMCP-DSP-015", "XMCP-RSP-096"),
    profile="codec",
)
class SchemaOnlyWriter(MiniatureCodec):
    """Writes displays and parameters that the schemas allow, whatever else the text says of them."""

    def _json_part(self, name: str, value: Any, illegal: Illegal) -> Part:
        channel = Channel(illegal)
        text = self._json(value, channel)
        if not validator(SCHEMAS[name]).is_valid(json.loads(text)):
            raise Refused(why="not as the schema has it")
        return Part(name, {"lossy": "true"} if channel.lossy else {}, text)
