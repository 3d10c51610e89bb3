"""The checks of documents that lie in files: from bytes to a verdict. Pure; who finds and opens files is not here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any

from xmcp_conformance.core.judge import ExitCode, Status
from xmcp_conformance.core.observation import Observation, Place, broken
from xmcp_conformance.core.requirements import Requirement, registry
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.reader import MOST_BYTES, envelope, read
from xmcp_conformance.reader import server_populated as populated
from xmcp_conformance.reader.jsontext import DEEPEST, JsonFault, locate, parse
from xmcp_conformance.reader.places import Lines
from xmcp_conformance.reader.schemas import faults, names, schema
from xmcp_models.registry import VERSION

MOST_READ = 2 * MOST_BYTES
"""Bytes of a document that are looked at; whoever opens a file reads at most one more."""

XML = "tool_response"
_MOST_FAULTS = 20  # of one file
_AROUND = 48  # characters of the text on each side of a fault
_SPACE = b" \t\r\n"
_NO_TEXT = b"\xef\xbb\xbf\xff\xfe\x00"  # bytes of byte order marks, and every second one of UTF-16
# Which sentence a value breaks that its schema refuses; the formats that are not here are records of a chat.
_SENTENCES = {
    "error_meta": "XMCP-ERR-007",
    "tool_metadata": "XMCP-TOL-001",
    "server_populated": "XMCP-RSP-095",
    "capability": "XMCP-CNF-003",
}
_RECORD = "XMCP-REC-001"
_IN_A_DOCUMENT = ("display_envelope", "error_meta", "server_populated")
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00<", b"{\x00", b"\x00{")


class Outcome(StrEnum):
    """What became of a file."""

    CONFORMS = "conforms"
    DOES_NOT_CONFORM = "does not conform"
    UNKNOWN_KIND = "unknown kind"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Fault:
    """A sentence that a document breaks, and where; without a requirement, why a document was not looked at.

    `before` and `after` are what stands on each side of the place in its line, made printable.
    """

    requirement: Requirement | None
    status: Status
    seen: str
    expected: str
    place: Place | None = None
    before: str = ""
    after: str = ""


@dataclass(slots=True)
class Judged:
    """What is to be said of one file. `documents` is how many it holds: one, or a line each in JSON Lines.

    `more` says that it has faults which are not in `faults`; `reason` why there is no verdict.
    """

    path: str
    outcome: Outcome
    kind: str | None = None
    documents: int = 0
    faults: list[Fault] = field(default_factory=list)
    more: bool = False
    reason: str = ""


@dataclass(slots=True)
class Report:
    """Every file that was judged."""

    kind: str | None
    strict: bool
    files: list[Judged] = field(default_factory=list)

    @property
    def exit_code(self) -> ExitCode:
        """What the command returns: what could not be judged counts more than what does not conform."""
        outcomes = {judged.outcome for judged in self.files}
        if Outcome.UNREADABLE in outcomes:
            return ExitCode.SUITE_FAILED
        if Outcome.UNKNOWN_KIND in outcomes:
            return ExitCode.USAGE
        return ExitCode.DOES_NOT_CONFORM if Outcome.DOES_NOT_CONFORM in outcomes else ExitCode.CONFORMS


@dataclass(frozen=True, slots=True)
class Name:
    """What is known of a file before it is read: what the user says it is, its folder's name, its suffix."""

    path: str = ""
    kind: str | None = None
    folder: str = ""
    suffix: str = ""


class KindUnknown(Exception):
    """Nothing shows what a document is."""


@dataclass(slots=True)
class _Found:
    """A broken observation with the text that it was made in; `above` is how many lines of the file precede that.

    `unread` marks a fault because of which the document was not looked at any further.
    """

    observation: Observation
    lines: Lines | None = None
    unread: bool = False
    above: int = 0


_Findings = tuple[str | None, list[_Found]]
"""The kind that a document was judged as, `None` where it did not matter, and what it breaks."""


def kinds() -> tuple[str, ...]:
    """Everything that a file can be judged as."""
    return (XML, *names())


def judge(data: bytes, name: Name, *, strict: bool = False) -> Judged:
    """Judge one document.

    Args:
        data: the document; more than `MOST_READ` bytes are not looked at.
        name: what is known of it.
        strict: a broken SHOULD counts as a broken MUST.
    """
    try:
        kind, found = _findings(data, name)
    except KindUnknown as unknown:
        return Judged(name.path, Outcome.UNKNOWN_KIND, reason=str(unknown))
    return _judged(name, kind, 1, found, strict)


def judge_lines(lines: Iterable[bytes], name: Name, *, strict: bool = False) -> Judged:
    """Judge JSON Lines: each line that is not blank is a document."""
    kind, documents, found = name.kind, 0, list[_Found]()
    for above, line in enumerate(lines):
        line = line.rstrip(b"\r\n")
        if not line.strip(_SPACE):
            continue
        try:
            kind, here = _findings(line, name)
        except KindUnknown as unknown:
            return Judged(name.path, Outcome.UNKNOWN_KIND, reason=f"line {above + 1}: {unknown}")
        documents += 1
        for item in here[: _MOST_FAULTS + 1 - len(found)]:
            item.above = above
            found.append(item)
    if not documents:
        found.append(_at_the_beginning("XMCP-RSP-040", "an empty file", "a JSON value in each line"))
    return _judged(name, kind, documents, found, strict)


def _judged(name: Name, kind: str | None, documents: int, found: list[_Found], strict: bool) -> Judged:
    listed = [_fault(item, strict) for item in found[:_MOST_FAULTS]]
    failed = any(fault.status is Status.FAIL for fault in listed)
    outcome = Outcome.DOES_NOT_CONFORM if failed else Outcome.CONFORMS
    listed.sort(key=lambda fault: fault.place or (0, 0))
    return Judged(name.path, outcome, kind, documents, listed, more=len(found) > len(listed))


def _fault(item: _Found, strict: bool) -> Fault:
    observation, place = item.observation, item.observation.place
    requirement = registry().requirements.get(observation.requirement)
    fails = strict or item.unread or requirement is None or requirement.mandatory
    before, after = item.lines.around(place, _AROUND) if place and item.lines else ("", "")
    return Fault(
        requirement,
        Status.FAIL if fails else Status.WARN,
        observation.seen,
        observation.expected,
        Place(place.line + item.above, place.column) if place else None,
        printable(before.replace("\t", " ")),
        printable(after.replace("\t", " ")),
    )


def _findings(data: bytes, name: Name) -> _Findings:
    """What a document breaks.

    Raises:
        KindUnknown: nothing shows what it is.
    """
    is_xml = _is_xml(data, name)
    kind = XML if is_xml else name.kind
    letter, whole = ("XMCP-RSP-001", "XML 1.0 in UTF-8") if is_xml else ("XMCP-RSP-040", "a JSON value in UTF-8")
    if len(data) > MOST_READ:
        requirement = "XMCP-RSP-081" if kind in (XML, *_IN_A_DOCUMENT) else ""
        seen = f"more than {MOST_READ:,} bytes; the suite looks no further"
        return kind, [_Found(broken(requirement, seen, f"at most {MOST_BYTES:,}"), unread=True)]
    if data[:2] in _WIDE:
        return kind, [_at_the_beginning(letter, "UTF-16, by its first two bytes", whole)]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        lines = Lines(good)
        seen = f"the byte 0x{data[error.start]:02X}, which is no UTF-8 there"
        return kind, [_Found(broken(letter, seen, whole, where=lines.place(len(good))), lines)]
    if not text.strip("\ufeff \t\r\n"):
        return kind, [_at_the_beginning(letter, "nothing: the file is empty", whole)]
    lines = Lines(text)
    return (XML, _of_xml(text, lines)) if is_xml else _of_json(text, name, lines)


def _at_the_beginning(requirement: str, seen: str, expected: str) -> _Found:
    return _Found(broken(requirement, seen, expected, where=Place(1, 1)))


def _is_xml(data: bytes, name: Name) -> bool:
    """Whether a file is to be read as XML, or else as JSON.

    Raises:
        KindUnknown: it begins like neither of them, and nothing else says which it is to be.
    """
    start = data[:4096].translate(None, _NO_TEXT).lstrip(_SPACE)[:1]
    if name.kind is not None:
        return name.kind == XML
    if start == b"<" or name.suffix == ".xml":
        return True
    if start in (b"{", b"[") or name.suffix in (".json", ".jsonl") or name.folder in names():
        return False
    raise KindUnknown("it begins like neither XML nor JSON" if start else "it is empty")


def _of_xml(text: str, lines: Lines) -> list[_Found]:
    reading = read(text, lines)
    version = (reading.document.version if reading.document else None) or VERSION
    if version.split(".")[0] != VERSION.split(".")[0]:
        # What another major version allows is not for this specification to say.
        place = next(item.place for item in reading.observations if item.requirement == "XMCP-RSP-008")
        seen = f"a document of version {version}, which a reader of {VERSION} has to refuse"
        return [_Found(broken("XMCP-RSP-064", seen, f"version {VERSION}", where=place), lines)]
    unread = reading.document is None
    return [_Found(observation, lines, unread) for observation in reading.observations if not observation.ok]


def _of_json(text: str, name: Name, lines: Lines) -> _Findings:
    kind = name.kind
    try:
        json = parse(text, safe_integers=False)
        kind = kind or _kind_of(json.value, name.folder)
        if kind in _IN_A_DOCUMENT:
            json = parse(text)
    except JsonFault as fault:
        return kind, [_Found(broken(fault.requirement, fault.seen, fault.expected, where=lines.place(fault.at)), lines)]
    found = []
    if json.too_deep is not None and kind in _IN_A_DOCUMENT:
        seen, place = f"JSON nested more than {DEEPEST} deep", lines.place(json.too_deep)
        found.append(_Found(broken("XMCP-RSP-081", seen, f"at most {DEEPEST}", where=place), lines))
    for item in islice((item for item in _of_value(json.value, kind) if not item.ok), _MOST_FAULTS + 1):
        place = lines.place(locate(text, item.path or ()))
        found.append(_Found(broken(item.requirement, item.seen, item.expected, where=place), lines))
    return kind, found


def _kind_of(value: Any, folder: str) -> str:
    """What a JSON value is: by members that only one format demands, else by the name of its folder.

    Raises:
        KindUnknown: neither says so.
    """
    if isinstance(value, dict):
        demanded = {name: schema(name).get("required", ()) for name in names()}
        fitting = [name for name, members in demanded.items() if len(members) > 1 and value.keys() >= set(members)]
        if len(fitting) == 1:
            return fitting[0]
    if folder in names():
        return folder
    raise KindUnknown("its members do not show which format it has")


def _of_value(value: Any, kind: str) -> Iterator[Observation]:
    if kind == "display_envelope":
        # One that lies in a file can be what a client put before its model.
        yield from envelope.observations(value, by_server=False)
    elif kind == "server_populated":
        yield from populated.observations(value)
    else:
        requirement, expected = _SENTENCES.get(kind, _RECORD), f"as schemas/{kind}.schema.json says"
        for fault in faults(kind, value):
            yield broken(requirement, str(fault), expected, where=fault.path)
