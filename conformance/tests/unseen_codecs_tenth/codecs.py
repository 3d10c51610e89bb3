"""Twelve further wrong codecs, each with one mistake, and four further that look unusual and are right.

`CODECS` has them by name, `EXPECTED` the ids of the broken sentence and of those that a fair judge might name instead;
a codec that is right has none.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import BadDisplay, Illegal, Refused, Response
from xmcp_conformance.reader.schemas import validator
from xmcp_conformance.wrong.codecs.miniature_codec import NO_XML, Channel, MiniatureCodec, Part

_BYTES, _JSON_DEPTH = 8 * 1024 * 1024, 64  # section 2.6
_BLANKS = " \t\r\n"
_SAFE = 2**53 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")
_BYTE_ORDER_MARK = "\ufeff"


def _changed(value: Any, change: Callable[[Any], Any], depth: int = 1) -> Any:
    """Return a value with `change` made to it and to everything inside it, from the inside to the outside.

    What holds nothing that changes is the value itself, and so is what is nested too deep to be written.
    """
    if depth > _JSON_DEPTH + 1:
        return value
    if isinstance(value, Mapping):
        members = {key: _changed(item, change, depth + 1) for key, item in value.items()}
        value = value if all(members[key] is item for key, item in value.items()) else members
    elif isinstance(value, list | tuple):
        items = [_changed(item, change, depth + 1) for item in value]
        value = value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return change(value)


# Writing


class FlooredOffset(MiniatureCodec):
    """Breaks XMCP-RSP-048: divides a negative offset with rounding down, so that -03:30 is written as -04:30."""

    def _json(self, value: Any, channel: Channel) -> str:
        return super()._json(_changed(value, self._date), channel)

    def _date(self, value: Any) -> Any:
        if not isinstance(value, datetime.datetime | datetime.time):
            return value
        offset = value.utcoffset()
        if not offset or offset.total_seconds() % 60:
            return value
        minutes = int(offset.total_seconds()) // 60
        return f"{value.replace(tzinfo=None).isoformat()}{minutes // 60:+03d}:{minutes % 60:02d}"


class ListOfIntegerNames(MiniatureCodec):
    """Breaks XMCP-RSP-051: writes an object whose names are the integers from 0 on as an array, as PHP does."""

    def _json(self, value: Any, channel: Channel) -> str:
        return super()._json(_changed(value, self._list), channel)

    def _list(self, value: Any) -> Any:
        if not isinstance(value, Mapping) or not value or any(type(key) is not int for key in value):
            return value
        return list(value.values()) if list(value) == list(range(len(value))) else value


class NamesComparedTooEarly(MiniatureCodec):
    """Breaks XMCP-RSP-052: compares names before it replaces unpaired surrogates; of two the same, the last stays."""

    def _json(self, value: Any, channel: Channel) -> str:
        def replaced(inner: Any) -> Any:
            if not isinstance(inner, Mapping):
                return inner
            return {
                channel.carry(key, _SURROGATE) if isinstance(key, str) else key: item for key, item in inner.items()
            }

        return super()._json(_changed(value, replaced), channel)


class TagOverTwoLines(MiniatureCodec):
    """Breaks XMCP-RSP-027: looks for the tags that CDATA cannot hold on one line only."""

    _tag = re.compile(r"</?(?:tool_response|llm_output|display|error|meta|server_populated)\b[^>\n]*>", re.IGNORECASE)

    def _text(self, text: str) -> str:
        if ("<" in text or "&" in text) and "\r" not in text and "]]>" not in text and not self._tag.search(text):
            return f"<![CDATA[{text}]]>"
        return super()._text(text)


# Reading


class PythonInteger(MiniatureCodec):
    """Breaks XMCP-RSP-063: takes for `retry_after_ms` whatever Python's `int` takes, such as 1_000."""

    def _check_structure(self, root: etree._Element) -> None:
        for error in root.iter("error"):
            try:
                after = int(error.get("retry_after_ms", ""))
            except ValueError:
                continue
            if 0 <= after <= _SAFE:
                error.set("retry_after_ms", str(after))
        super()._check_structure(root)


class LossyOfAnyElement(MiniatureCodec):
    """Breaks XMCP-RSP-066: a response is lossy where an element in a foreign namespace has an attribute `lossy`."""

    _lossy = False

    def _forget_the_unknown(self, root: etree._Element) -> None:
        self._lossy = any(self._boolean(element.get("lossy")) for element in root.iter("*"))
        super()._forget_the_unknown(root)

    def _response(self, root: etree._Element, bad_display: BadDisplay) -> tuple[Response, int]:
        response, warnings = super()._response(root, bad_display)
        response["lossy"] = self._lossy
        return response, warnings


class MessageUpToComment(MiniatureCodec):
    """Breaks XMCP-RSP-067: takes as the message of an error its first text node, which ends at a comment."""

    _message = ""

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        held = bytearray()

        def seen() -> Iterator[bytes]:
            for chunk in chunks:
                held.extend(chunk)
                yield chunk

        root = super()._tree(seen())
        self._message = etree.fromstring(bytes(held), self._parser()).findtext("error") or ""
        return root

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        return super()._error_of(element) | {"message": self._message.strip(_BLANKS)}


class MarkOfEachPiece(MiniatureCodec):
    """Breaks XMCP-RSP-071: removes a byte order mark at the beginning of each piece, and not only of the first."""

    def decode_pieces(
        self, arriving: Iterable[str | bytes], *, bad_display: BadDisplay = "raise"
    ) -> tuple[Response, int]:
        """Return the response in a document in pieces, and the number of warnings."""
        pieces = (self._unmarked(piece) if number else piece for number, piece in enumerate(arriving))
        return super().decode_pieces(pieces, bad_display=bad_display)

    def _unmarked(self, piece: str | bytes) -> str | bytes:
        if isinstance(piece, bytes):
            return piece.removeprefix(_BYTE_ORDER_MARK.encode())
        return piece.removeprefix(_BYTE_ORDER_MARK)


class BracketsAfterEscapedQuote(MiniatureCodec):
    """Breaks XMCP-RSP-080: takes an escaped quotation mark for the end of a string, and counts the brackets in it."""

    _brackets = re.compile(r'"[^"]*"|[\[\]{}]')

    def _value_of(self, text: str) -> Any:
        depth = 0
        for match in self._brackets.finditer(text):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
            if depth > _JSON_DEPTH:
                raise Refused("LIMIT")
        return super()._value_of(text)


class NoPrototype(MiniatureCodec):
    """Breaks XMCP-RSP-086: loses the member `__proto__`, as JavaScript does that copies an object by assignments."""

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = super()._object(pairs)
        members.pop("__proto__", None)
        return members


class BooleanIsNumber(MiniatureCodec):
    """Breaks XMCP-DSP-008: takes `true` for a number in a payload, because Python's `bool` is an `int`."""

    _numbers = frozenset({"bytes", "delta", "height", "size", "total_rows", "value", "width"})

    def _envelope_of(self, element: etree._Element) -> Any:
        value = self._value_of(self._text_of(element))
        if not validator("display_envelope").is_valid(_changed(value, self._counted)):
            return super()._envelope_of(element)
        return value

    def _counted(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            key: int(item) if key in self._numbers and isinstance(item, bool) else item for key, item in value.items()
        }


class WaitMeansRetryable(MiniatureCodec):
    """Breaks XMCP-ERR-015: takes an error without `retryable` for retryable where it has `retry_after_ms`."""

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        if element.get("retryable") is None and error["retry_after_ms"] is not None:
            error["retryable"] = True
        return error


# Odd, and right


class SpreadOut(MiniatureCodec):
    """Breaks nothing: writes defaults, empty-element tags, single quotes, numbers for references, and white space."""

    _defaults: Mapping[str, Mapping[str, str]] = {
        "tool_response": {"version": "1.0", "lossy": "false"},
        "llm_output": {"truncated": "0", "lossy": "false"},
        "error": {"lossy": "0"},
    }

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        """Return the document of a response; without all this where it would be too large."""
        document = super().encode(response, illegal=illegal)
        if len(document.encode()) > _BYTES:
            return MiniatureCodec().encode(response, illegal=illegal)
        return document

    def _write(self, part: Part) -> str:
        values = {**self._defaults.get(part.name, {}), **part.attributes}
        if "retryable" in values:
            values["retryable"] = {"true": "1", "false": "0"}[values["retryable"]]
        attributes = "".join(f"\n {name} = '{self._attribute(values[name])}'" for name in reversed(values))
        inner = "".join(f"\n{self._write(child)}" for child in part.parts)
        if part.name == "llm_output":
            content = self._text(part.text)
        elif part.name == "tool_response":
            content = f"{inner}\n"
        else:
            content = f"\n\t{self._text(part.text)} {inner}\n"
        end = "\n" if part.name == "tool_response" else ""
        if not content:
            return f"<{part.name}{attributes} />{end}"
        return f"<{part.name}{attributes} >{content}</{part.name} >{end}"

    def _text(self, text: str) -> str:
        return text.replace("&", "&#38;").replace("<", "&#x3C;").replace(">", "&#062;").replace("\r", "&#13;")

    def _attribute(self, value: str) -> str:
        return self._text(value).replace("'", "&apos;").replace("\t", "&#x9;").replace("\n", "&#xA;")


class SortedJson(MiniatureCodec):
    """Breaks nothing: writes JSON with sorted members, over many lines, with `\\/`, and beyond ASCII as it is."""

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        """Return the document of a response; with compact JSON where it would be too large."""
        document = super().encode(response, illegal=illegal)
        if len(document.encode()) > _BYTES:
            return MiniatureCodec().encode(response, illegal=illegal)
        return document

    def _json(self, value: Any, channel: Channel) -> str:
        text = json.dumps(json.loads(super()._json(value, channel)), ensure_ascii=False, indent=4, sort_keys=True)
        text = re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text.replace("/", "\\/"))
        return NO_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class EveryNumberADouble(MiniatureCodec):
    """Breaks nothing: reads every number of JSON as a double, and delivers a whole one as an integer."""

    def _value_of(self, text: str) -> Any:
        return _changed(super()._value_of(text), self._double)

    def _double(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        try:
            double = float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
        return int(double) if double and abs(double) <= _SAFE and double.is_integer() else double if double else value


class JsonFirst(MiniatureCodec):
    """Breaks nothing: where both have faults, reports those of the JSON before those of the structure."""

    _bad_display: BadDisplay = "raise"

    def decode_pieces(
        self, arriving: Iterable[str | bytes], *, bad_display: BadDisplay = "raise"
    ) -> tuple[Response, int]:
        """Return the response in a document in pieces, and the number of warnings."""
        self._bad_display = bad_display
        return super().decode_pieces(arriving, bad_display=bad_display)

    def _check_structure(self, root: etree._Element) -> None:
        if root.tag == "tool_response":
            for element in [*root.findall("server_populated"), *root.findall("error/meta"), *root.findall("display")]:
                if len(element):  # an element inside, so there is no one text to judge
                    continue
                if element.tag != "display":
                    self._object_of(element)
                elif self._bad_display == "raise":
                    self._envelope_of(element)
        super()._check_structure(root)


CODECS: dict[str, type[MiniatureCodec]] = {
    "floored_offset": FlooredOffset,
    "list_of_integer_names": ListOfIntegerNames,
    "names_compared_too_early": NamesComparedTooEarly,
    "tag_over_two_lines": TagOverTwoLines,
    "python_integer": PythonInteger,
    "lossy_of_any_element": LossyOfAnyElement,
    "message_up_to_comment": MessageUpToComment,
    "mark_of_each_piece": MarkOfEachPiece,
    "brackets_after_escaped_quote": BracketsAfterEscapedQuote,
    "no_prototype": NoPrototype,
    "boolean_is_number": BooleanIsNumber,
    "wait_means_retryable": WaitMeansRetryable,
    "spread_out": SpreadOut,
    "sorted_json": SortedJson,
    "every_number_a_double": EveryNumberADouble,
    "json_first": JsonFirst,
}

EXPECTED: dict[str, tuple[str, ...]] = {
    "floored_offset": ("XMCP-RSP-048",),
    "list_of_integer_names": ("XMCP-RSP-051", "XMCP-RSP-054"),
    "names_compared_too_early": ("XMCP-RSP-052", "XMCP-RSP-053", "XMCP-RSP-054"),
    "tag_over_two_lines": ("XMCP-RSP-027",),
    "python_integer": ("XMCP-RSP-063", "XMCP-ERR-004"),
    "lossy_of_any_element": ("XMCP-RSP-066",),
    "message_up_to_comment": ("XMCP-RSP-067", "XMCP-ERR-014"),
    "mark_of_each_piece": ("XMCP-RSP-071", "XMCP-RSP-067"),
    "brackets_after_escaped_quote": ("XMCP-RSP-080", "XMCP-RSP-077"),
    "no_prototype": ("XMCP-RSP-086",),
    "boolean_is_number": ("XMCP-DSP-008",),
    "wait_means_retryable": ("XMCP-ERR-015",),
    "spread_out": (),
    "sorted_json": (),
    "every_number_a_double": (),
    "json_first": (),
}
