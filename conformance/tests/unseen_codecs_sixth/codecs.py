"""Twelve further wrong codecs, each with one mistake, and four further that look unusual and are right.

`CODECS` has them by name, `EXPECTED` the ids of the broken sentence and of those that a fair judge might name instead;
a codec that is right has none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import Illegal, Refused, Response
from xmcp_conformance.reader.schemas import validator
from xmcp_conformance.wrong.codecs.miniature_codec import Channel, Guard, MiniatureCodec, Part

_NAMES = "(?:tool_response|llm_output|display|error|meta|server_populated)"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


# Writing


class MarkOfAFile(MiniatureCodec):
    """Takes U+FEFF at the beginning of `llm_output` for a byte order mark and leaves it out (XMCP-RSP-020).

    XMCP-RSP-004 forbids the mark of a document, not a character of the text, such as that of a file which a tool read.
    """

    def _root(self, response: Response, illegal: Illegal) -> Part:
        text = response.get("llm_output")
        if isinstance(text, str):
            response = response | {"llm_output": text.removeprefix("\ufeff")}
        return super()._root(response, illegal)


class EmptyTagsInCdata(MiniatureCodec):
    """Writes text with markup as CDATA unless it has a forged tag, and misses the tag `<display/>` (XMCP-RSP-027).

    Its pattern wants white space after the name, or the end of the tag: it knows `<display />` and not `<display/>`.
    """

    _forged = re.compile(rf"</?{_NAMES}(?:\s[^>]*)?>", re.IGNORECASE)

    def _text(self, text: str) -> str:
        """Return CDATA where the text has markup."""
        if not re.search("[<&]", text) or "\r" in text or "]]>" in text or self._forged.search(text):
            return super()._text(text)
        return f"<![CDATA[{text}]]>"


class ValuesEscapedNamesNot(MiniatureCodec):
    """Writes `<`, `>` and `&` as JSON escapes in the values, and forgets the names of members (XMCP-RSP-042).

    A table with a column `R&D` shows it: XML's own escaping keeps the document well-formed.
    """

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON in which the names have their markup."""
        escape = re.compile(r"\\(?:u003c|u003e|u0026|.)")
        plain = {r"\u003c": "<", r"\u003e": ">", r"\u0026": "&"}
        text = super()._json(value, channel)

        def rewritten(match: re.Match[str]) -> str:
            if not text.startswith(":", match.end()):
                return match[0]
            return escape.sub(lambda found: plain.get(found[0], found[0]), match[0])

        return _STRING.sub(rewritten, text)


class ZeroIsNothing(MiniatureCodec):
    """Asks `if retry_after_ms` before it refuses one that is not retryable, so that it writes 0 (XMCP-ERR-005)."""

    def _error(self, error: Mapping[str, Any], illegal: Illegal) -> Part:
        if error.get("retry_after_ms") != 0 or error["retryable"]:
            return super()._error(error, illegal)
        part = super()._error({**error, "retry_after_ms": None}, illegal)
        part.attributes["retry_after_ms"] = "0"
        return part


class UnmarkedAttributes(MiniatureCodec):
    """Replaces what XML cannot carry in `tool_name` and `call_id`, and marks only elements for their text.

    The root element has no `lossy="true"` then (XMCP-RSP-026).
    """

    def _part(
        self, name: str, attributes: Mapping[str, str | None], illegal: Illegal, text: str = "", *, lossy: bool = False
    ) -> Part:
        legal = {
            key: value if value is None else self._legal(value, Channel(illegal)) for key, value in attributes.items()
        }
        return super()._part(name, legal, illegal, text, lossy=lossy)


class OmitEmpty(MiniatureCodec):
    """Leaves out a member of `server_populated` that is empty, as `omitempty` in Go does (XMCP-RSP-054).

    It is about the three known members, `values`, `redacted` and `overridden`; what is empty within them is written.
    """

    _empty: Mapping[str, Any] = {"values": {}, "redacted": [], "overridden": []}

    def _root(self, response: Response, illegal: Illegal) -> Part:
        filled = response.get("server_populated")
        if isinstance(filled, Mapping):
            kept = {
                name: value for name, value in filled.items() if name not in self._empty or value != self._empty[name]
            }
            response = response | {"server_populated": kept}
        return super()._root(response, illegal)


# Reading


class WaitMeansRetry(MiniatureCodec):
    """Takes an error that says when to retry, and not whether, for retryable (XMCP-ERR-015)."""

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        if "retryable" not in element.attrib and error["retry_after_ms"] is not None:
            error["retryable"] = True
        return error


class BlankIsEmpty(MiniatureCodec):
    """Delivers a text of white space only as an empty one, as parsers do that drop blank text (XMCP-RSP-067)."""

    def _text_of(self, element: etree._Element) -> str:
        """Return the character data, unless it is blank."""
        text = super()._text_of(element)
        return text if text.strip(" \t\r\n") else ""


class AbsentIfWrong(MiniatureCodec):
    """Leaves out a known member of `meta` that is not as the schema says (XMCP-RSP-086).

    It is the program that acts on `meta` which acts as if such a member were absent; a reader delivers it. The document
    is not refused, so XMCP-ERR-009 is kept, but a judge can find the fault where it looks after that sentence.
    """

    _known = (
        "error_id",
        "params",
        "fields",
        "side_effects",
        "recovery",
        "limit",
        "localized",
        "help",
        "cause",
        "upstream_status",
    )

    def _error_of(self, element: etree._Element) -> dict[str, Any]:
        error = super()._error_of(element)
        if error["meta"] is not None:
            error["meta"] = {
                name: value
                for name, value in error["meta"].items()
                if name not in self._known or validator("error_meta").is_valid({name: value})
            }
        return error


class BracketsInStrings(MiniatureCodec):
    """Counts the brackets in strings towards the depth of JSON, and refuses what is not deep (XMCP-RSP-080).

    Coloured terminal output in a display shows it: each colour begins with U+001B and an opening bracket.
    """

    def _value_of(self, text: str) -> Any:
        """Return the JSON value if it has few brackets."""
        depth = 0
        for match in re.finditer(r"[\[\]{}]", text):
            depth += 1 if match[0] in "[{" else -1
            if depth > 64:
                raise Refused("LIMIT")
        return super()._value_of(text)


class LocalNames(MiniatureCodec):
    """Looks for attributes by their local names, as in `v:retryable="true"`, where the own one is absent.

    It does not ignore attributes in a namespace that it does not know (XMCP-RSP-066).
    """

    _own: Mapping[str, tuple[str, ...]] = {
        "tool_response": ("tool_name", "version", "call_id", "lossy"),
        "llm_output": ("format", "truncated", "lossy"),
        "display": ("lossy",),
        "error": ("code", "retryable", "retry_after_ms", "category", "lossy"),
        "meta": ("lossy",),
        "server_populated": ("lossy",),
    }

    def _forget_the_unknown(self, root: etree._Element) -> None:
        """Copy what has a known local name, then remove what a reader ignores."""
        for element in root.iter("*"):
            for name, value in list(element.attrib.items()):
                local = etree.QName(name).localname
                if local in self._own.get(element.tag, ()) and local not in element.attrib:
                    element.set(local, value)
        super()._forget_the_unknown(root)


class FallbackOnFaith(MiniatureCodec):
    """Checks an envelope without its `fallback`, which only a renderer would need (XMCP-DSP-008)."""

    def _envelope_of(self, element: etree._Element) -> Any:
        value = self._value_of(self._text_of(element))
        seen = {name: part for name, part in value.items() if name != "fallback"} if isinstance(value, dict) else value
        if not validator("display_envelope").is_valid(seen):
            raise Refused("BAD_ENVELOPE")
        return value


# Unusual and right


class NumbersForReferences(MiniatureCodec):
    """Writes references as numbers, attributes in single quotes, and the shortest tag for an empty element.

    In text, `>` stays as it is except after `]]` (XMCP-RSP-023). White space in tags is where XML allows it.
    """

    def _text(self, text: str) -> str:
        """Return text with references in decimal and hexadecimal digits."""
        text = text.replace("&", "&#38;").replace("<", "&#x3C;").replace("]]>", "]]&#62;")
        return text.replace("\r", "&#13;")

    def _attribute(self, value: str) -> str:
        """Return a value for single quotes, in ASCII."""
        return re.sub(r"[&<>'\t\n\r]|[^\0-~]", lambda match: f"&#x{ord(match[0]):X};", value)

    def _write(self, part: Part) -> str:
        attributes = "".join(f"\n{name} = '{self._attribute(value)}'" for name, value in part.attributes.items())
        content = self._text(part.text) + "".join(self._write(inner) for inner in part.parts)
        return f"<{part.name}{attributes}>{content}</{part.name} >" if content else f"<{part.name}{attributes} />"


class NeedlessEscapes(MiniatureCodec):
    """Writes the first letter of each string in JSON as an escape, and each slash with a backslash.

    So it writes `"type"` as `"\\u0074ype"`. RFC 8259 allows both; the value is the same.
    """

    def _json(self, value: Any, channel: Channel) -> str:
        """Return JSON with more escapes than it needs, and white space around it."""

        def escaped(match: re.Match[str]) -> str:
            text = match[0].replace("/", r"\/")
            return f'"\\u{ord(text[1]):04X}{text[2:]}' if re.match("[A-Za-z]", text[1]) else text

        return f"\n{_STRING.sub(escaped, super()._json(value, channel))} "


class NumbersAsDoubles(MiniatureCodec):
    """Delivers an integer beyond 2^53-1 as the nearest double, as section 2.4 says of readers.

    An emitter never writes such a number (XMCP-RSP-043), and a reader does not refuse it.
    """

    def _value_of(self, text: str) -> Any:
        """Return the JSON value with its large integers as doubles hold them."""
        return self._rounded(super()._value_of(text))

    def _rounded(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._rounded(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self._rounded(part) for part in value]
        if isinstance(value, int) and 2**53 <= abs(value) < 10**308:
            return int(float(value))
        return value


class VersionAtOnce(MiniatureCodec):
    """Refuses another major version at the start tag of the root, before it knows whether the rest is well-formed.

    XMCP-RSP-074 lets a reader report any one of the faults; without another fault it is the one of XMCP-RSP-075.
    """

    def _guard(self) -> Guard:
        return _GuardOfVersions()


class _GuardOfVersions(Guard):
    """Stops at a root element of another major version."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Called at a start tag."""
        super().start(tag, attributes)
        version = re.fullmatch(r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})", attributes.get("version", "1.0"))
        if self.depth == 1 and tag == "tool_response" and version and version[1] != "1":
            raise Refused("VERSION", version[0])


_WRONG: tuple[tuple[str, type[MiniatureCodec], tuple[str, ...]], ...] = (
    ("sixth-mark-of-a-file", MarkOfAFile, ("XMCP-RSP-020",)),
    ("sixth-empty-tags-in-cdata", EmptyTagsInCdata, ("XMCP-RSP-027",)),
    ("sixth-values-escaped-names-not", ValuesEscapedNamesNot, ("XMCP-RSP-042",)),
    ("sixth-zero-is-nothing", ZeroIsNothing, ("XMCP-ERR-005",)),
    ("sixth-unmarked-attributes", UnmarkedAttributes, ("XMCP-RSP-026",)),
    ("sixth-omit-empty", OmitEmpty, ("XMCP-RSP-054",)),
    ("sixth-wait-means-retry", WaitMeansRetry, ("XMCP-ERR-015",)),
    ("sixth-blank-is-empty", BlankIsEmpty, ("XMCP-RSP-067",)),
    ("sixth-absent-if-wrong", AbsentIfWrong, ("XMCP-RSP-086", "XMCP-ERR-009")),
    ("sixth-brackets-in-strings", BracketsInStrings, ("XMCP-RSP-080", "XMCP-RSP-068")),
    ("sixth-local-names", LocalNames, ("XMCP-RSP-066", "XMCP-RSP-063", "XMCP-ERR-015")),
    ("sixth-fallback-on-faith", FallbackOnFaith, ("XMCP-DSP-008", "XMCP-DSP-005", "XMCP-DSP-015")),
)

_ODD: tuple[tuple[str, type[MiniatureCodec]], ...] = (
    ("sixth-numbers-for-references", NumbersForReferences),
    ("sixth-needless-escapes", NeedlessEscapes),
    ("sixth-numbers-as-doubles", NumbersAsDoubles),
    ("sixth-version-at-once", VersionAtOnce),
)

CODECS: dict[str, type[MiniatureCodec]] = {name: codec for name, codec, _ in _WRONG} | dict(_ODD)
EXPECTED: dict[str, tuple[str, ...]] = {name: ids for name, _, ids in _WRONG} | {name: () for name, _ in _ODD}
