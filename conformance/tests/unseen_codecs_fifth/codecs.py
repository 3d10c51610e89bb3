"""Twelve further wrong codecs, each with one mistake, and four further that look unusual and are right.

`CODECS` has them by name, `EXPECTED` the ids of the broken sentence and of those that a fair judge might name instead;
a codec that is right has none.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import BadDisplay, Illegal, Refused, Response
from xmcp_conformance.reader.schemas import validator
from xmcp_conformance.wrong.codecs.miniature_codec import Channel, MiniatureCodec, Part

_NAMES = "(?:tool_response|llm_output|display|error|meta|server_populated)"
_DEEPEST = 70
"""Deeper values are left as they are: no document can have them."""
_SAFE = 2**53 - 1
_JSON_DEPTH = 64
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_STRING = r'"(?:[^"\\]|\\.)*"'
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"


def _mapped(value: Any, change: Callable[[Any], Any], depth: int = 0) -> Any:
    """Return a value in which `change` was applied to each value within it and to itself, from the outside."""
    value = change(value)
    if depth > _DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {name: _mapped(part, change, depth + 1) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(part, change, depth + 1) for part in value]
    return value


def _renamed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return an object with changed member names, or the value as it is where there is none or two would be one."""
    if not isinstance(value, Mapping):
        return value
    members = {change(name): part for name, part in value.items()}
    return members if len(members) == len(value) else value


# Writing


class ReferencesKept(MiniatureCodec):
    """Writes carriage returns as `&#13;` first, and then every `&` as a reference but that of a `&#13;`.

    So a `&#13;` that the text itself has, as a page about XML does, is written as it stands (XMCP-RSP-022).
    """

    def _text(self, text: str) -> str:
        written = re.sub("&(?!#13;)", "&amp;", text.replace("\r", "&#13;"))
        return written.replace("<", "&lt;").replace(">", "&gt;")


class TagsOnOneLine(MiniatureCodec):
    """Writes text with markup as CDATA unless it has a forged tag, and finds such a tag only within one line.

    The dot of its regular expression matches no line feed, so `<error`, a line feed and `code="X">` stand in CDATA
    (XMCP-RSP-027).
    """

    _forged = re.compile(rf"</?{_NAMES}(?=[\s/>]).*?>", re.IGNORECASE)

    def _text(self, text: str) -> str:
        """Return CDATA where the text has markup."""
        if not re.search("[<&]", text) or "\r" in text or "]]>" in text or self._forged.search(text):
            return super()._text(text)
        return f"<![CDATA[{text}]]>"


class LossyByTextOnly(MiniatureCodec):
    """Replaces illegal characters in attributes as in text, and marks an element as lossy only for its text.

    A `tool_name` or `call_id` with such a character is changed and nothing says so (XMCP-RSP-026).
    """

    def _part(
        self, name: str, attributes: Mapping[str, str | None], illegal: Illegal, text: str = "", *, lossy: bool = False
    ) -> Part:
        part = super()._part(name, attributes, illegal, text, lossy=lossy)
        if not lossy and part.text == text:
            part.attributes.pop("lossy", None)
        return part


class WholeNumbersInFull(MiniatureCodec):
    """Writes a double without fraction as an integer, in all its digits: 2.0 as 2, which is right.

    It does so too outside the range of XMCP-RSP-043: 1e18 as 1000000000000000000.
    """

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON in which no double ends with `.0` or has a positive exponent."""

        def in_full(match: re.Match[str]) -> str:
            token = match[0]
            if token.startswith('"') or not re.search("[.eE]", token):
                return token
            number = float(token)
            return str(int(number)) if number and number.is_integer() else token

        return re.sub(f"{_STRING}|{_NUMBER}", in_full, super()._json(value, channel))


class NamesOfJsonDumps(MiniatureCodec):
    """Writes member names that are `None`, a boolean or a float, as `json.dumps` does: {None: 3} as {"null": 3}.

    XMCP-RSP-052 demands that it refuses them. It refuses names that would be the same, and tuples and the like.
    """

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON in which every such name is a string."""

        def name(key: Any) -> Any:
            return json.dumps(key) if key is None or isinstance(key, bool | float) else key

        return super()._json(_mapped(value, lambda part: _renamed(part, name)), channel)


# Reading


class ComposedText(MiniatureCodec):
    """Delivers text in Unicode's form NFC.

    An `e` with a combining accent, as file names of macOS have it, becomes one other character (XMCP-RSP-067).
    """

    def _response(self, root: etree._Element, bad_display: BadDisplay) -> tuple[Response, int]:
        response, warnings = super()._response(root, bad_display)
        if response.get("llm_output") is not None:
            response["llm_output"] = unicodedata.normalize("NFC", response["llm_output"])
        return response, warnings

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        return error | {"message": unicodedata.normalize("NFC", error["message"])}


class OneListOfAttributes(MiniatureCodec):
    """Ignores the attributes that no element has in this version, instead of those that this element has not.

    `<display truncated="true">` and `<error format="text/plain">` are refused (XMCP-RSP-079).
    """

    _root_has = frozenset({"tool_name", "version", "call_id", "lossy"})
    _parts_have = frozenset({"format", "truncated", "code", "retryable", "retry_after_ms", "category"})
    _known = _root_has | _parts_have

    def _forget_the_unknown(self, root: etree._Element) -> None:
        """Remove what it ignores, and let the schema find the rest."""
        had = [(element, dict(element.attrib)) for element in root.iter("*")]
        super()._forget_the_unknown(root)
        for element, attributes in had:
            for name in self._known & set(attributes):
                element.set(name, attributes[name])


class DropsBadMembers(MiniatureCodec):
    """Delivers `meta` of an error without the members that are not as the schema says, as if they were absent.

    A program that acts on them does so; a reader delivers them (XMCP-RSP-086).
    """

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        if error["meta"] is not None:
            valid = validator("error_meta").is_valid
            error["meta"] = {name: value for name, value in error["meta"].items() if valid({name: value})}
        return error


class CodeForNoMessage(MiniatureCodec):
    """Delivers the code as the message of an error whose message is empty.

    That is for programs that need a message; a reader delivers the empty text that is there (XMCP-ERR-014).
    """

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        return error | {"message": error["message"] or error["code"]}


class DropsBothAlike(MiniatureCodec):
    """As a client, drops a bad `server_populated` with a warning, as it drops a bad `display`.

    XMCP-RSP-072 is about `display` only; so the document breaks XMCP-RSP-069 and has to be refused.
    """

    def _response(self, root: etree._Element, bad_display: BadDisplay) -> tuple[Response, int]:
        dropped = 0
        for element in root.findall("server_populated") if bad_display == "drop" else []:
            try:
                self._object_of(element)
            except Refused as refusal:
                if refusal.error_class == "LIMIT":
                    raise
                root.remove(element)
                dropped += 1
        response, warnings = super()._response(root, bad_display)
        return response, warnings + dropped


class FallbackWhenNeeded(MiniatureCodec):
    """Checks that the `fallback` of an envelope is an object, and leaves the rest to whoever will show it.

    An envelope whose fallback has no payload, or a wrong one, is accepted (XMCP-DSP-008).
    """

    def _envelope_of(self, element: etree._Element) -> Any:
        value = self._value_of(self._text_of(element))
        checked = value
        if isinstance(value, dict) and isinstance(value.get("fallback"), dict):
            checked = value | {"fallback": {"type": "text", "payload": ""}}
        if not validator("display_envelope").is_valid(checked):
            raise Refused("BAD_ENVELOPE")
        return value


class ScalarsAreDeepToo(MiniatureCodec):
    """Measures the depth of JSON with a function that calls itself for every value, strings and numbers too.

    So an array at depth 64 is accepted only while it is empty, or has arrays deeper than allowed (XMCP-RSP-080).
    """

    def _value_of(self, text: str) -> Any:
        """Return the JSON value, if nothing in it is deeper than the limit."""
        value = super()._value_of(text)
        self._measure(value, 1)
        return value

    def _measure(self, value: Any, depth: int) -> None:
        if depth > _JSON_DEPTH:
            raise Refused("LIMIT")
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for part in parts:
            self._measure(part, depth + 1)


# Unusual and right


class OtherWaysOfXml(MiniatureCodec):
    """Writes XML as other libraries do: single quotes, empty-element tags, attributes in another order, lines.

    It leaves `>` as it is where it can, and writes the other references as numbers, in hexadecimal but for `&#13;`
    (XMCP-RSP-010, 022, 023, 024, 028).
    """

    def _write(self, part: Part) -> str:
        written = [f"\n {name} = '{self._attribute(value)}'" for name, value in part.attributes.items()]
        attributes = "".join(reversed(written))
        between = "\n\t" if part.name == "tool_response" else ""
        content = self._text(part.text) + "".join(between + self._write(inner) for inner in part.parts) + between
        return f"<{part.name}{attributes}>{content}</{part.name}\n>" if content else f"<{part.name}{attributes} />"

    def _text(self, text: str) -> str:
        written = text.replace("&", "&#x26;").replace("<", "&#x3C;").replace("\r", "&#13;")
        return written.replace("]]>", "]]&#x3E;")

    def _attribute(self, value: str) -> str:
        return re.sub("[&<'\t\n\r]", lambda match: f"&#x{ord(match[0]):X};", value)


class LastMemberFirst(MiniatureCodec):
    """Writes the members of an object in reverse order, and every letter of a short string as an escape.

    JSON allows both, for members have no order (XMCP-RSP-040); arrays keep theirs (XMCP-RSP-054).
    """

    _long = 1200

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON from a second writing of the usual JSON."""

        def reversed_members(part: Any) -> Any:
            return dict(reversed(part.items())) if isinstance(part, dict) else part

        usual = json.loads(super()._json(value, channel))
        again = json.dumps(_mapped(usual, reversed_members), separators=(", ", " : "))
        return re.sub(_STRING, self._escapes, again)

    def _escapes(self, string: re.Match[str]) -> str:
        units = json.loads(string[0]).encode("utf-16-be").hex()
        escapes = "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
        text = escapes if len(escapes) <= self._long else string[0][1:-1]
        return "".join(['"', re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text), '"'])


class PairsAreCharacters(MiniatureCodec):
    """Takes two surrogates that are a pair for the character that they are in UTF-16, as JavaScript and Java do.

    XMCP-RSP-025 and 053 are about code points that XML does not allow, and about unpaired surrogates.
    """

    def _legal(self, text: str, channel: Channel) -> str:
        return super()._legal(self._joined(text), channel)

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON of the value with whole characters."""
        return super()._json(_mapped(value, self._joined_within), channel)

    def _joined_within(self, value: Any) -> Any:
        return self._joined(value) if isinstance(value, str) else _renamed(value, self._joined)

    def _joined(self, text: Any) -> Any:
        if not isinstance(text, str):
            return text
        return _PAIR.sub(lambda match: match[0].encode("utf-16-be", "surrogatepass").decode("utf-16-be"), text)


class NumbersAreDoubles(MiniatureCodec):
    """Reads every number in JSON as a double, and delivers it as an integer where it is one: 2.0 as 2.

    An integer that no double can hold becomes one near it, as section 2.5 allows; the largest one where it is beyond.
    """

    def _value_of(self, text: str) -> Any:
        """Return the JSON value with doubles for numbers."""
        return _mapped(super()._value_of(text), self._double)

    def _double(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        if isinstance(value, int) and abs(value) <= _SAFE:
            return value
        largest = sys.float_info.max
        double = float(max(-largest, min(largest, value)))
        return int(double) if double and double.is_integer() and abs(double) <= _SAFE else double


_WRONG: tuple[tuple[str, type[MiniatureCodec], tuple[str, ...]], ...] = (
    ("references-kept", ReferencesKept, ("XMCP-RSP-022", "XMCP-RSP-020")),
    ("tags-on-one-line", TagsOnOneLine, ("XMCP-RSP-027",)),
    ("lossy-by-text-only", LossyByTextOnly, ("XMCP-RSP-026",)),
    ("whole-numbers-in-full", WholeNumbersInFull, ("XMCP-RSP-043",)),
    ("names-of-json-dumps", NamesOfJsonDumps, ("XMCP-RSP-052",)),
    ("composed-text", ComposedText, ("XMCP-RSP-067", "XMCP-ERR-014")),
    ("one-list-of-attributes", OneListOfAttributes, ("XMCP-RSP-079",)),
    ("drops-bad-members", DropsBadMembers, ("XMCP-RSP-086", "XMCP-ERR-009")),
    ("code-for-no-message", CodeForNoMessage, ("XMCP-ERR-014",)),
    ("drops-both-alike", DropsBothAlike, ("XMCP-RSP-069", "XMCP-RSP-072")),
    ("fallback-when-needed", FallbackWhenNeeded, ("XMCP-DSP-008", "XMCP-DSP-005")),
    ("scalars-are-deep-too", ScalarsAreDeepToo, ("XMCP-RSP-080",)),
)

_ODD: tuple[tuple[str, type[MiniatureCodec]], ...] = (
    ("other-ways-of-xml", OtherWaysOfXml),
    ("last-member-first", LastMemberFirst),
    ("pairs-are-characters", PairsAreCharacters),
    ("numbers-are-doubles", NumbersAreDoubles),
)

CODECS: dict[str, type[MiniatureCodec]] = {name: codec for name, codec, _ in _WRONG} | dict(_ODD)
EXPECTED: dict[str, tuple[str, ...]] = {name: ids for name, _, ids in _WRONG} | {name: () for name, _ in _ODD}
