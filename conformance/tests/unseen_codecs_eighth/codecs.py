"""Twelve further wrong codecs, each with one mistake, and four further that look unusual and are right.

`CODECS` has them by name, `EXPECTED` the ids of the broken sentence and of those that a fair judge might name instead;
a codec that is right has none.
"""

from __future__ import annotations

import datetime
import decimal
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import BadDisplay, Illegal, Refused, Response
from xmcp_conformance.wrong.codecs.miniature_codec import Channel, MiniatureCodec, Part
from xmcp_models.registry import ERROR_CODES

_DEPTH = 64
_BYTES = 8 * 1024 * 1024
_HALF = re.compile("[\ud800-\udfff]")
_TAG = re.compile(
    r"</?(?:tool_response|llm_output|display|error|meta|server_populated)(?=[\s/>])[^>]*>", re.IGNORECASE | re.DOTALL
)
_VENDOR = "https://acme.example/xmcp"


def _each(value: Any, change: Callable[[Any], Any], depth: int = 1) -> Any:
    """Return the value with `change` made to each part that is neither an array nor an object."""
    if depth > _DEPTH:
        return value
    if isinstance(value, Mapping):
        return {key: _each(item, change, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_each(item, change, depth + 1) for item in value]
    return change(value)


# Writing


class OneMarkIsEnough(MiniatureCodec):
    """Leaves out the mark of values that were lossy before, where an element of its own has a mark (XMCP-RSP-029).

    Such a reader as it knows treats the response as lossy in both cases. Without a replacement of its own it marks the
    root element, and also where it replaced something in an attribute of the root.
    """

    def _root(self, response: Response, illegal: Illegal) -> Part:
        root = super()._root(response, illegal)
        if any("lossy" in part.attributes for child in root.parts for part in (child, *child.parts)):
            root = super()._root(response | {"lossy": False}, illegal)
        return root


class TwoBracketsAndNoMore(MiniatureCodec):
    """Escapes `>` in text after exactly two brackets, and not after three or more (XMCP-RSP-023).

    It counts the brackets as it goes, and compares the count for equality: `a[b[c[0]]]>1` is no longer well-formed.
    """

    def _text(self, text: str) -> str:
        """Return text in which `>` is escaped where it has to be."""
        pieces, brackets = [], 0
        for character in text:
            if character == ">" and brackets != 2:
                pieces.append(">")
            else:
                pieces.append(super()._text(character))
            brackets = brackets + 1 if character == "]" else 0
        return "".join(pieces)


class MessagesInCdata(MiniatureCodec):
    """Writes text with markup as CDATA, and looks for forged tags in it, but not in a message (XMCP-RSP-027)."""

    def _write(self, part: Part) -> str:
        text = part.text
        if part.name not in ("llm_output", "error") or not re.search("[<&]", text) or re.search(r"\r|\]\]>", text):
            return super()._write(part)
        if part.name == "llm_output" and _TAG.search(text):
            return super()._write(part)
        attributes = "".join(f' {name}="{self._attribute(value)}"' for name, value in part.attributes.items())
        inner = "".join(self._write(inner) for inner in part.parts)
        return f"<{part.name}{attributes}><![CDATA[{text}]]>{inner}</{part.name}>"


class DigitsOfTheContext(MiniatureCodec):
    """Rounds a decimal number to 28 digits, the precision with which Python computes by default (XMCP-RSP-046)."""

    _context = decimal.Context(prec=28, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON with decimal numbers made by the context."""
        return super()._json(_each(value, self._made), channel)

    def _made(self, value: Any) -> Any:
        if isinstance(value, decimal.Decimal) and value.is_finite():
            return self._context.create_decimal(value)
        return value


class SameOnceReplaced(MiniatureCodec):
    """Compares the names of members before it replaces unpaired surrogates in them (XMCP-RSP-052).

    Of two names that become the same, only the later member is written. It refuses `1` beside `"1"` as it should.
    """

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON of the value with its names replaced."""
        return super()._json(self._replaced(value, channel), channel)

    def _replaced(self, value: Any, channel: Channel, depth: int = 1) -> Any:
        if depth > _DEPTH:
            return value
        if isinstance(value, Mapping):
            return {
                channel.carry(key, _HALF) if isinstance(key, str) else key: self._replaced(item, channel, depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._replaced(item, channel, depth + 1) for item in value]
        return value


class CategoriesWithoutAliases(MiniatureCodec):
    """Adds a missing `category` from the registry, where it does not look for aliases (XMCP-ERR-010).

    An alias is an unknown code to it, and gets `internal`. A category that it is given it leaves alone.
    """

    def _error(self, error: Mapping[str, Any], illegal: Illegal) -> Part:
        if error.get("category") is None:
            error = {**error, "category": ERROR_CODES.get(error["code"], {}).get("category", "internal")}
        return super()._error(error, illegal)


# Reading


class TailGoesToo(MiniatureCodec):
    """Removes an element of another namespace with the text after it, as lxml does (XMCP-RSP-063).

    So it accepts text between the children of the root element, if it comes right after an element that is ignored.
    """

    def _forget_the_unknown(self, root: etree._Element) -> None:
        for child in root.findall("{*}*"):
            if child.tag.startswith("{"):
                root.remove(child)
        super()._forget_the_unknown(root)


class MarksOfOthers(MiniatureCodec):
    """Looks for `lossy` on every element of a document, also on those that it ignores and in them (XMCP-RSP-066)."""

    def __init__(self) -> None:
        self._marked = False

    def _forget_the_unknown(self, root: etree._Element) -> None:
        self._marked = any(self._boolean(element.get("lossy")) for element in root.iter("*"))
        super()._forget_the_unknown(root)

    def _response(self, root: etree._Element, bad_display: BadDisplay) -> tuple[Response, int]:
        response, warnings = super()._response(root, bad_display)
        return response | {"lossy": self._marked}, warnings


class LineEndsOfPieces(MiniatureCodec):
    """Makes the ends of lines `\\n` in each piece for itself (XMCP-RSP-071).

    Where one piece ends with a carriage return and the next begins with a line feed, it reads two ends of lines.
    """

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        return super()._tree(self._ended(chunks))

    def _ended(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        size = 0
        for chunk in chunks:
            size += len(chunk)
            if size > _BYTES:
                raise Refused("LIMIT")
            yield chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class BlanksBeforeDeclarations(MiniatureCodec):
    """Takes white space off the beginning of a document, so also off an XML declaration (XMCP-RSP-061).

    XML allows nothing before a declaration; templates and shells leave an empty line there all the same.
    """

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        return super()._tree(self._stripped(chunks))

    def _stripped(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        begun, taken = False, 0
        for chunk in chunks:
            rest = chunk if begun else chunk.lstrip(b" \t\r\n")
            taken += len(chunk) - len(rest)
            if taken > _BYTES:
                raise Refused("LIMIT")
            begun = begun or bool(rest)
            yield rest
        # What was taken counts for the size of the document.
        yield b" " * taken


class LengthsInCodeUnits(MiniatureCodec):
    """Measures `title`, `alt` and `id` of an envelope in UTF-16 code units, as `length` does (XMCP-DSP-008).

    So it refuses a title of 101 emoji, which the schema allows: JSON Schema counts characters.
    """

    def _envelope_of(self, element: etree._Element) -> Any:
        envelope = super()._envelope_of(element)
        for name, longest in (("title", 200), ("alt", 4000), ("id", 128)):
            if len(envelope.get(name, "").encode("utf-16-le")) > 2 * longest:
                raise Refused("BAD_ENVELOPE", f"`{name}` is too long")
        return envelope


class MessagesWithoutIndent(MiniatureCodec):
    """Takes the common indentation off the second and later lines of a message (XMCP-ERR-014).

    The sentence takes white space off the ends of the message only; a message can quote a line of a program.
    """

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        first, *rest = error["message"].split("\n")
        return error | {
            "message": "\n".join([first, *textwrap.dedent("\n".join(rest)).split("\n")] if rest else [first])
        }


# Odd, and right


class FormsOfXmlSchema(MiniatureCodec):
    """Writes `retryable` as `1` or `0`, and `retry_after_ms` with a plus sign and a zero in front.

    XMCP-ERR-003 asks for an XML Schema boolean, XMCP-ERR-004 for a whole number: the schema allows both forms.
    """

    def _error(self, error: Mapping[str, Any], illegal: Illegal) -> Part:
        part = super()._error(error, illegal)
        part.attributes["retryable"] = "1" if error["retryable"] else "0"
        after = part.attributes.get("retry_after_ms", "")
        # A negative number is left for the schema to refuse.
        if after.isdecimal():
            part.attributes["retry_after_ms"] = f"+0{after}"
        return part


class SecondsWithFractions(MiniatureCodec):
    """Writes a time with six digits after the second, also where they are all zero: RFC 3339 has that form."""

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON with the fractions of seconds."""
        return super()._json(_each(value, self._timed), channel)

    def _timed(self, value: Any) -> Any:
        if isinstance(value, datetime.datetime):
            return re.sub(r"\+00:00$", "Z", value.isoformat(timespec="microseconds"))
        return value


class NamesakesOfAVendor(MiniatureCodec):
    """Adds attributes and a last element of its own namespace, with names that the document has too (XMCP-RSP-012)."""

    def _write(self, part: Part) -> str:
        written = super()._write(part)
        end = len(part.name) + 1
        if part.name != "tool_response":
            return f'{written[:end]} acme:lossy="perhaps"{written[end:]}'
        opening = f'{written[:end]} xmlns:acme="{_VENDOR}" acme:version="7"{written[end:]}'
        extra = '<acme:display acme:type="trace">2 &lt; 3</acme:display><acme:llm_output/>'
        return f"{opening.removesuffix('</tool_response>')}{extra}</tool_response>"


class JsonBeforeStructure(MiniatureCodec):
    """Reads the JSON before it looks at the structure, and so reports `BAD_JSON` or `BAD_ENVELOPE` beside `SCHEMA`.

    XMCP-RSP-074 leaves the choice among several faults. Another major version comes first, as XMCP-RSP-075 requires.
    """

    def decode_pieces(
        self, arriving: Iterable[str | bytes], *, bad_display: BadDisplay = "raise"
    ) -> tuple[Response, int]:
        """Return the response in a document, and the number of warnings."""
        root = self._tree(self._bytes(arriving))
        self._forget_the_unknown(root)
        self._check_version(root)
        if root.tag == "tool_response":
            self._read_json(root, bad_display)
        self._check_structure(root)
        return self._response(root, bad_display)

    def _read_json(self, root: etree._Element, bad_display: BadDisplay) -> None:
        for path in ("server_populated", "error/meta", "display"):
            for element in root.findall(path):
                # With an element inside it is the structure that is at fault.
                if len(element):
                    continue
                if path != "display":
                    self._object_of(element)
                elif bad_display == "raise":
                    self._envelope_of(element)


_WRONG: tuple[tuple[str, type[MiniatureCodec], tuple[str, ...]], ...] = (
    ("eighth-one-mark-is-enough", OneMarkIsEnough, ("XMCP-RSP-029",)),
    ("eighth-two-brackets-and-no-more", TwoBracketsAndNoMore, ("XMCP-RSP-023", "XMCP-RSP-001")),
    ("eighth-messages-in-cdata", MessagesInCdata, ("XMCP-RSP-027",)),
    ("eighth-digits-of-the-context", DigitsOfTheContext, ("XMCP-RSP-046",)),
    ("eighth-same-once-replaced", SameOnceReplaced, ("XMCP-RSP-052", "XMCP-RSP-054")),
    ("eighth-categories-without-aliases", CategoriesWithoutAliases, ("XMCP-ERR-010",)),
    ("eighth-tail-goes-too", TailGoesToo, ("XMCP-RSP-063", "XMCP-RSP-010")),
    ("eighth-marks-of-others", MarksOfOthers, ("XMCP-RSP-066", "XMCP-RSP-079")),
    ("eighth-line-ends-of-pieces", LineEndsOfPieces, ("XMCP-RSP-071", "XMCP-RSP-067")),
    ("eighth-blanks-before-declarations", BlanksBeforeDeclarations, ("XMCP-RSP-061", "XMCP-RSP-001")),
    ("eighth-lengths-in-code-units", LengthsInCodeUnits, ("XMCP-DSP-008", "XMCP-DSP-005", "XMCP-RSP-080")),
    ("eighth-messages-without-indent", MessagesWithoutIndent, ("XMCP-ERR-014", "XMCP-RSP-067")),
)

_ODD: tuple[tuple[str, type[MiniatureCodec]], ...] = (
    ("eighth-forms-of-xml-schema", FormsOfXmlSchema),
    ("eighth-seconds-with-fractions", SecondsWithFractions),
    ("eighth-namesakes-of-a-vendor", NamesakesOfAVendor),
    ("eighth-json-before-structure", JsonBeforeStructure),
)

CODECS: dict[str, type[MiniatureCodec]] = {name: codec for name, codec, _ in _WRONG} | dict(_ODD)
EXPECTED: dict[str, tuple[str, ...]] = {name: ids for name, _, ids in _WRONG} | {name: () for name, _ in _ODD}
