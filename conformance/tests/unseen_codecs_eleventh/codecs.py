"""Twelve further wrong codecs, each with one mistake, and four further that look unusual and are right.

`CODECS` has them by name, `EXPECTED` the ids of the broken sentence and of those that a fair judge might name instead;
a codec that is right has none.
"""

from __future__ import annotations

import codecs
import datetime
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lxml import etree

from xmcp_conformance.profiles.codec.vector_checks import Illegal, Refused
from xmcp_conformance.wrong.codecs.miniature_codec import Channel, MiniatureCodec, Part

_BYTES, _JSON_DEPTH = 8 * 1024 * 1024, 64  # section 2.6
_SAFE = 2**53 - 1


def _changed(value: Any, change: Callable[[Any], Any], depth: int = 1) -> Any:
    """Return a JSON value with `change` made to each value in it, the innermost first."""
    if depth > _JSON_DEPTH:
        return value
    if isinstance(value, Mapping):
        value = {key: _changed(item, change, depth + 1) for key, item in value.items()}
    elif isinstance(value, list | tuple):
        value = [_changed(item, change, depth + 1) for item in value]
    return change(value)


# Wrong when writing


class OffsetsByFloor(MiniatureCodec):
    """Breaks XMCP-RSP-048: splits an offset west of Greenwich with a division that rounds down: -03:30 is -04:30."""

    def _json(self, value: Any, channel: Channel) -> str:
        return super()._json(_changed(value, self._with_offset), channel)

    def _with_offset(self, value: Any) -> Any:
        if not isinstance(value, datetime.datetime | datetime.time) or (offset := value.utcoffset()) is None:
            return value
        minutes = int(offset.total_seconds()) // 60
        if minutes >= 0 or not minutes % 60:
            return value
        return f"{value.replace(tzinfo=None).isoformat()}{minutes // 60:+03d}:{minutes % 60:02d}"


class DatesAsNames(MiniatureCodec):
    """Breaks XMCP-RSP-052: writes a member name that is a date, as readers of YAML make them, by its JSON form."""

    def _json(self, value: Any, channel: Channel) -> str:
        return super()._json(_changed(value, self._named), channel)

    def _named(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        named = {key.isoformat() if isinstance(key, datetime.date) else key: item for key, item in value.items()}
        return named if len(named) == len(value) else value


class _WithoutLookBehind(Channel):
    """Looks for a low surrogate together with the character before it, which the match then uses up."""

    def carry(self, text: str, cannot: re.Pattern[str]) -> str:
        legal = super().carry(text, cannot)
        if legal == text:
            return text
        mended = re.sub("[\ud800-\udbff]", "\ufffd", text)
        return re.sub("(^|[^\ud800-\udbff])[\udc00-\udfff]", "\\1\ufffd", mended)


class EverySecondHalf(MiniatureCodec):
    """Breaks XMCP-RSP-053: of low surrogates that follow each other in JSON, replaces every second one only."""

    def _json(self, value: Any, channel: Channel) -> str:
        own = _WithoutLookBehind(channel.illegal, channel.lossy)
        text = super()._json(value, own)
        channel.lossy = own.lossy
        return text


class TagsUpToTheSpace(MiniatureCodec):
    """Breaks XMCP-RSP-027: writes CDATA where that is not longer, and knows a tag by a space, `/` or `>` after it."""

    _tag = re.compile("</?(?:tool_response|llm_output|display|error|meta|server_populated)[ />]", re.IGNORECASE)

    def _text(self, text: str) -> str:
        escaped = super()._text(text)
        section = f"<![CDATA[{text}]]>"
        if len(section) > len(escaped) or "\r" in text or "]]>" in text or self._tag.search(text):
            return escaped
        return section


class WithoutTheEmpty(MiniatureCodec):
    """Breaks XMCP-RSP-054: leaves an empty `title`, `alt` or `meta` of an envelope out, as Go's `omitempty` does."""

    def _json_part(self, name: str, value: Any, illegal: Illegal) -> Part:
        if name == "display" and isinstance(value, Mapping):
            value = {
                key: item
                for key, item in value.items()
                if not ((key in ("title", "alt") and item == "") or (key == "meta" and item == {}))
            }
        return super()._json_part(name, value, illegal)


# Wrong when reading


class NamesOfTheCodec(MiniatureCodec):
    """Breaks XMCP-RSP-062: takes an encoding for UTF-8 when Python does, such as `utf8` or `U8`."""

    _declared = re.compile(r"""(<\?xml\s[^>]*?\sencoding\s*=\s*["'])([A-Za-z][A-Za-z0-9._-]*)(?=["'])""")

    def _bytes(self, arriving: Iterable[str | bytes]) -> Iterator[bytes]:
        return super()._bytes(_opened(arriving, self._renamed))

    def _renamed(self, opening: str) -> str:
        found = self._declared.match(opening.removeprefix("\ufeff").removeprefix("\xef\xbb\xbf"))
        try:
            if not found or found[2].lower() == "utf-8" or codecs.lookup(found[2]).name != "utf-8":
                return opening
        except (LookupError, ValueError):
            return opening
        return opening.replace(found[0], f"{found[1]}utf-8", 1)


def _opened(arriving: Iterable[str | bytes], change: Callable[[str], str]) -> Iterator[str | bytes]:
    """Yield the pieces, with a change made to the first ones, as far as an XML declaration can go."""
    held: str | bytes | None = None
    opened = False
    for piece in arriving:
        if opened:
            yield piece
            continue
        if isinstance(held, bytes) and isinstance(piece, bytes):
            held += piece
        elif held is None:
            held = piece
        elif isinstance(held, str) and isinstance(piece, str):
            held += piece
        else:
            yield held
            yield piece
            opened = True
            continue
        if len(held) > 4096 or (b"?>" in held if isinstance(held, bytes) else "?>" in held):
            yield _with_opening(held, change)
            opened = True
    if not opened and held is not None:
        yield _with_opening(held, change)


def _with_opening(held: str | bytes, change: Callable[[str], str]) -> str | bytes:
    return change(held) if isinstance(held, str) else change(held.decode("latin-1")).encode("latin-1")


class NumbersOfPython(MiniatureCodec):
    """Breaks XMCP-RSP-063: takes for `retry_after_ms` what `int()` takes, such as `1_000` or digits of any script."""

    def _check_structure(self, root: etree._Element) -> None:
        for error in root.findall("error"):
            try:
                after = int(error.get("retry_after_ms", ""))
            except ValueError:
                continue
            if 0 <= after <= _SAFE:
                error.set("retry_after_ms", str(after))
        super()._check_structure(root)


class LocalNamesOfAttributes(MiniatureCodec):
    """Breaks XMCP-RSP-066: takes `x:truncated` for `truncated`, as Go's `encoding/xml` does for `attr` fields."""

    _fields: Mapping[str, tuple[str, ...]] = {
        "tool_response": ("call_id", "lossy"),
        "llm_output": ("format", "truncated", "lossy"),
        "display": ("lossy",),
        "error": ("retryable", "retry_after_ms", "category", "lossy"),
        "meta": ("lossy",),
        "server_populated": ("lossy",),
    }

    def _forget_the_unknown(self, root: etree._Element) -> None:
        for element in root.iter("*"):
            fields = self._fields.get(str(element.tag), ())
            for name, value in list(element.attrib.items()):
                local = str(name).rpartition("}")[2]
                if local in fields:
                    element.set(local, str(value))
        super()._forget_the_unknown(root)


class NamesAsSets(MiniatureCodec):
    """Breaks XMCP-RSP-086: keeps `redacted` and `overridden` as sets in order, so a repeated name is there once."""

    def _object_of(self, element: etree._Element) -> dict[str, Any]:
        value = super()._object_of(element)
        if element.tag != "server_populated":
            return value
        for name in ("redacted", "overridden"):
            item = value.get(name)
            if isinstance(item, list) and all(isinstance(one, str) for one in item):
                value[name] = list(dict.fromkeys(item))
        return value


class TrimmedJson(MiniatureCodec):
    """Breaks XMCP-RSP-069: trims JSON as JavaScript does before it parses: no-break spaces and U+FEFF too."""

    _blanks = " \t\r\n\ufeff\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

    def _value_of(self, text: str) -> Any:
        return super()._value_of(text.strip(self._blanks))


class DeclarationNearTheBeginning(MiniatureCodec):
    """Breaks XMCP-RSP-076: looks for `<!DOCTYPE` in the first KiB, and has no name but the parser's for a later one."""

    def _tree(self, chunks: Iterable[bytes]) -> etree._Element:
        seen = bytearray()

        def noted() -> Iterator[bytes]:
            for chunk in chunks:
                seen.extend(chunk[: _BYTES + 1])
                yield chunk

        try:
            return super()._tree(noted())
        except Refused as refusal:
            if refusal.error_class == "DTD" and b"<!DOCTYPE" not in seen[:1024]:
                raise Refused("NOT_WELL_FORMED", "the parser takes no such declaration") from None
            raise


# Wrong when reading in pieces


class MarkOfEachPiece(MiniatureCodec):
    """Breaks XMCP-RSP-071: takes U+FEFF for a byte order mark wherever a piece of bytes begins with it."""

    def _bytes(self, arriving: Iterable[str | bytes]) -> Iterator[bytes]:
        return super()._bytes(
            piece.removeprefix(codecs.BOM_UTF8) if number and isinstance(piece, bytes) else piece
            for number, piece in enumerate(arriving)
        )


# Right


class LaidOutTags(MiniatureCodec):
    """Right: each attribute on a line of its own, last one first, in single quotes; each child of the root too."""

    def _write(self, part: Part) -> str:
        attributes = "".join(
            "\n\t{} = '{}'".format(name, self._attribute(value).replace("'", "&apos;"))
            for name, value in reversed(part.attributes.items())
        )
        blank = "\n  " if part.name == "tool_response" else ""
        inner = "".join(blank + self._write(one) for one in part.parts)
        last = "\n" if part.parts else ""  # before the end of the root, or after `meta`
        return f"<{part.name}{attributes}\n>{self._text(part.text)}{inner}{last}</{part.name} >"


class EveryDefaultWritten(MiniatureCodec):
    """Right: writes each attribute that has a default, and the booleans that no sentence spells out as `1` and `0`."""

    def _write(self, part: Part) -> str:
        attributes = dict(part.attributes)
        if part.name == "tool_response":
            attributes.setdefault("version", "1.0")
        if part.name == "llm_output":
            attributes.setdefault("truncated", "false")
        if part.name == "error":
            attributes["retryable"] = "1" if attributes.get("retryable") in ("true", "1") else "0"
        attributes.setdefault("lossy", "false")
        return super()._write(Part(part.name, attributes, part.text, part.parts))


class JsonBeforeStructure(MiniatureCodec):
    """Right: of the faults of a document, names one of its JSON rather than one of its structure (XMCP-RSP-074)."""

    def _check_structure(self, root: etree._Element) -> None:
        try:
            super()._check_structure(root)
        except Refused as refusal:
            if refusal.error_class == "SCHEMA" and root.tag == "tool_response":
                self._check_json(root)
            raise

    def _check_json(self, root: etree._Element) -> None:
        for name in ("server_populated", "error/meta", "display"):
            for element in root.findall(name):
                if len(element):
                    continue
                if name == "display":
                    self._envelope_of(element)
                else:
                    self._object_of(element)


class SpaciousJson(MiniatureCodec):
    r"""Right: the members of an object in reverse order, white space between and around them, and `/` as `\/`."""

    def _json(self, value: Any, channel: Channel) -> str:
        text = super()._json(value, channel)
        if len(text) > _BYTES // 64:
            return text  # white space is not worth a document that is too large
        members = _changed(json.loads(text), self._reversed)
        spacious = json.dumps(members, indent="\t", separators=(" ,", " : "))
        spacious = re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", spacious)
        return "\n" + spacious.replace("/", "\\/") + " \n"

    def _reversed(self, value: Any) -> Any:
        return dict(reversed(value.items())) if isinstance(value, dict) else value


CODECS: dict[str, type[MiniatureCodec]] = {
    "offsets-by-floor": OffsetsByFloor,
    "dates-as-names": DatesAsNames,
    "every-second-half": EverySecondHalf,
    "tags-up-to-the-space": TagsUpToTheSpace,
    "without-the-empty": WithoutTheEmpty,
    "names-of-the-codec": NamesOfTheCodec,
    "numbers-of-python": NumbersOfPython,
    "local-names-of-attributes": LocalNamesOfAttributes,
    "names-as-sets": NamesAsSets,
    "trimmed-json": TrimmedJson,
    "declaration-near-the-beginning": DeclarationNearTheBeginning,
    "mark-of-each-piece": MarkOfEachPiece,
    "laid-out-tags": LaidOutTags,
    "every-default-written": EveryDefaultWritten,
    "json-before-structure": JsonBeforeStructure,
    "spacious-json": SpaciousJson,
}

EXPECTED: dict[str, tuple[str, ...]] = {
    "offsets-by-floor": ("XMCP-RSP-048",),
    "dates-as-names": ("XMCP-RSP-052",),
    "every-second-half": ("XMCP-RSP-053", "XMCP-RSP-044"),
    "tags-up-to-the-space": ("XMCP-RSP-027",),
    "without-the-empty": ("XMCP-RSP-054",),
    "names-of-the-codec": ("XMCP-RSP-062",),
    "numbers-of-python": ("XMCP-RSP-063",),
    "local-names-of-attributes": ("XMCP-RSP-066",),
    "names-as-sets": ("XMCP-RSP-086",),
    "trimmed-json": ("XMCP-RSP-069", "XMCP-RSP-040"),
    "declaration-near-the-beginning": ("XMCP-RSP-076", "XMCP-RSP-074"),
    "mark-of-each-piece": ("XMCP-RSP-071", "XMCP-RSP-067"),
    "laid-out-tags": (),
    "every-default-written": (),
    "json-before-structure": (),
    "spacious-json": (),
}
