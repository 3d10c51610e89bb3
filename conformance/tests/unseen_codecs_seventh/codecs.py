"""Twelve wrong codecs of a seventh author, each with one mistake, and four that look unusual and are right.

`CODECS` has them by name, `EXPECTED` the ids of the broken sentence and of those that a fair judge might name instead;
a codec that is right has none.
"""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import BadDisplay, Illegal, Refused, Response
from xmcp_conformance.reader.schemas import validator
from xmcp_conformance.wrong.codecs.miniature_codec import Channel, MiniatureCodec, Part
from xmcp_models.registry import ERROR_CODES

_SURROGATE = re.compile("[\ud800-\udfff]")


# Writing


class _Values(MiniatureCodec):
    """Has a say in how single values are written."""

    def _json(self, value: Any, channel: Channel) -> str:
        """Return the JSON of the value with its parts replaced."""
        return super()._json(self._within(value, channel), channel)

    def _within(self, value: Any, channel: Channel) -> Any:
        if isinstance(value, Mapping):
            return self._mapping({key: self._within(item, channel) for key, item in value.items()}, channel)
        if isinstance(value, list | tuple):
            return [self._within(item, channel) for item in value]
        return self._value(value)

    def _mapping(self, mapping: dict[Any, Any], _channel: Channel) -> dict[Any, Any]:
        return mapping

    def _value(self, value: Any) -> Any:
        return value


class MinutesOfAnOffset(_Values):
    """Writes 12:00 at the offset -03:30 with the offset -04:30 (XMCP-RSP-048).

    It divides the minutes of an offset by 60 and takes quotient and remainder, which is right for every offset but a
    negative one that is no whole number of hours: the division rounds down.
    """

    def _value(self, value: Any) -> Any:
        """Return a time that has an offset as text."""
        if not isinstance(value, datetime.datetime | datetime.time) or not (offset := value.utcoffset()):
            return value
        hours, minutes = divmod(offset // datetime.timedelta(minutes=1), 60)
        return f"{value.replace(tzinfo=None).isoformat()}{hours:+03d}:{minutes:02d}"


class LinesOfBase64(_Values):
    """Writes bytes in base64 as mail has it: with a line feed after each 76 characters (XMCP-RSP-047).

    So 57 bytes and fewer are right.
    """

    def _value(self, value: Any) -> Any:
        """Return bytes as text."""
        return base64.encodebytes(value).decode("ascii").rstrip("\n") if isinstance(value, bytes) else value


class NamesMadeEqual(_Values):
    """Looks for equal names before it replaces the halves of surrogate pairs in them, and not after (XMCP-RSP-052).

    Two names that differ in such halves alone become one, and the last member of that name is written.
    """

    def _mapping(self, mapping: dict[Any, Any], channel: Channel) -> dict[Any, Any]:
        """Return the members with their names as they are written."""
        return {channel.carry(key, _SURROGATE) if isinstance(key, str) else key: item for key, item in mapping.items()}


class OneMarkIsEnough(MiniatureCodec):
    """Marks the root of what was read from a lossy document only if no other element is marked (XMCP-RSP-029).

    A reader "treats the whole response as lossy when any element is marked", so it saves the second mark.
    """

    def _root(self, response: Response, illegal: Illegal) -> Part:
        root = super()._root(response, illegal)
        inner = [*root.parts, *(part for child in root.parts for part in child.parts)]
        if any("lossy" in part.attributes for part in inner):
            root.attributes = super()._root(response | {"lossy": False}, illegal).attributes
        return root


class CategoryOfAnAlias(MiniatureCodec):
    """Adds the category to an error that was given without: that of the registry, else `internal` (XMCP-ERR-010).

    It looks for the code among the names of the rows and forgets their aliases, which all become `internal`.
    """

    def _error(self, error: Mapping[str, Any], illegal: Illegal) -> Part:
        if error.get("category") is None:
            error = {**error, "category": ERROR_CODES.get(error["code"], {}).get("category", "internal")}
        return super()._error(error, illegal)


# Reading


class LinesAcrossPieces(MiniatureCodec):
    r"""Makes `\r\n` and `\r` a line feed in each piece by itself (XMCP-RSP-071).

    A raw `\r\n` of which one half ends a piece and the other begins the next becomes two line feeds.
    """

    def _bytes(self, arriving: Iterable[str | bytes]) -> Iterator[bytes]:
        """Yield the document; what the parser does inside a piece need not be done here."""
        return super()._bytes(map(self._ended, arriving))

    def _ended(self, piece: str | bytes) -> str | bytes:
        if isinstance(piece, str):
            return f"{piece[:-1]}\n" if piece.endswith("\r") else piece
        return piece[:-1] + b"\n" if piece.endswith(b"\r") else piece


class AnywhereBelow(MiniatureCodec):
    """Looks for `display` and `server_populated` anywhere below the root, as with `.//display` (XMCP-RSP-066).

    So it delivers those in no namespace that an element of another namespace has inside it, where the root has none.
    """

    def _forget_the_unknown(self, root: etree._Element) -> None:
        unknown = [child for child in root.findall("{*}*") if child.tag.startswith("{")]
        for name in ("server_populated", "display"):
            below = next((found for child in unknown for found in child.iter(name)), None)
            if below is not None and root.find(name) is None:
                copy = deepcopy(below)
                copy.tail = None
                before = list(root.iterchildren("llm_output", "error", "display"))
                root.insert(root.index(before[-1]) + 1 if before else 0, copy)
        super()._forget_the_unknown(root)


class OneListOfAttributes(MiniatureCodec):
    """Has one list of the attributes that it knows, for all elements (XMCP-RSP-079).

    It does not ignore one that it knows from another element, such as `format` on `display`, and finds it misplaced.
    """

    _known = frozenset(
        [
            "tool_name",
            "version",
            "call_id",
            "lossy",
            "format",
            "truncated",
            "code",
            "retryable",
            "retry_after_ms",
            "category",
        ]
    )

    def _forget_the_unknown(self, root: etree._Element) -> None:
        known = [
            (element, name, value)
            for element in root.iter("*")
            for name, value in element.items()
            if name in self._known
        ]
        super()._forget_the_unknown(root)
        for element, name, value in known:
            element.set(name, value)


class TooDeepToShow(MiniatureCodec):
    """Takes a display that is nested too deep for a bad envelope (XMCP-RSP-077).

    A client that drops bad displays with a warning drops this one as well; one that does not still gets `LIMIT`.
    """

    _drops = False

    def _response(self, root: etree._Element, bad_display: BadDisplay) -> tuple[Response, int]:
        self._drops = bad_display != "raise"
        return super()._response(root, bad_display)

    def _envelope_of(self, element: etree._Element) -> Any:
        try:
            return super()._envelope_of(element)
        except Refused as refusal:
            if self._drops and refusal.error_class == "LIMIT":
                raise Refused("BAD_ENVELOPE", "nested too deep") from None
            raise


class FirstItemAlone(MiniatureCodec):
    """Compares with the schema only the first item of a payload that is a list (XMCP-DSP-008).

    Rows, facts, metrics and the displays of a group are alike, its author thought, and there can be many.
    """

    def _envelope_of(self, element: etree._Element) -> Any:
        value = judged = self._value_of(self._text_of(element))
        if isinstance(value, dict) and isinstance(items := value.get("payload"), list):
            few = value.get("type") != "group" or len(items) <= 32
            judged = value | {"payload": items[:1] if few else items}
        if not validator("display_envelope").is_valid(judged):
            raise Refused("BAD_ENVELOPE")
        return value


class AfterAComment(MiniatureCodec):
    """Sees of the text after `meta` only what comes before a comment or a processing instruction (XMCP-RSP-063).

    In a tree that keeps comments, the text behind one is the comment's tail, and not that of `meta`.
    """

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        held: list[bytes] = []

        def noted() -> Iterator[bytes]:
            for chunk in chunks:
                held.append(chunk)
                yield chunk

        root = super()._tree(noted())
        with_comments = etree.fromstring(b"".join(held), self._parser())
        for meta, same in zip(root.iter("meta"), with_comments.iter("meta"), strict=True):
            meta.tail = same.tail
        return root


class VendorOrNothing(MiniatureCodec):
    """Refuses a `meta` of an error with a member that is neither listed nor has a vendor prefix (XMCP-ERR-009).

    That is what the schema says of the names, and a later minor version can add such members all the same.
    """

    _listed = "error_id|params|fields|side_effects|recovery|limit|localized|help|cause|upstream_status"
    _name = re.compile(rf"{_listed}|[A-Za-z0-9._-]+/[A-Za-z0-9._/-]+")

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        if not all(self._name.fullmatch(name) for name in error["meta"] or ()):
            raise Refused("SCHEMA", "a member of `meta` that is not known")
        return error


# Unusual, and right


class LinesOfWindows(MiniatureCodec):
    r"""Lays the tags out on lines that end with `\r\n`: within the start tag of the root and between its children.

    XMCP-RSP-024 is about a carriage return of the text. XMCP-RSP-010 allows white space between the children.
    """

    def _write(self, part: Part) -> str:
        if part.name != "tool_response":
            return super()._write(part)
        attributes = "".join(f'\r\n\t{name} = "{self._attribute(text)}"' for name, text in part.attributes.items())
        children = "".join(f"{self._write(inner)}\r\n" for inner in part.parts)
        return f"<tool_response{attributes}\r\n>\r\n{children}</tool_response\r\n>\r\n"


class NamesakesInItsNamespace(MiniatureCodec):
    """Adds an element of its own at the end, whose namespace is the default one and which has a `display` in it.

    XMCP-RSP-012 allows it. That `display` is not the one of this specification, and holds no JSON.
    """

    def _write(self, part: Part) -> str:
        written = super()._write(part)
        if part.name != "tool_response":
            return written
        own = '<seen xmlns="urn:example:gateway"><display>by nobody &lt;yet&gt;</display><error/></seen>'
        return f"{written.removesuffix('</tool_response>')}{own}</tool_response>"


class ContentBeforeStructure(MiniatureCodec):
    """Reports what is wrong with the JSON of a document rather than what is wrong with its structure.

    XMCP-RSP-074 lets a reader report any one of the faults.
    """

    def _check_structure(self, root: etree._Element) -> None:
        try:
            super()._check_structure(root)
        except Refused:
            if root.tag == "tool_response":
                self._check_content(root)
            raise

    def _check_content(self, root: etree._Element) -> None:
        for element in (*root.findall("display"), *root.findall("error/meta"), *root.findall("server_populated")):
            if len(element):
                continue  # An element in it is a fault of the structure alone.
            if element.tag == "display":
                self._envelope_of(element)
            else:
                self._object_of(element)


class DefaultsOfTheSchema(MiniatureCodec):
    """Delivers the version of a document without `version` as `1.0`, as a parser does that adds the XSD's defaults.

    "An absent `version` means `1.0`" (section 2.2).
    """

    def _response(self, root: etree._Element, bad_display: BadDisplay) -> tuple[Response, int]:
        response, warnings = super()._response(root, bad_display)
        return {"version": "1.0"} | response, warnings


_WRONG: tuple[tuple[str, type[MiniatureCodec], tuple[str, ...]], ...] = (
    ("seventh-minutes-of-an-offset", MinutesOfAnOffset, ("XMCP-RSP-048",)),
    ("seventh-lines-of-base64", LinesOfBase64, ("XMCP-RSP-047",)),
    ("seventh-names-made-equal", NamesMadeEqual, ("XMCP-RSP-052", "XMCP-RSP-054")),
    ("seventh-one-mark-is-enough", OneMarkIsEnough, ("XMCP-RSP-029",)),
    ("seventh-category-of-an-alias", CategoryOfAnAlias, ("XMCP-ERR-010",)),
    ("seventh-lines-across-pieces", LinesAcrossPieces, ("XMCP-RSP-071",)),
    ("seventh-anywhere-below", AnywhereBelow, ("XMCP-RSP-066",)),
    ("seventh-one-list-of-attributes", OneListOfAttributes, ("XMCP-RSP-079", "XMCP-RSP-063")),
    ("seventh-too-deep-to-show", TooDeepToShow, ("XMCP-RSP-077", "XMCP-RSP-072", "XMCP-RSP-068")),
    ("seventh-first-item-alone", FirstItemAlone, ("XMCP-DSP-008", "XMCP-DSP-004")),
    ("seventh-after-a-comment", AfterAComment, ("XMCP-RSP-063", "XMCP-RSP-067", "XMCP-ERR-008")),
    ("seventh-vendor-or-nothing", VendorOrNothing, ("XMCP-ERR-009", "XMCP-RSP-086", "XMCP-RSP-065")),
)

_ODD: tuple[tuple[str, type[MiniatureCodec]], ...] = (
    ("seventh-lines-of-windows", LinesOfWindows),
    ("seventh-namesakes-in-its-namespace", NamesakesInItsNamespace),
    ("seventh-content-before-structure", ContentBeforeStructure),
    ("seventh-defaults-of-the-schema", DefaultsOfTheSchema),
)

CODECS: dict[str, type[MiniatureCodec]] = {name: codec for name, codec, _ in _WRONG} | dict(_ODD)
EXPECTED: dict[str, tuple[str, ...]] = {name: ids for name, _, ids in _WRONG} | {name: () for name, _ in _ODD}
