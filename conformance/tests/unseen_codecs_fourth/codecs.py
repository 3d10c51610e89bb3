"""Twelve further wrong codecs, each with one mistake, and four further that look unusual and are right.

`CODECS` has them by name, `EXPECTED` the ids of the broken sentence and of those that a fair judge might name instead;
a codec that is right has none.
"""

from __future__ import annotations

import datetime
import decimal
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import BadDisplay, Illegal, Refused, Response
from xmcp_conformance.wrong.codecs.miniature_codec import Channel, MiniatureCodec, Part

_NAMES = "(?:tool_response|llm_output|display|error|meta|server_populated)"
_DEEPEST = 70
"""Deeper values are left as they are: no document can have them."""


def _mapped(value: Any, change: Callable[[Any, int], Any], depth: int = 0) -> Any:
    """Return a value in which `change` was applied to each value within it and to itself, from the outside."""
    value = change(value, depth)
    if depth > _DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {name: _mapped(part, change, depth + 1) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(part, change, depth + 1) for part in value]
    return value


# Writing


class TagsWithoutAttributes(MiniatureCodec):
    """Writes text with markup as CDATA unless it has a forged tag, and knows such tags only without attributes.

    `<error code="X">` and `<llm_output format="text/html">` stand in CDATA (XMCP-RSP-027).
    """

    _forged = re.compile(rf"</?{_NAMES}[ \t\n]*/?>", re.IGNORECASE)

    def _text(self, text: str) -> str:
        """Return CDATA where the text has markup."""
        if not re.search("[<&]", text) or "\r" in text or "]]>" in text or self._forged.search(text):
            return super()._text(text)
        return f"<![CDATA[{text}]]>"


class ShortenedDecimals(MiniatureCodec):
    """Writes a decimal number without the zeros at its end: 19.90 as "19.9" (XMCP-RSP-046)."""

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON with shortened decimal numbers."""

        def shortened(part: Any, _depth: int) -> Any:
            if not isinstance(part, decimal.Decimal) or not part.is_finite():
                return part
            digits = str(part)
            return digits if "." not in digits or "E" in digits else digits.rstrip("0").rstrip(".")

        return super()._json(_mapped(value, shortened), channel)


class EverythingInUtc(MiniatureCodec):
    """Writes a point in time that has another offset than UTC as the same moment in UTC (XMCP-RSP-048)."""

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON with times in UTC."""

        def in_utc(part: Any, _depth: int) -> Any:
            if isinstance(part, datetime.datetime) and part.utcoffset():
                return part.astimezone(datetime.UTC)
            return part

        return super()._json(_mapped(value, in_utc), channel)


class NullIsAbsent(MiniatureCodec):
    """Leaves out a member whose value is `null`, but for those of the outermost object (XMCP-RSP-054)."""

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON without such members."""

        def without_null(part: Any, depth: int) -> Any:
            if not depth or not isinstance(part, Mapping):
                return part
            return {name: inner for name, inner in part.items() if inner is not None}

        return super()._json(_mapped(value, without_null), channel)


class HalvesInNames(MiniatureCodec):
    """Replaces half of a surrogate pair in the name of a member, and neither marks the element nor refuses the value.

    In texts, all is right (XMCP-RSP-053).
    """

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON, with names that need no mark any more."""

        def with_whole_names(part: Any, _depth: int) -> Any:
            if not isinstance(part, Mapping) or not all(isinstance(name, str) for name in part):
                return part
            return {re.sub("[\ud800-\udfff]", "\ufffd", name): inner for name, inner in part.items()}

        return super()._json(_mapped(value, with_whole_names), channel)


class LinesOfUnix(MiniatureCodec):
    """Writes the end of a line of Windows as a line feed; any other carriage return as a reference (XMCP-RSP-024)."""

    def _text(self, text: str) -> str:
        """Return character data without carriage returns before line feeds."""
        return super()._text(text.replace("\r\n", "\n"))


# Reading


class ForeignElementsAtTheEnd(MiniatureCodec):
    """Ignores elements in a namespace only after all others, as the XSD has them, and refuses them elsewhere.

    They can stand anywhere among the children of the root element (XMCP-RSP-066).
    """

    def _forget_the_unknown(self, root: etree._Element) -> None:
        """Forget them as always, after a note of whether one is before another child."""
        names = [child.tag.startswith("{") for child in root.iterchildren("*")]
        self._misplaced = any(foreign and not all(names[place:]) for place, foreign in enumerate(names))
        super()._forget_the_unknown(root)

    def _check_structure(self, root: etree._Element) -> None:
        """Refuse one that is before another child."""
        if self._misplaced:
            raise Refused("SCHEMA", "an element in a namespace before one of the others")
        super()._check_structure(root)


class TextBeforeAnInstruction(MiniatureCodec):
    """Delivers of a text only what is before a processing instruction in it (XMCP-RSP-067)."""

    def _parser(self, **options: Any) -> etree.XMLParser:
        """Return a parser that leaves processing instructions in the tree."""
        return super()._parser(**{**options, **({"remove_pis": False} if "remove_pis" in options else {})})


class CharactersInPieces(MiniatureCodec):
    """Decodes each piece by itself: of a character that is in two pieces, U+FFFD is left (XMCP-RSP-071)."""

    def decode_pieces(
        self, arriving: Iterable[str | bytes], *, bad_display: BadDisplay = "raise"
    ) -> tuple[Response, int]:
        """Return what is in the pieces, each decoded from UTF-8."""
        pieces = list(arriving)
        written = [piece for piece in pieces if isinstance(piece, bytes)]
        if len(written) == len(pieces) and _is_utf8(b"".join(written)):
            pieces = [piece.decode("utf-8", "replace").encode() for piece in written]
        return super().decode_pieces(pieces, bad_display=bad_display)


class DropsWhatIsTooDeep(MiniatureCodec):
    """Leaves out, where it is asked to drop bad displays, also one whose JSON is nested too deeply: a `LIMIT`.

    Only `BAD_JSON` and `BAD_ENVELOPE` allow that (XMCP-RSP-072).
    """

    def _response(self, root: etree._Element, bad_display: BadDisplay) -> tuple[Response, int]:
        """Return the response, with displays that are too deep taken for bad ones."""
        for display in root.iterchildren("display") if bad_display == "drop" else ():
            try:
                self._envelope_of(display)
            except Refused as refusal:
                if refusal.error_class == "LIMIT":
                    display.text = ""
        return super()._response(root, bad_display)


class OneDigitOfMinor(MiniatureCodec):
    """Reads 1.1 to 1.9, and takes 1.10 and later for versions that it does not know (XMCP-RSP-065)."""

    def _check_version(self, root: etree._Element) -> None:
        """Refuse a minor version of two digits, too."""
        super()._check_version(root)
        version = root.get("version", "1.0")
        if root.tag == "tool_response" and re.fullmatch("1[.][1-9][0-9]{1,3}", version):
            raise Refused("VERSION", version)


class StripsLikePython(MiniatureCodec):
    """Strips from a message everything that Python calls white space, such as a no-break space (XMCP-ERR-014)."""

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        """Return the error with its message stripped of more than the four characters."""
        return {**super()._error_of(element), "message": self._text_of(element).strip()}


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# Unusual, and right


class CdataWhereverItCan(MiniatureCodec):
    """Writes each text with markup as CDATA, `]]>` in two sections of it, and carriage returns between sections.

    A text with what begins like a forged tag is escaped (XMCP-RSP-022, 023, 024 and 027 allow all of it).
    """

    _forged = re.compile(rf"</?{_NAMES}", re.IGNORECASE)

    def _text(self, text: str) -> str:
        """Return CDATA sections where the text has markup."""
        if not re.search("[<&]", text) or self._forged.search(text):
            return super()._text(text)
        lines = [line.replace("]]>", "]]]]><![CDATA[>") for line in text.split("\r")]
        return "&#13;".join(f"<![CDATA[{line}]]>" if line else "" for line in lines)


class WideAndIndented(MiniatureCodec):
    """Writes each child on a line of its own, JSON with an indent, and white space around JSON and messages.

    White space is allowed between the children (XMCP-RSP-010), around JSON (XMCP-RSP-040) and around a message
    (XMCP-ERR-014). Attributes are in reverse order, with white space around their equals signs.
    """

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON on several lines, with all markup as escapes."""
        text = json.dumps(json.loads(super()._json(value, channel)), indent=2)
        return "\n" + re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"

    def _write(self, part: Part) -> str:
        names = reversed(part.attributes.items())
        attributes = "".join(f'\n {name} = "{self._attribute(value)}"' for name, value in names)
        text = f"\n  {self._text(part.text)}\n  " if part.name == "error" else self._text(part.text)
        inner = "".join(map(self._write, part.parts))
        if part.name == "tool_response":
            inner = "".join(f"\n  {self._write(child)}" for child in part.parts) + "\n"
        return f"<{part.name}{attributes}>{text}{inner}</{part.name} >"


class WithMoreThanNeeded(MiniatureCodec):
    """Writes defaults (`version`, `lossy="false"`), and an attribute and an element in a namespace of its own.

    XMCP-RSP-012 allows the latter two, after the children that chapter 2 names.
    """

    def _root(self, response: Response, illegal: Illegal) -> Part:
        root = super()._root(response, illegal)
        root.attributes.setdefault("version", "1.0")
        for part in (root, *root.parts, *(inner for outer in root.parts for inner in outer.parts)):
            part.attributes.setdefault("lossy", "false")
        return root

    def _write(self, part: Part) -> str:
        written = super()._write(part)
        if part.name != "tool_response":
            return written
        start, end = f"<{part.name}", f"</{part.name}>"
        inside = written.removeprefix(start).removesuffix(end)
        own = '<own:note own:by="odd"><own:text>not for the model</own:text></own:note>'
        return f'{start} xmlns:own="urn:example:odd" own:seen="1"{inside}{own}{end}'


class JsonBeforeStructure(MiniatureCodec):
    """Looks at the JSON of `meta` and of `server_populated` before it looks at the structure of the document.

    Of two faults it reports another one than most readers (XMCP-RSP-074), after those of XMCP-RSP-075 and 076.
    """

    def _check_structure(self, root: etree._Element) -> None:
        """Read the JSON first, last element first, where it stands in its place."""
        if root.tag == "tool_response":
            for element in reversed([*root.findall("error/meta"), *root.findall("server_populated")]):
                if not len(element):
                    self._object_of(element)
        super()._check_structure(root)


_WRONG: tuple[tuple[str, type[MiniatureCodec], tuple[str, ...]], ...] = (
    ("tags-without-attributes", TagsWithoutAttributes, ("XMCP-RSP-027",)),
    ("shortened-decimals", ShortenedDecimals, ("XMCP-RSP-046",)),
    ("everything-in-utc", EverythingInUtc, ("XMCP-RSP-048",)),
    ("null-is-absent", NullIsAbsent, ("XMCP-RSP-054",)),
    ("halves-in-names", HalvesInNames, ("XMCP-RSP-053", "XMCP-RSP-026")),
    ("lines-of-unix", LinesOfUnix, ("XMCP-RSP-024", "XMCP-RSP-020")),
    ("foreign-elements-at-the-end", ForeignElementsAtTheEnd, ("XMCP-RSP-066", "XMCP-RSP-063")),
    ("text-before-an-instruction", TextBeforeAnInstruction, ("XMCP-RSP-067",)),
    ("characters-in-pieces", CharactersInPieces, ("XMCP-RSP-071", "XMCP-RSP-067")),
    ("drops-what-is-too-deep", DropsWhatIsTooDeep, ("XMCP-RSP-072", "XMCP-RSP-077", "XMCP-RSP-068")),
    ("one-digit-of-minor", OneDigitOfMinor, ("XMCP-RSP-065",)),
    ("strips-like-python", StripsLikePython, ("XMCP-ERR-014",)),
)

_ODD: tuple[tuple[str, type[MiniatureCodec]], ...] = (
    ("cdata-wherever-it-can", CdataWhereverItCan),
    ("wide-and-indented", WideAndIndented),
    ("with-more-than-needed", WithMoreThanNeeded),
    ("json-before-structure", JsonBeforeStructure),
)

CODECS: dict[str, type[MiniatureCodec]] = {name: codec for name, codec, _ in _WRONG} | dict(_ODD)
EXPECTED: dict[str, tuple[str, ...]] = {name: ids for name, _, ids in _WRONG} | {name: () for name, _ in _ODD}
