"""Judge documents in files: from the bytes of a file to events. No I/O; the caller finds and opens the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.events import Emit, Excerpt, FileEnded, Observed, RunStarted, SuiteStarted
from xmcp_conformance.core.histories import fault_of_history
from xmcp_conformance.core.observation import Observation, Place, broken
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.reader import MOST_BYTES, read
from xmcp_conformance.reader.checks import display_envelope, server_populated
from xmcp_conformance.reader.schemas import faults
from xmcp_conformance.reader.source_positions import Lines
from xmcp_conformance.reader.strict_json import DEEPEST, Json, JsonFault, locate, parse
from xmcp_models.registry import VERSION

from .audit_sequences import AuditRecords
from .event_sequences import ChatEvents
from .kinds import XML, FileName, KindUnknown, Role, is_xml, kind_of_value

PROFILE = "document"
MOST_READ = 2 * MOST_BYTES
"""Maximum number of bytes of a document that are judged; a caller need not read more than one byte beyond."""

_MOST_FAULTS = 20
"""Maximum number of faults that are reported of one file."""
_AROUND = 48
"""Number of characters of the text that an excerpt has on each side of a fault."""
_SPACE = b" \t\r\n"
# The requirement that a value breaks when its schema does not allow it; the other formats are records of a chat.
_REQUIREMENTS = {
    "error_meta": "XMCP-ERR-007",
    "tool_metadata": "XMCP-TOL-001",
    "announcement": "XMCP-CNF-003",
    "declaration": "XMCP-MCP-007",
}
_OF_RECORDS = "XMCP-REC-001"
_IN_A_DOCUMENT = ("display_envelope", "error_meta", "server_populated")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00<", b"{\x00", b"\x00{")


def start(kind: str | None, *, strict: bool, emit: Emit) -> None:
    """Emit the first event of a run over files.

    Args:
        kind: the format of all files, where the user says so.
        strict: reports count a broken SHOULD as a broken MUST.
        emit: gets the event.
    """
    emit(SuiteStarted(PROFILE, registry().version, {"kind": kind, "strict": strict}))


def check_document(data: bytes, name: FileName, emit: Emit) -> None:
    """Judge a file that holds one document.

    Args:
        data: the document; more than `MOST_READ` bytes are not judged.
        name: what is known of the file.
        emit: gets each event.
    """
    try:
        checked = _check(data, name)
    except KindUnknown as unknown:
        emit(RunStarted(name.path))
        emit(FileEnded(name.path, not_judged="unknown kind", reason=str(unknown)))
        return
    _emit_file(name.path, checked.kind, 1, checked.observed(name.path), emit)


def check_lines(lines: Iterable[bytes], name: FileName, emit: Emit) -> None:
    """Judge a file of JSON Lines: each line that is not blank is a document.

    Args:
        lines: the lines of the file.
        name: what is known of it.
        emit: gets each event.
    """
    kind, documents, found = name.kind, 0, list[Observed]()
    records = AuditRecords()
    sequences: dict[str | None, ChatEvents | AuditRecords] = {"chat_event": ChatEvents(), "audit_record": records}
    for above, line in enumerate(lines):
        line = line.rstrip(b"\r\n")
        if not line.strip(_SPACE):
            continue
        try:
            checked = _check(line, name)
        except KindUnknown as unknown:
            emit(RunStarted(name.path))
            emit(FileEnded(name.path, not_judged="unknown kind", reason=f"line {above + 1}: {unknown}"))
            return
        kind = checked.kind
        documents += 1
        found += islice(checked.observed(name.path, above), _MOST_FAULTS + 1 - len(found))
        if kind in sequences:
            in_sequence = (Observed(one, name.path) for one in sequences[kind].then(checked.value, above + 1))
            found += islice(in_sequence, _MOST_FAULTS + 1 - len(found))
    at_the_end = (Observed(one, name.path) for one in records.ended())
    found += islice(at_the_end, _MOST_FAULTS + 1 - len(found))
    if not documents:
        found += _Checked(kind, list(_empty_lines_file())).observed(name.path)
    _emit_file(name.path, kind, documents, found, emit)


def unreadable(path: str, reason: str, emit: Emit) -> None:
    """Emit the events of a file that could not be read."""
    emit(RunStarted(path))
    emit(FileEnded(path, not_judged="unreadable", reason=reason))


def _emit_file(path: str, kind: str | None, documents: int, found: Iterable[Observed], emit: Emit) -> None:
    """Emit the events of a file that was judged, its faults in the order of the text."""
    found = list(found)
    emit(RunStarted(path))
    for observed in sorted(found[:_MOST_FAULTS], key=lambda item: item.observation.place or (0, 0)):
        emit(observed)
    emit(FileEnded(path, document_kind=kind, documents=documents, more=len(found) > _MOST_FAULTS))


@dataclass(slots=True)
class _Checked:
    """A document that was judged.

    `kind` is `None` where the faults are the same in every format. `unread`: the faults stopped the judgement.
    """

    kind: str | None
    faults: list[Observation]
    lines: Lines = field(default_factory=lambda: Lines(""))
    unread: bool = False
    value: Any = None
    """The value, of a document in JSON that could be read."""

    def observed(self, path: str, above: int = 0) -> Iterator[Observed]:
        """Yield the events of the faults; `above` is the number of lines of the file before the document."""
        for fault in self.faults:
            place = fault.place
            before, after = self.lines.around(place, _AROUND) if place else ("", "")
            excerpt = Excerpt(printable(before.replace("\t", " ")), printable(after.replace("\t", " ")))
            moved = Place(place.line + above, place.column) if place else None
            shown = Observation(fault.requirement, False, fault.seen, fault.expected, moved)
            yield Observed(shown, path, excerpt=excerpt, unread=self.unread)


def _check(data: bytes, name: FileName) -> _Checked:
    """Judge one document.

    Raises:
        KindUnknown: nothing shows which format it has.
    """
    xml = is_xml(data, name)
    kind = XML if xml else name.kind
    if len(data) > MOST_READ:
        return _Checked(kind, list(_too_large(kind)), unread=True)
    text, bad = _decoded(data)
    lines = Lines(text)
    if encoding := list(_encoding(data, text, bad, xml, lines)):
        return _Checked(kind, encoding, lines)
    return _of_xml(text, name.role, lines) if xml else _of_json(text, name, lines)


def _decoded(data: bytes) -> tuple[str, int | None]:
    """Return the text; where the data is not UTF-8, the text up to the first bad byte, and the index of that byte."""
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        return data[: error.start].decode("utf-8"), error.start


def _too_large(kind: str | None) -> Iterator[Observation]:
    """Yield the one fault of a document that is too large to be judged; no sentence limits the size of a record."""
    seen, expected = f"more than {MOST_READ:,} bytes; the suite looks no further", f"at most {MOST_BYTES:,}"
    if kind in (XML, *_IN_A_DOCUMENT):
        yield from _size(seen, expected)
    else:
        yield broken("", seen, expected)


@check("XMCP-RSP-081", profile="document")
def _size(seen: str, expected: str, where: Place | None = None) -> Observations:
    yield broken("XMCP-RSP-081", seen, expected, where=where)


@check("XMCP-RSP-040", profile="document")
def _empty_lines_file() -> Observations:
    yield broken("XMCP-RSP-040", "an empty file", "a JSON value in each line", where=Place(1, 1))


@check("XMCP-RSP-001", "XMCP-RSP-040", profile="document")
def _encoding(data: bytes, text: str, bad: int | None, xml: bool, lines: Lines) -> Observations:
    """Judge whether the data is text in UTF-8 that is not empty."""
    requirement, expected = ("XMCP-RSP-001", "XML 1.0 in UTF-8") if xml else ("XMCP-RSP-040", "a JSON value in UTF-8")
    if data[:2] in _UTF_16:
        yield broken(requirement, "UTF-16, by its first two bytes", expected, where=Place(1, 1))
    elif bad is not None:
        seen = f"the byte 0x{data[bad]:02X}, which is not valid UTF-8 there"
        yield broken(requirement, seen, expected, where=lines.place(len(text)))
    elif not text.strip("\ufeff \t\r\n"):
        yield broken(requirement, "nothing: the file is empty", expected, where=Place(1, 1))


def _of_xml(text: str, role: Role | None, lines: Lines) -> _Checked:
    reading = read(text, lines, by_server=role != "client")
    version = (reading.document.version if reading.document else None) or VERSION
    if version.split(".")[0] != VERSION.split(".")[0]:
        # This specification does not say what a document of another major version may contain.
        place = next(item.place for item in reading.observations if item.requirement == "XMCP-RSP-008")
        return _Checked(XML, list(_major_version(version, place)), lines)
    broken_ones = [observation for observation in reading.observations if not observation.ok]
    return _Checked(XML, broken_ones, lines, unread=reading.document is None)


@check("XMCP-RSP-064", profile="document")
def _major_version(version: str, place: Place | None) -> Observations:
    seen = f"a document of version {version}, which a reader of {VERSION} has to refuse"
    yield broken("XMCP-RSP-064", seen, f"version {VERSION}", where=place)


def _of_json(text: str, name: FileName, lines: Lines) -> _Checked:
    kind = name.kind
    try:
        json = parse(text, safe_integers=False)
        kind = kind or kind_of_value(json.value, name.folder)
        if kind in _IN_A_DOCUMENT:
            json = parse(text)
    except JsonFault as fault:
        return _Checked(kind, list(_json_text(fault, lines)), lines)
    found = list(_depth(json, kind, lines))
    for item in islice((item for item in _value(json.value, kind, name.role) if not item.ok), _MOST_FAULTS + 1):
        place = lines.place(locate(text, item.path))
        found.append(broken(item.requirement, item.seen, item.expected, where=place))
    return _Checked(kind, found, lines, value=json.value)


@check("XMCP-RSP-040", "XMCP-RSP-041", "XMCP-RSP-043", "XMCP-RSP-044", profile="document")
def _json_text(fault: JsonFault, lines: Lines) -> Observations:
    yield broken(fault.requirement, fault.seen, fault.expected, where=lines.place(fault.at))


def _depth(json: Json, kind: str, lines: Lines) -> Observations:
    if json.too_deep is not None and kind in _IN_A_DOCUMENT:
        seen, place = f"JSON nested more than {DEEPEST} deep", lines.place(json.too_deep)
        yield from _size(seen, f"at most {DEEPEST}", place)


def _value(value: Any, kind: str, role: Role | None) -> Observations:
    """Yield what a JSON value shows; `where` is the path in it."""
    if kind == "display_envelope":
        # Where nobody says it, an envelope in a file can be one that a client made for its model.
        yield from display_envelope.observations(value, by_server=role == "server")
    elif kind == "server_populated":
        yield from server_populated.observations(value)
    else:
        yield from _schema(value, kind)
    if kind == "snapshot":
        yield from _snapshot(value)


@check("XMCP-REC-030", profile="document")
def _snapshot(value: Any) -> Observations:
    """Judge the order of the messages in a snapshot; what is no message, its schema refuses."""
    history = value.get("history") if isinstance(value, dict) else None
    if isinstance(history, list) and all(isinstance(message, dict) for message in history):
        fault = fault_of_history(history)
        if fault is not None:
            place, seen = fault
            expected = "after each call, in their order, one tool message with its id"
            yield broken("XMCP-REC-030", seen, expected, where=("history", place))


@check(
    "XMCP-CNF-003",
    "XMCP-ERR-007",
    "XMCP-MCP-005",
    "XMCP-MCP-007",
    "XMCP-REC-001",
    "XMCP-TOL-001",
    profile="document",
)
def _schema(value: Any, kind: str) -> Observations:
    requirement, expected = _REQUIREMENTS.get(kind, _OF_RECORDS), f"as schemas/{kind}.schema.json says"
    for fault in faults(kind, value):
        of_the_wire = kind == "announcement" and (fault.path[:1] == ("wire",) or fault.message.startswith('"wire"'))
        yield broken("XMCP-MCP-005" if of_the_wire else requirement, str(fault), expected, where=fault.path)
