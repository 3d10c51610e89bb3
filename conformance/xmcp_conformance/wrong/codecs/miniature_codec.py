"""A codec written on lxml from the specification and its schemas alone, which shows that they suffice.

It is written to be read, not to be fast. It shares neither code nor parser with the implementation under test.
The methods that begin with an underscore are what `wrong_codecs.py` gets wrong, one at a time.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NoReturn

from lxml import etree

from xmcp_conformance.core.observation import Observation
from xmcp_conformance.profiles.codec.vector_checks import BadDisplay, Illegal, Refused, Response
from xmcp_conformance.reader.checks import display_envelope, server_populated
from xmcp_conformance.reader.schemas import validator
from xmcp_models import DATA
from xmcp_models.registry import ERROR_CODES

NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SAFE = 2**53 - 1
_BLANKS = " \t\r\n"
_ATTRIBUTES = {
    "tool_response": {"tool_name", "version", "call_id", "lossy"},
    "llm_output": {"format", "truncated", "lossy"},
    "display": {"lossy"},
    "error": {"code", "retryable", "retry_after_ms", "category", "lossy"},
    "meta": {"lossy"},
    "server_populated": {"lossy"},
}
SCHEMAS = {"display": "display_envelope", "meta": "error_meta", "server_populated": "server_populated"}
_RULES: Mapping[str, Callable[[Any], Iterable[Observation]]] = {
    "display": partial(display_envelope.observations, by_server=False),
    "meta": lambda _: (),
    "server_populated": server_populated.observations,
}
"""What binds emitters alone. Of it, XMCP-DSP-012 is a SHOULD."""
_CODES = ERROR_CODES | {alias: row for row in ERROR_CODES.values() for alias in row.get("aliases", ())}

# Section 2.6.
_BYTES, _ELEMENTS, _DEPTH, _ATTRIBUTE_BYTES, _JSON_DEPTH = 8 * 1024 * 1024, 256, 64, 4096, 64
_ATTRIBUTES_READ = 256  # of all elements together
_TAG_BYTES = 65_536
_LONGEST_INTEGER = 1_000
_MINUTE = datetime.timedelta(minutes=1)

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DECLARATION = re.compile(
    rb"""<\?xml\s+version\s*=\s*["'](?P<version>[^"']*)["'](?:\s+encoding\s*=\s*["'](?P<encoding>[^"']*)["'])?"""
)
_MARKUP = re.compile(
    rb"""<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|(?P<tag><(?:[^<>"']++|"[^"]*"|'[^']*')*+>)""", re.DOTALL
)
_VERSION = re.compile(r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)


@dataclass(slots=True)
class Part:
    """An element before it is written. `content` is JSON text as section 2.4 requires it."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    parts: list[Part] = field(default_factory=list)


@dataclass(slots=True)
class Channel:
    """Replaces the characters that an element cannot carry, and remembers whether there were any."""

    illegal: Illegal
    lossy: bool = False

    def carry(self, text: str, cannot: re.Pattern[str]) -> str:
        """Return the text with U+FFFD for each match of `cannot`."""
        legal = cannot.sub("\ufffd", text)
        if legal != text:
            if self.illegal == "error":
                raise Refused(why=f"{text[:80]!r} has a code point that cannot be carried")
            self.lossy = True
        return legal


class MiniatureCodec:
    """A conforming codec. See `vector_checks.Codec` for the public methods."""

    # Writing

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        """Return the document of a response."""
        root = self._root(response, illegal)
        _check(root)
        return self._write(root)

    def _root(self, response: Response, illegal: Illegal) -> Part:
        names = {name: response.get(name) for name in ("tool_name", "version", "call_id")}
        if not (names["version"] or "1.").startswith("1."):
            raise Refused(why="this codec writes version 1")
        root = self._part("tool_response", names, illegal, lossy=bool(response.get("lossy")))
        if response.get("llm_output") is not None:
            attributes = {"format": response.get("format"), "truncated": "true" if response.get("truncated") else None}
            root.parts.append(self._part("llm_output", attributes, illegal, response["llm_output"]))
        if response.get("error") is not None:
            root.parts.append(self._error(response["error"], illegal))
        for name in ("display", "server_populated"):
            if response.get(name) is not None:
                root.parts.append(self._json_part(name, response[name], illegal))
        return root

    def _error(self, error: Mapping[str, Any], illegal: Illegal) -> Part:
        after, message = error.get("retry_after_ms"), error["message"].strip(_BLANKS)
        if not message or (after is not None and not error["retryable"]):
            raise Refused(why="an error has a message, and says when to retry only if it is retryable")
        category = error.get("category")
        if category is not None and category != _CODES.get(error["code"], error)["category"]:
            raise Refused(why="the registry has another category for this code")
        attributes = {
            "code": error["code"],
            "retryable": "true" if error["retryable"] else "false",
            "retry_after_ms": None if after is None else str(after),
            "category": category,
        }
        part = self._part("error", attributes, illegal, message)
        if error.get("meta") is not None:
            part.parts.append(self._json_part("meta", error["meta"], illegal))
        return part

    def _part(
        self, name: str, attributes: Mapping[str, str | None], illegal: Illegal, text: str = "", *, lossy: bool = False
    ) -> Part:
        channel = Channel(illegal, lossy)
        legal = {key: self._legal(value, channel) for key, value in attributes.items() if value is not None}
        text = self._legal(text, channel)
        return Part(name, legal | ({"lossy": "true"} if channel.lossy else {}), text)

    def _json_part(self, name: str, value: Any, illegal: Illegal) -> Part:
        channel = Channel(illegal)
        text = self._json(value, channel)
        if not validator(SCHEMAS[name]).is_valid(json.loads(text)):
            raise Refused(why=f"`{name}` is not as {SCHEMAS[name]}.schema.json has it")
        if any(not one.ok and one.requirement != "XMCP-DSP-012" for one in _RULES[name](json.loads(text))):
            raise Refused(why=f"`{name}` breaks a sentence that no schema states")
        return Part(name, {"lossy": "true"} if channel.lossy else {}, text)

    def _legal(self, text: str, channel: Channel) -> str:
        """Return text that XML can carry."""
        return channel.carry(text, NO_XML)

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON in ASCII, without the characters that are markup in XML."""
        text = json.dumps(_json_value(value, channel), separators=(",", ":"))
        return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text)

    def _write(self, part: Part) -> str:
        attributes = "".join(f' {name}="{self._attribute(value)}"' for name, value in part.attributes.items())
        content = self._text(part.text) + "".join(self._write(inner) for inner in part.parts)
        return f"<{part.name}{attributes}>{content}</{part.name}>"

    def _text(self, text: str) -> str:
        """Return text as character data."""
        return _escaped(text)

    def _attribute(self, value: str) -> str:
        """Return text as the value of an attribute, between double quotes."""
        return _escaped(value).replace('"', "&quot;").replace("\t", "&#9;").replace("\n", "&#10;")

    # Reading

    def decode(self, document: str | bytes, *, bad_display: BadDisplay = "raise") -> tuple[Response, int]:
        """Return the response in a document, and the number of warnings."""
        return self.decode_pieces([document], bad_display=bad_display)

    def decode_pieces(
        self, arriving: Iterable[str | bytes], *, bad_display: BadDisplay = "raise"
    ) -> tuple[Response, int]:
        """Return the same for a document in pieces."""
        root = self._tree(self._bytes(arriving))
        self._forget_the_unknown(root)
        self._check_version(root)
        self._check_structure(root)
        return self._response(root, bad_display)

    def _bytes(self, arriving: Iterable[str | bytes]) -> Iterator[bytes]:
        """Yield the document as XML 1.0 in UTF-8 without a byte order mark."""
        return _opened(_utf8(arriving))

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        """Return the root element of a document.

        Two parsers read it: the first sees each part as it comes and stops at what is too large or forbidden, the
        second makes a tree of what is left, and is the one that knows namespaces.
        """
        guard = self._parser(target=self._guard())
        held = bytearray()
        try:
            for chunk in chunks:
                held += chunk
                if len(held) > _BYTES:
                    raise Refused("LIMIT")
                guard.feed(chunk)
            guard.close()
            if any(len(markup["tag"] or b"") > _TAG_BYTES for markup in _MARKUP.finditer(held)):
                raise Refused("LIMIT")
            return etree.fromstring(bytes(held), self._parser(remove_comments=True, remove_pis=True))
        except etree.XMLSyntaxError as fault:
            raise Refused("NOT_WELL_FORMED", str(fault)) from None

    def _guard(self) -> Guard:
        return Guard()

    def _parser(self, **options: Any) -> etree.XMLParser:
        return etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, **options)

    def _forget_the_unknown(self, root: etree._Element) -> None:
        """Remove what a reader ignores."""
        for child in root.findall("{*}*"):
            if child.tag.startswith("{"):
                # Text after it is text between children all the same; lxml keeps it with the element before.
                before = child.getprevious()
                if before is None:
                    root.text = (root.text or "") + (child.tail or "")
                else:
                    before.tail = (before.tail or "") + (child.tail or "")
                root.remove(child)
        for element in root.iter("*"):
            for name in set(element.attrib) - _ATTRIBUTES.get(element.tag, set()):
                del element.attrib[name]

    def _check_version(self, root: etree._Element) -> None:
        version = _VERSION.fullmatch(root.get("version", "1.0"))
        if root.tag == "tool_response" and version and version[1] != "1":
            raise Refused("VERSION", version[0])

    def _check_structure(self, root: etree._Element) -> None:
        if fault := _fault(root):
            raise Refused("SCHEMA", fault)
        if any((meta.tail or "").strip(_BLANKS) for meta in root.iter("meta")):
            raise Refused("SCHEMA", "text after `meta`")

    def _response(self, root: etree._Element, bad_display: BadDisplay) -> tuple[Response, int]:
        response: Response = {
            name: root.get(name) for name in ("tool_name", "version", "call_id") if name in root.attrib
        }
        warnings = 0
        for child in root.iterchildren("*"):
            if child.tag == "llm_output":
                response |= {"llm_output": self._text_of(child), "format": child.get("format")}
                response["truncated"] = self._boolean(child.get("truncated"))
            elif child.tag == "error":
                response["error"] = self._error_of(child)
            elif child.tag == "server_populated":
                response["server_populated"] = self._object_of(child)
            else:
                try:
                    response["display"] = self._envelope_of(child)
                except Refused as refusal:
                    if bad_display == "raise" or refusal.error_class == "LIMIT":
                        raise
                    warnings += 1
        response["lossy"] = any(self._boolean(element.get("lossy")) for element in root.iter("*"))
        return response, warnings

    def _text_of(self, element: etree._Element) -> str:
        """Return the character data of an element before its first child."""
        return element.text or ""

    def _boolean(self, value: str | None) -> bool:
        return value is not None and value.strip(_BLANKS) in ("true", "1")

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        after, meta, code = element.get("retry_after_ms"), element.find("meta"), element.get("code", "")
        return {
            "code": code,
            "message": self._text_of(element).strip(_BLANKS),
            "retryable": self._boolean(element.get("retryable")),
            "retry_after_ms": None if after is None else int(after),
            "category": element.get("category", _CODES.get(code, {}).get("category", "internal")),
            "meta": None if meta is None else self._object_of(meta),
        }

    def _object_of(self, element: etree._Element) -> dict[str, Any]:
        value = self._value_of(self._text_of(element))
        if not isinstance(value, dict):
            raise Refused("BAD_JSON", f"`{element.tag}` holds no object")
        return value

    def _envelope_of(self, element: etree._Element) -> Any:
        value = self._value_of(self._text_of(element))
        if not validator("display_envelope").is_valid(value):
            raise Refused("BAD_ENVELOPE")
        return value

    def _value_of(self, text: str) -> Any:
        """Return the JSON value in `display`, `meta` or `server_populated`."""
        depth = 0
        for match in _BRACKETS.finditer(text):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
            if depth > _JSON_DEPTH:
                raise Refused("LIMIT")
        try:
            value = json.loads(text, parse_constant=_no_constant, parse_int=_integer, object_pairs_hook=self._object)
        except ValueError as fault:
            raise Refused("BAD_JSON", str(fault)) from None
        if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
            raise Refused("BAD_JSON", "half a surrogate pair")
        return value

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the object with these members."""
        members = dict(pairs)
        if len(members) < len(pairs):
            raise ValueError("a member twice in one object")
        return members


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


@cache
def _xsd() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(DATA / "tool_response.xsd"))


def _fault(root: etree._Element) -> str:
    """Return the first fault by the XSD; empty where the document is valid."""
    try:
        _xsd().assertValid(root)
    except etree.DocumentInvalid as fault:
        return str(fault)
    return ""


def _check(root: Part) -> None:
    """Refuse what the schema does not allow: the children, their order, and every attribute."""

    def element(part: Part) -> etree._Element:
        made = etree.Element(part.name, {name: NO_XML.sub("\ufffd", value) for name, value in part.attributes.items()})
        made.extend(element(inner) for inner in part.parts)
        return made

    if fault := _fault(element(root)):
        raise Refused(why=fault)


def _json_value(value: Any, channel: Channel, depth: int = 1) -> Any:
    """Return the JSON form of a Python value; `depth` is the depth of the value, as if it were an array."""
    if isinstance(value, Mapping | list | tuple) and depth > _JSON_DEPTH:
        raise Refused(why=f"more than {_JSON_DEPTH} arrays and objects inside each other")
    match value:
        case None | bool():
            return value
        case str():
            return channel.carry(value, _SURROGATE)
        case int():
            return value if abs(value) <= _SAFE else str(value)
        case float():
            return value if math.isfinite(value) else None
        case decimal.Decimal():
            return str(value) if value.is_finite() else None
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case datetime.datetime() | datetime.time() if (value.utcoffset() or _MINUTE) % _MINUTE:
            raise Refused(why="RFC 3339 has no seconds in an offset")
        case datetime.date() | datetime.time():
            return re.sub(r"\+00:00$", "Z", value.isoformat())
        case Mapping():
            members = {_member_name(key, channel): _json_value(item, channel, depth + 1) for key, item in value.items()}
            if len(members) < len(value):
                raise Refused(why="two keys have the same name in JSON")
            return members
        case list() | tuple():
            return [_json_value(item, channel, depth + 1) for item in value]
    raise Refused(why=f"{type(value).__name__} has no JSON form")


def _member_name(key: Any, channel: Channel) -> str:
    if isinstance(key, str):
        return channel.carry(key, _SURROGATE)
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    raise Refused(why=f"a {type(key).__name__} cannot name a member")


def _utf8(arriving: Iterable[str | bytes]) -> Iterator[bytes]:
    """Yield the bytes of a document. Text gets a byte order mark, because its encoding is known."""
    for number, piece in enumerate(piece for piece in arriving if piece):
        if isinstance(piece, bytes):
            yield piece
            continue
        try:
            encoded = piece.encode()
        except UnicodeEncodeError:
            raise Refused("NOT_WELL_FORMED", "half a surrogate pair") from None
        yield encoded if number or encoded.startswith(_BYTE_ORDER_MARK) else _BYTE_ORDER_MARK + encoded


def _opened(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the bytes after a byte order mark, once the beginning shows that they are XML 1.0 in UTF-8."""
    opening: bytes | None = b""
    for chunk in chunks:
        if opening is None:
            yield chunk
            continue
        opening += chunk
        start = opening.removeprefix(_BYTE_ORDER_MARK)
        if len(opening) >= 2 * len(_BYTE_ORDER_MARK) and (
            not b"<?xml".startswith(start[:5]) or b"?>" in start or len(start) > _ATTRIBUTE_BYTES
        ):
            yield _of_right_encoding(opening)
            opening = None
    if opening:
        yield _of_right_encoding(opening)


def _of_right_encoding(opening: bytes) -> bytes:
    start = opening.removeprefix(_BYTE_ORDER_MARK)
    if opening.startswith((b"\xff\xfe", b"\xfe\xff")) or (start == opening and b"\0" in opening[:4]):
        raise Refused("ENCODING", "it is UTF-16 or UTF-32")
    declared = _DECLARATION.match(start)
    if declared and (declared["version"] != b"1.0" or (declared["encoding"] or b"utf-8").lower() != b"utf-8"):
        raise Refused("ENCODING", f"it declares itself as {declared[0]!r}")
    if start.startswith(_BYTE_ORDER_MARK):
        raise Refused("NOT_WELL_FORMED", "a second byte order mark, which lxml would not report")
    return start


class Guard:
    """A parser target that stops at the first part of a document that is not allowed."""

    def __init__(self) -> None:
        self.depth = 0
        self.elements = 0
        self.attributes = 0

    def doctype(self, *_: str | None) -> NoReturn:
        """Called at a document type declaration."""
        raise Refused("DTD")

    def start_ns(self, _prefix: str, uri: str) -> None:
        """Called for a namespace declaration, before the element."""
        self.attributes += 1
        self._bound(uri)

    def start(self, _tag: str, attributes: Mapping[str, str]) -> None:
        """Called at a start tag."""
        self.depth += 1
        self.elements += 1
        self.attributes += len(attributes)
        if self.depth > _DEPTH or self.elements > _ELEMENTS or self.attributes > _ATTRIBUTES_READ:
            raise Refused("LIMIT")
        for value in attributes.values():
            self._bound(value.replace("&#38;", "&"))  # libxml2 hands on an ampersand of an attribute in this form

    def end(self, _tag: str) -> None:
        """Called at an end tag."""
        self.depth -= 1

    def close(self) -> None:
        """Called at the end of the document."""

    def _bound(self, value: str) -> None:
        if len(value.encode()) > _ATTRIBUTE_BYTES:
            raise Refused("LIMIT")


def _integer(digits: str) -> int | float:
    """Return a number without fraction and exponent; Python's own reader refuses one of more than 4,300 digits."""
    return int(digits) if len(digits) < _LONGEST_INTEGER else float(digits)


def _no_constant(literal: str) -> NoReturn:
    raise ValueError(f"JSON has no {literal}")
