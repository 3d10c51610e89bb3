"""Twelve further wrong codecs, each with one mistake, and four further that look unusual and are right.

`CODECS` has them by name, `EXPECTED` the ids of the broken sentence and of those that a fair judge might name instead;
a codec that is right has none.
"""

from __future__ import annotations

import base64
import copy
import datetime
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import BadDisplay, Illegal, Refused, Response
from xmcp_conformance.wrong.codecs.miniature_codec import Channel, Guard, MiniatureCodec, Part
from xmcp_models.registry import ERROR_CODES

_BYTES, _JSON_DEPTH = 8 * 1024 * 1024, 64  # section 2.6


def _changed(value: Any, change: Callable[[Any], Any], depth: int = 1) -> Any:
    """Return a value with the scalars inside it changed; the value itself, where none of them is."""
    if depth > _JSON_DEPTH:
        return value
    if isinstance(value, Mapping):
        members = [(name, item, _changed(item, change, depth + 1)) for name, item in value.items()]
        return {name: new for name, _, new in members} if any(new is not old for _, old, new in members) else value
    if isinstance(value, list | tuple):
        items = [_changed(item, change, depth + 1) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return change(value)


# Writing


class MarkedAtTheParent(MiniatureCodec):
    """Marks `error` where it replaced half a surrogate pair in the JSON of `meta`, and not `meta` (XMCP-RSP-053).

    Its function that writes `error` collects one mark for all that is inside.
    """

    def _error(self, error: Mapping[str, Any], illegal: Illegal) -> Part:
        part = super()._error(error, illegal)
        for meta in part.parts:
            if meta.attributes.pop("lossy", None):
                part.attributes["lossy"] = "true"
        return part


class CutAndReplaced(MiniatureCodec):
    """Loses `truncated` on `llm_output` where it has to mark the element as lossy too (XMCP-RSP-082).

    It has one note about the text, and the one about the characters comes later.
    """

    def _part(
        self, name: str, attributes: Mapping[str, str | None], illegal: Illegal, text: str = "", *, lossy: bool = False
    ) -> Part:
        part = super()._part(name, attributes, illegal, text, lossy=lossy)
        if "lossy" in part.attributes:
            part.attributes.pop("truncated", None)
        return part


class OffsetsRoundedDown(MiniatureCodec):
    """Writes the offset -03:30 of Newfoundland as -04:30 (XMCP-RSP-048).

    It divides the minutes by 60 and rounds down, which is wrong for every offset west of Greenwich that is no whole
    number of hours.
    """

    def _json(self, value: Any, channel: Channel) -> str:
        return super()._json(_changed(value, self._with_offset), channel)

    def _with_offset(self, value: Any) -> Any:
        offset = value.utcoffset() if isinstance(value, datetime.datetime) else None
        if offset is None or offset % datetime.timedelta(minutes=1):
            return value
        hours, minutes = divmod(offset // datetime.timedelta(minutes=1), 60)
        if hours >= 0 or not minutes:
            return value
        return f"{value.replace(tzinfo=None).isoformat()}{hours:+03d}:{minutes:02d}"


class LinesOfBase64(MiniatureCodec):
    """Breaks the base64 of more than 57 bytes into lines, as mail has it (XMCP-RSP-047)."""

    def _json(self, value: Any, channel: Channel) -> str:
        return super()._json(_changed(value, self._in_lines), channel)

    def _in_lines(self, value: Any) -> Any:
        return base64.encodebytes(value).decode("ascii").strip() if isinstance(value, bytes) else value


class MessagesInCdata(MiniatureCodec):
    """Writes the message of an error with markup as CDATA, also where it has a forged tag (XMCP-RSP-027).

    It looks for carriage returns and `]]>`, and knows only of `llm_output` that a tag can be forged there.
    """

    def _write(self, part: Part) -> str:
        written = super()._write(part)
        if part.name != "error" or not re.search("[<&]", part.text) or "\r" in part.text or "]]>" in part.text:
            return written
        return written.replace(f">{self._text(part.text)}<", f"><![CDATA[{part.text}]]><", 1)


class Noncharacters(MiniatureCodec):
    """Replaces in `llm_output` every noncharacter of Unicode, such as U+FDD0 and U+10FFFF (XMCP-RSP-020).

    XML does not allow U+FFFE and U+FFFF; the 64 others are text like any other.
    """

    _ends = "".join(chr(plane * 2**16 + end) for plane in range(1, 17) for end in (0xFFFE, 0xFFFF))
    _others = re.compile(f"[\ufdd0-\ufdef{_ends}]")

    def _part(
        self, name: str, attributes: Mapping[str, str | None], illegal: Illegal, text: str = "", *, lossy: bool = False
    ) -> Part:
        channel = Channel(illegal, lossy)
        if name == "llm_output":
            text = channel.carry(text, self._others)
        return super()._part(name, attributes, illegal, text, lossy=channel.lossy)


# Reading


class LineEndsOfPieces(MiniatureCodec):
    """Reads a carriage return and a line feed as two line ends where they come in two pieces (XMCP-RSP-071).

    It makes the line ends of each piece those of XML before the parser sees the piece.
    """

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        return super()._tree(self._measured(chunks))

    def _measured(self, chunks: Iterable[bytes]) -> Iterable[bytes]:
        size = 0
        for chunk in chunks:
            size += len(chunk)
            if size > _BYTES:
                raise Refused("LIMIT")
            yield chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class OlderIsReadable(MiniatureCodec):
    """Refuses later major versions, and reads a document of version 0.9 (XMCP-RSP-064)."""

    def _check_version(self, root: etree._Element) -> None:
        version = re.fullmatch(r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})", root.get("version", "1.0"))
        if root.tag == "tool_response" and version and int(version[1]) > 1:
            raise Refused("VERSION", version[0])


class CommentBeforeDoctype(MiniatureCodec):
    """Does not see a document type declaration that has a comment before it (XMCP-RSP-060).

    It looks for the declaration at the beginning of the document, after an XML declaration and white space.
    """

    def _guard(self) -> Guard:
        return _GuardOfTheBeginning()


class _GuardOfTheBeginning(Guard):
    """Stops at a document type declaration unless a comment came first."""

    def __init__(self) -> None:
        super().__init__()
        self.commented = False

    def comment(self, _text: str) -> None:
        """Called at a comment."""
        self.commented = True

    def doctype(self, *names: str | None) -> None:  # type: ignore[override]
        """Called at a document type declaration."""
        if not self.commented:
            super().doctype(*names)


class LengthsInUtf16(MiniatureCodec):
    """Refuses a `title` of 200 emoji as too long, and an `alt` and an `id` by the same count (XMCP-RSP-080).

    A schema counts characters; this reader counts UTF-16 code units, of which an emoji has two.
    """

    _longest: Mapping[str, int] = {"title": 200, "alt": 4000, "id": 128}

    def _envelope_of(self, element: etree._Element) -> Any:
        envelope = super()._envelope_of(element)
        self._measure(envelope)
        return envelope

    def _measure(self, envelope: Any) -> None:
        for name, longest in self._longest.items():
            if len(envelope.get(name, "").encode("utf-16-le")) > 2 * longest:
                raise Refused("BAD_ENVELOPE", f"`{name}` is too long")
        inner = envelope["payload"] if envelope["type"] == "group" else []
        for other in [*inner, *([envelope["fallback"]] if "fallback" in envelope else [])]:
            self._measure(other)


class NoPrototypes(MiniatureCodec):
    """Does not deliver a member with the name `__proto__`, wherever it is in JSON (XMCP-RSP-086).

    So do parsers of JavaScript that guard against objects that change the prototype of others.
    """

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = super()._object(pairs)
        members.pop("__proto__", None)
        return members


class DisplayAnywhere(MiniatureCodec):
    """Takes the first `display` in the document, also one within an element that it does not know (XMCP-RSP-066).

    It looks for `.//display`, after the structure was found to be right.
    """

    _inside: etree._Element | None = None

    def _forget_the_unknown(self, root: etree._Element) -> None:
        first = root.find(".//display")
        around = [] if first is None else [element for element in first.iterancestors() if element is not root]
        inside = any(str(element.tag).startswith("{") for element in around)
        self._inside = copy.deepcopy(first) if inside else None
        super()._forget_the_unknown(root)

    def _response(self, root: etree._Element, bad_display: BadDisplay) -> tuple[Response, int]:
        if self._inside is not None:
            display = root.find("display")
            if display is None:
                display = etree.Element("display")
                root.insert(1, display)
            display.text = self._inside.text
        return super()._response(root, bad_display)


# Unusual and right


class _Longer(MiniatureCodec):
    """Writes more than is needed, except where the document would be too large (XMCP-RSP-081)."""

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        """Return the document of a response."""
        document = super().encode(response, illegal=illegal)
        if len(document.encode()) > _BYTES:
            return MiniatureCodec().encode(response, illegal=illegal)
        return document


class DefaultsWritten(_Longer):
    """Writes every attribute that has a default, the category that the registry gives, and `retryable` as 1 or 0.

    An absent `version` means 1.0 (section 2.2), the XSD has the other defaults, XMCP-ERR-003 wants a boolean of XML
    Schema, and a reader gives an error the same category (XMCP-ERR-010, 013).
    """

    _defaults: Mapping[str, Mapping[str, str]] = {
        "tool_response": {"version": "1.0"},
        "llm_output": {"truncated": "false"},
    }
    _codes: Mapping[str, Mapping[str, Any]] = ERROR_CODES | {
        alias: row for row in ERROR_CODES.values() for alias in row.get("aliases", ())
    }

    def _write(self, part: Part) -> str:
        attributes = {"lossy": "false", **self._defaults.get(part.name, {}), **part.attributes}
        if part.name == "error":
            attributes.setdefault("category", self._codes.get(attributes["code"], {}).get("category", "internal"))
            attributes["retryable"] = {"true": "1", "false": "0"}[attributes["retryable"]]
        return super()._write(Part(part.name, attributes, part.text, part.parts))


class AiryJson(_Longer):
    """Writes JSON on many lines, with tabs, white space around it, and the members of objects from last to first.

    White space is allowed around the value (XMCP-RSP-040) and, by RFC 8259, in it; members have no order.
    """

    def _json(self, value: Any, channel: Channel) -> str:
        compact = super()._json(value, channel)
        turned = json.loads(compact, object_pairs_hook=lambda pairs: dict(reversed(pairs)))
        airy = json.dumps(turned, indent="\t", separators=(" ,", " :  "))
        return "\n\t" + re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", airy) + "\n  "


class NamesakeOfItsOwn(_Longer):
    """Ends each document with an element `display` in a namespace of its own, which holds no envelope (XMCP-RSP-012).

    It is no `display` of chapter 2: that one is in no namespace, and all readers ignore this one (XMCP-RSP-066).
    """

    _namesake = '<display xmlns="https://example.org/ninth">shown at the desk of A. N. Author</display>'

    def _write(self, part: Part) -> str:
        written = super()._write(part)
        if part.name != "tool_response":
            return written
        return written.removesuffix("</tool_response>") + self._namesake + "</tool_response>"


class JsonBeforeStructure(MiniatureCodec):
    """Reads the JSON of a document before it looks at the structure, and so names another fault where there are two.

    XMCP-RSP-074 lets a reader report any one of the faults. Another major version still comes first (XMCP-RSP-075).
    """

    def _check_structure(self, root: etree._Element) -> None:
        if root.tag == "tool_response":
            for element in [*root.findall("server_populated"), *root.findall("error/meta")]:
                if not len(element):
                    self._object_of(element)
        super()._check_structure(root)


_WRONG: tuple[tuple[str, type[MiniatureCodec], tuple[str, ...]], ...] = (
    ("ninth-marked-at-the-parent", MarkedAtTheParent, ("XMCP-RSP-053", "XMCP-RSP-026")),
    ("ninth-cut-and-replaced", CutAndReplaced, ("XMCP-RSP-082",)),
    ("ninth-offsets-rounded-down", OffsetsRoundedDown, ("XMCP-RSP-048",)),
    ("ninth-lines-of-base64", LinesOfBase64, ("XMCP-RSP-047",)),
    ("ninth-messages-in-cdata", MessagesInCdata, ("XMCP-RSP-027",)),
    ("ninth-noncharacters", Noncharacters, ("XMCP-RSP-020", "XMCP-RSP-026")),
    ("ninth-line-ends-of-pieces", LineEndsOfPieces, ("XMCP-RSP-071",)),
    ("ninth-older-is-readable", OlderIsReadable, ("XMCP-RSP-064", "XMCP-RSP-075")),
    ("ninth-comment-before-doctype", CommentBeforeDoctype, ("XMCP-RSP-060", "XMCP-RSP-076")),
    ("ninth-lengths-in-utf-16", LengthsInUtf16, ("XMCP-RSP-080", "XMCP-DSP-005", "XMCP-DSP-008")),
    ("ninth-no-prototypes", NoPrototypes, ("XMCP-RSP-086",)),
    ("ninth-display-anywhere", DisplayAnywhere, ("XMCP-RSP-066",)),
)

_ODD: tuple[tuple[str, type[MiniatureCodec]], ...] = (
    ("ninth-defaults-written", DefaultsWritten),
    ("ninth-airy-json", AiryJson),
    ("ninth-namesake-of-its-own", NamesakeOfItsOwn),
    ("ninth-json-before-structure", JsonBeforeStructure),
)

CODECS: dict[str, type[MiniatureCodec]] = {name: codec for name, codec, _ in _WRONG} | dict(_ODD)
EXPECTED: dict[str, tuple[str, ...]] = {name: ids for name, _, ids in _WRONG} | {name: () for name, _ in _ODD}
