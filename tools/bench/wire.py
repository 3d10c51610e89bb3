"""Measure the codec against named floors: time, memory, growth with size, and the cost of hostile input.

floor   what any codec must do. Decoding: pyexpat with a ban on DOCTYPE and buffered text, and
        pydantic_core.from_json of the display. Encoding: saxutils.escape of the text and json.dumps of the display
lxml    the same with lxml and json: parse or build, read or write
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from xml.parsers import expat
from xml.sax.saxutils import escape

from lxml import etree
from pydantic_core import from_json

from tools import ROOT
from xmcp import DisplayEnvelope, ToolResponse
from xmcp.wire import DecodeError, Decoder, Limits, decode

Work = Callable[[], object]
LIMITS = Limits(document_bytes=64 * 1024 * 1024)
MARKED_UP = "Revenue rose by 4 % & costs fell; see <b>table</b> for the regions of the year.\n"
PROSE = "Revenue rose by four percent and costs fell, see the table for the regions of it.\n"
SIZES = {"1 kB": 1_000, "100 kB": 100_000, "10 MB": 10_000_000}


def response_of(size: int, line: str = MARKED_UP) -> ToolResponse:
    """Return a response of about `size` bytes: half text, half a table."""
    rows = [
        {"region": "EMEA", "month": f"2026-{n % 12 + 1:02}", "sales": n * 17 % 1000}
        for n in range(max(1, size // 2 // 48))
    ]
    envelope = DisplayEnvelope(type="table", payload=rows)
    return ToolResponse("report", line * max(1, size // 2 // len(line)), display=envelope)


# ---- floors ----


def expat_decode(document: bytes) -> tuple[str, object]:
    """Parse, collect the texts, read the JSON."""
    pieces: dict[str, list[str]] = {"llm_output": [], "display": []}
    current: list[str] = []

    def refuse(*_: object) -> None:
        raise ValueError("a DOCTYPE")

    def start(name: str, _attributes: dict[str, str]) -> None:
        nonlocal current
        current = pieces.get(name, [])

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.CharacterDataHandler = lambda text: current.append(text)
    parser.Parse(document, True)
    return "".join(pieces["llm_output"]), from_json("".join(pieces["display"]))


def escape_encode(text: str, display: object) -> str:
    """Escape the text, dump the display as JSON."""
    return (
        f'<tool_response tool_name="report"><llm_output>{escape(text)}</llm_output>'
        f"<display>{json.dumps(display)}</display></tool_response>"
    )


_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)


def lxml_decode(document: bytes) -> tuple[str | None, object]:
    """Parse to a tree, read its texts and the JSON."""
    root = etree.fromstring(document, _PARSER)
    return root.findtext("llm_output"), json.loads(root.findtext("display") or "null")


def lxml_encode(text: str, display: object) -> bytes:
    """Build a tree and write it."""
    root = etree.Element("tool_response", tool_name="report")
    etree.SubElement(root, "llm_output").text = text
    etree.SubElement(root, "display").text = json.dumps(display)
    return etree.tostring(root, encoding="UTF-8")


# ---- times ----


def timed(work: Work, seconds: float = 0.05) -> float:
    """Return the seconds of one call, averaged over as many as fit into `seconds`."""
    begin = time.perf_counter()
    work()
    times = max(1, int(seconds / max(time.perf_counter() - begin, 1e-7)))
    begin = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - begin) / times


def medians(rounds: int, *works: Work) -> list[float]:
    """Return the median seconds of each work. They alternate in each round, so that a slow moment affects all."""
    rows = [[timed(work) for work in works] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*rows, strict=True)]


@dataclass(frozen=True, slots=True)
class Speed:
    """The time of one work at one size in milliseconds, and its ratios to the floor and to lxml."""

    name: str
    ms: float
    floor: float
    lxml: float


def speeds(rounds: int) -> Iterator[Speed]:
    """Measure decoding and encoding at every size, with text that needs escaping and with prose."""
    for size_name, size in SIZES.items():
        for kind, line in (("", MARKED_UP), (" prose", PROSE)):
            response = response_of(size, line)
            document = response.to_xml().encode()
            text, shown = response.llm_output or "", response.display.to_dict() if response.display else None
            decoding = (
                lambda d=document: decode(d, limits=LIMITS),
                lambda d=document: expat_decode(d),
                lambda d=document: lxml_decode(d),
            )
            encoding = (
                response.to_xml,
                lambda t=text, s=shown: escape_encode(t, s),
                lambda t=text, s=shown: lxml_encode(t, s),
            )
            for verb, works in (("decode", decoding), ("encode", encoding)):
                ours, floor, lxml = medians(rounds if size < 1_000_000 else max(3, rounds // 3), *works)
                yield Speed(f"{verb} {size_name}{kind}", ours * 1000, ours / floor, ours / lxml)


def growth(rounds: int) -> dict[str, float]:
    """Return the nanoseconds for each byte of a document, by size."""
    documents = {name: response_of(size).to_xml().encode() for name, size in SIZES.items()}
    works = [lambda d=document: decode(d, limits=LIMITS) for document in documents.values()]
    taken = medians(max(3, rounds // 3), *works)
    return {name: seconds / len(documents[name]) * 1e9 for name, seconds in zip(documents, taken, strict=True)}


# ---- memory ----

_PEAK = """
import resource, sys
from tools.bench import wire
document = wire.response_of(10_000_000).to_xml().encode()
work = {"xmcp": lambda: wire.decode(document, limits=wire.LIMITS),
        "floor": lambda: wire.expat_decode(document),
        "lxml": lambda: wire.lxml_decode(document)}[sys.argv[1]]
work_on = document[:0]
with open("/proc/self/clear_refs", "w") as reset:
    reset.write("5")
def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024
before = status("VmRSS")
kept = work()
print((status("VmHWM") - before) / len(document))
"""


def peaks() -> dict[str, float]:
    """Return the peak memory of decoding 10 MB without the document itself, as a multiple of its size (Linux)."""
    found = {}
    for name in ("xmcp", "floor", "lxml"):
        done = subprocess.run([sys.executable, "-c", _PEAK, name], cwd=ROOT, capture_output=True, text=True, check=True)
        found[name] = float(done.stdout)
    return found


# ---- hostile input ----


def _in_root(inner: str) -> str:
    return f'<tool_response tool_name="t">{inner}</tool_response>'


def _filled(head: str, piece: str, tail: str, size: int) -> bytes:
    """Return `head`, `size` bytes of `piece` with `#` replaced by 0, 1, 2, …, and `tail`."""
    count = size // len(piece.replace("#", "000000"))
    return (head + "".join(piece.replace("#", str(n)) for n in range(count)) + tail).encode()


def hostile(size: int) -> dict[str, bytes]:
    """Return documents of about `size` bytes, each of which tries to cost more than its length."""
    output = ('<tool_response tool_name="t"><llm_output>', "</llm_output></tool_response>")
    shown = ('<tool_response tool_name="t"><display>{"type":"json","payload":', "}</display></tool_response>")
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha"}">' for n in range(9))
    return {
        "elements within each other": _filled(_in_root("")[:-16], '<x:a xmlns:x="u">', "", size),
        "200,000 siblings": (
            '<tool_response tool_name="t"><llm_output>x</llm_output>'
            + '<x:a xmlns:x="u"/>' * 200_000
            + "</tool_response>"
        ).encode(),
        "attributes": _filled("<tool_response", ' a#="x"', "/>", size),
        "attributes in namespaces": _filled("<tool_response", ' xmlns:n#="u#" n#:a="x"', "/>", size),
        "one attribute": _filled('<tool_response tool_name="', "x", '"/>', size),
        "entities that multiply": f"<!DOCTYPE t [{bomb}]><t>&e8;</t>".encode().ljust(size),
        "references": _filled(output[0], "&amp;", output[1], size),
        "CDATA sections": _filled(output[0], "<![CDATA[x]]>", output[1], size),
        "comments": _filled(output[0], "<!---->", output[1], size),
        "JSON nested": _filled(shown[0], "[", shown[1], size),
        "JSON members": _filled(shown[0] + "{", '"k#":0,', '"":0}' + shown[1], size),
        "JSON escapes": _filled(shown[0] + '"', "\\u0041", '"' + shown[1], size),
        "JSON digits": _filled(shown[0] + "[", "9", "]" + shown[1], size),
        "JSON broken at its end": _filled(shown[0] + "[", "0,", "" + shown[1], size),
    }


def outcome(document: bytes) -> str:
    """Return `read`, or the class of the error with which the document is refused."""
    try:
        decode(document)
    except DecodeError as fault:
        return str(fault.kind)
    return "read"


def floor_outcome(document: bytes) -> None:
    """Run the floor on a document, whether it can read it or not."""
    with suppress(ValueError, expat.ExpatError, RecursionError):
        expat_decode(document)


@dataclass(frozen=True, slots=True)
class Cost:
    """The time for a hostile document: its ratio to a benign document of the same length, and to the floor."""

    name: str
    benign: float
    floor: float
    outcome: str


def costs(rounds: int, size: int = 1_000_000) -> Iterator[Cost]:
    """Measure each kind of hostile document."""
    for name, document in hostile(size).items():
        benign = response_of(len(document)).to_xml().encode()
        works = partial(outcome, document), partial(outcome, benign), partial(floor_outcome, document)
        ours, usual, floor = medians(rounds, *works)
        yield Cost(name, ours / usual, ours / floor, outcome(document))


def in_pieces(document: bytes, length: int) -> None:
    """Decode a document in pieces of `length` bytes."""
    decoder = Decoder()
    for at in range(0, len(document), length):
        decoder.feed(document[at : at + length])
    decoder.close()


def expat_in_pieces(document: bytes, length: int) -> None:
    """Parse a document in pieces of `length` bytes with expat, and ignore the result."""
    parser = expat.ParserCreate("utf-8")
    for at in range(0, len(document), length):
        parser.Parse(document[at : at + length], False)
    parser.Parse(b"", True)


def pieces(rounds: int) -> Iterator[tuple[str, float]]:
    """Yield the ratio of our incremental decoder to expat alone, by the length of the pieces."""
    document = response_of(100_000).to_xml().encode()
    for length in (1, 1024):
        ours, floor = medians(rounds, partial(in_pieces, document, length), partial(expat_in_pieces, document, length))
        yield f"100 kB in pieces of {length}", ours / floor
