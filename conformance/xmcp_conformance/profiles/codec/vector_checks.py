"""Judge a codec, a formatter or a renderer by vectors.

What an encoder writes is read by parsers that are not its own, so that two faults of one codec cannot cancel out.
"""

from __future__ import annotations

import decimal
import itertools
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final, Literal, Protocol, TypeAlias
from xml.parsers import expat

from lxml import etree

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.error_categories import CATEGORY_OF
from xmcp_conformance.core.events import Emit, Observed, RunEnded, RunStarted, SuiteStarted
from xmcp_conformance.core.observation import Observation, broken, obeyed
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader import read
from xmcp_models import DATA

from . import vector_requirements
from .document_tree import ILLEGAL
from .vectors import Vector, facts, pieces, untagged

PROFILE = "codec"
Illegal: TypeAlias = Literal["replace", "error"]
BadDisplay: TypeAlias = Literal["raise", "drop"]
Response: TypeAlias = dict[str, Any]


class Refused(Exception):
    """A codec refuses. `error_class` is the class of the document's fault; a refusal to write has none."""

    def __init__(self, error_class: str = "", why: str = "") -> None:
        super().__init__(": ".join(filter(None, (error_class, why))))
        self.error_class = error_class


class CodecUnavailable(Exception):
    """The codec cannot be judged, or no further. The message says why, for the person who runs the suite."""


class CodecFault(Exception):
    """A codec behind a command did not answer as the protocol demands; says how it failed."""


class Codec(Protocol):
    """What is judged: an adapter of a few lines around an implementation.

    A response is a dict with the members that `Response` has in `wire.schema.json`, without tags. Absent and `None`
    are the same.
    """

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        """Return the document.

        Args:
            response: what to write; values can be any Python values.
            illegal: what to do with code points that the channel cannot carry.

        Raises:
            Refused: it cannot be written.
        """

    def decode(self, document: str | bytes, *, bad_display: BadDisplay = "raise") -> tuple[Response, int]:
        """Return the response in a document, and the number of warnings about it.

        Raises:
            Refused: the document has a fault of that class.
        """

    def decode_pieces(
        self, arriving: Iterable[str | bytes], *, bad_display: BadDisplay = "raise"
    ) -> tuple[Response, int]:
        """Return the same for a document that arrives in pieces, all text or all bytes.

        Raises:
            Refused: the document has a fault of that class.
        """


Formatter: TypeAlias = Callable[[Any], str]
"""Data to the text of nested tags that a model reads."""

Renderer: TypeAlias = Callable[[dict[str, Any]], tuple[str, bool]]
"""An envelope to the text that a person sees, and whether it says that the type is not supported."""


class _Wrong(Exception):
    """The vector is not met; says what was seen and what was expected, and in a word what it is about, if one says it.

    The word is the member that differs, such as `error/category`, or the class of a refusal, or the markup.
    """

    def __init__(self, seen: str, expected: str, about: str = "", sentence: str = "") -> None:
        """Make a fault; `sentence` is the broken one, where that is known."""
        super().__init__(seen, expected)
        self.seen = seen
        self.expected = expected
        self.about = about
        self.sentence = sentence


def check_codec(vector: Vector, codec: Codec) -> list[Observation]:
    """Run a vector of the direction encode, decode or stream; return one observation for each of its requirements.

    Raises:
        KeyError: the vector has another direction.
    """
    run = {"encode": _encoding, "decode": _decoding, "stream": _streaming}[vector.direction]
    return list(run(vector, codec))


def check_formatter(vector: Vector, formatter: Formatter) -> list[Observation]:
    """Run a vector of the direction format; return one observation for each of its requirements."""
    return list(_formatting(vector, formatter))


def check_renderer(vector: Vector, renderer: Renderer) -> list[Observation]:
    """Run a vector of the direction render; return one observation for each of its requirements."""
    return list(_rendering(vector, renderer))


def judge_codec(vectors: Iterable[Vector], codec: Codec, name: str, emit: Emit) -> None:
    """Judge a codec by all vectors of the directions encode, decode and stream.

    Args:
        vectors: the vectors; those of other directions are left out.
        codec: the codec.
        name: what reports call it.
        emit: gets each event.
    """
    emit(SuiteStarted(PROFILE, registry().version))
    emit(RunStarted(name, name))
    for vector in vectors:
        if vector.direction in ("encode", "decode", "stream"):
            for observation in check_codec(vector, codec):
                emit(Observed(observation, name, vector.id))
    emit(RunEnded(name))


@check(*vector_requirements.ENCODE, profile="codec")
def _encoding(vector: Vector, codec: Codec) -> Observations:
    return _outcome(vector, lambda: _encode(vector, codec))


@check(*vector_requirements.DECODE, profile="codec")
def _decoding(vector: Vector, codec: Codec) -> Observations:
    return _outcome(vector, lambda: _decode(vector, codec))


@check(*{*vector_requirements.STREAM, *vector_requirements.DECODE}, profile="codec")
def _streaming(vector: Vector, codec: Codec) -> Observations:
    return _outcome(vector, lambda: _stream(vector, codec))


@check(*vector_requirements.FORMAT, profile="codec")
def _formatting(vector: Vector, formatter: Formatter) -> Observations:
    return _outcome(vector, lambda: _format(vector, formatter))


@check(*vector_requirements.RENDER, profile="codec")
def _rendering(vector: Vector, renderer: Renderer) -> Observations:
    return _outcome(vector, lambda: _render(vector, renderer))


def _outcome(vector: Vector, run: Callable[[], None]) -> Observations:
    """Run a vector, and yield what it shows of each of its requirements.

    A vector that was drawn can have `sentences`: the one that is broken where a fault is about a certain thing.
    """
    requirements = vector.requirements
    try:
        run()
    except _Wrong as wrong:
        seen, expected = wrong.seen, wrong.expected
        if sentence := vector.case.get("sentences", {}).get(wrong.about, wrong.sentence):
            requirements = (sentence,)
    except CodecUnavailable:
        raise
    except CodecFault as fault:
        seen, expected = str(fault), "an answer"
    except Exception as crash:  # any crash is a fault of the codec, and must not end the run
        seen = f"it raised {type(crash).__name__}: {quoted(str(crash))}"
        expected = "an answer, or a refusal with a class"
    else:
        yield from (obeyed(requirement) for requirement in requirements)
        return
    yield from (broken(requirement, seen, expected) for requirement in requirements)


def _encode(vector: Vector, codec: Codec) -> None:
    given = untagged(vector.case["response"])
    try:
        document = codec.encode(given, illegal=vector.case.get("illegal", "replace"))
    except Refused as refusal:
        if "refused" in vector.expect or _MAY_REFUSE & {*vector.requirements}:
            return
        raise _Wrong(f"a refusal: {quoted(str(refusal))}", "a document") from None
    if "refused" in vector.expect:
        raise _Wrong(f"the document {quoted(document)}", "a refusal")
    if "raw_lacks" in vector.expect:
        _lacks(document, vector.expect["raw_lacks"])
    try:
        _carries(vector, given, document)
    except _Wrong as wrong:
        # How it is written says most exactly what is wrong, where a vector does not.
        sentences = vector.case.get("sentences")
        if sentences is not None and wrong.about not in sentences and (ill := _ill_written(document)):
            wrong.sentence = ill.requirement
        raise
    if ill := _ill_written(document):
        raise _Wrong(f"{ill.seen} in {quoted(document)}", ill.expected, sentence=ill.requirement)


def _carries(vector: Vector, given: Response, document: str) -> None:
    """Judge what parsers read in a document."""
    for parser, tree in _read_by_others(document):
        if parser == "lxml":
            _valid(tree)
        if given.get("lossy") and not _is_true(tree.get("lossy")):
            raise _Wrong(quoted(document), 'lossy="true" on the root element')
        for name in vector.expect.get("marked", ()):
            element = tree if name == "tool_response" else next(tree.iter(name))
            if not _is_true(element.get("lossy")):
                said = f'`lossy="true"` on `<{name}>`, in which something was replaced'
                raise _Wrong(quoted(document), said, f"marked/{name}")
        seen = _of_tree(tree)
        expected = _in_its_notation(vector.expected_response, seen, times=_OF_TIMES in vector.requirements)
        _same(seen, expected, f"{parser} reads ")


def _ill_written(document: str) -> Observation | None:
    """Return what is wrong with how a document is written, which no parser shows, whatever a vector is about."""
    seen = read(document, by_server=False).observations if len(document) <= _MOST_READ else ()
    return next((one for one in seen if not one.ok and one.requirement in OF_WRITING), None)


_MOST_READ: Final = 2 * 65_536
"""Maximum number of characters of a document that is looked at in this way: what is wrong shows in short ones too."""
OF_WRITING: Final = (
    *("XMCP-RSP-022", "XMCP-RSP-023", "XMCP-RSP-024", "XMCP-RSP-027", "XMCP-RSP-028", "XMCP-RSP-042", "XMCP-RSP-043"),
)
"""What an emitter has to do that leaves no trace in what a parser reads, or not always."""


def _is_true(boolean: str | None) -> bool:
    """Return the value of a boolean of XML Schema, which can have white space around it; `None` is false."""
    return boolean is not None and boolean.strip(" \t\r\n") in ("true", "1")


def _lacks(document: str, strings: Iterable[str]) -> None:
    content = _CDATA.sub(r"\1", _before_own_elements(document))
    for own in ("<tool_response ", "<display>", "<server_populated>"):
        content = content.replace(own, "", 1)
    for lacking in strings:
        if lacking in content:
            raise _Wrong(f"`{quoted(content, content.index(lacking))}`", f"a document without `{quoted(lacking)}`")


_MAY_REFUSE = frozenset(("XMCP-RSP-044", "XMCP-RSP-053"))
"""Sentences that let an emitter refuse instead."""
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


def _read_by_others(document: str) -> Iterator[tuple[str, Any]]:
    try:
        yield "lxml", etree.fromstring(document.encode(), etree.XMLParser(resolve_entities=False))
        yield "xml.etree", ElementTree.fromstring(document)  # noqa: S314 - a second parser, independent of lxml
    except (etree.XMLSyntaxError, ElementTree.ParseError, UnicodeEncodeError) as fault:
        about = "]]>" if "]]>" in _CDATA.sub(r"\1", document) else ""
        sentence = OF_CHARACTERS if not about and _has_illegal(document) else ""
        said = f"{quoted(str(fault))}, in {quoted(document)}"
        raise _Wrong(said, "a well-formed document", about, sentence) from None


OF_CHARACTERS: Final = "XMCP-RSP-025"
"""What an emitter breaks that writes a code point which XML 1.0 does not allow, raw or as a reference."""


def _has_illegal(document: str) -> bool:
    references = re.findall("&#(?:x([0-9a-fA-F]{1,6})|([0-9]{1,7}));", document)
    points = [int(digits or hexadecimal, 10 if digits else 16) for hexadecimal, digits in references]
    return bool(ILLEGAL.search(document) or any(point <= _LAST and ILLEGAL.search(chr(point)) for point in points))


_LAST: Final = 0x10FFFF


def _before_own_elements(document: str) -> str:
    """Return a document up to the first element of the emitter's own, which comes last (XMCP-RSP-012)."""
    parser = expat.ParserCreate(namespace_separator=" ")
    depth, begins = 0, -1

    def start(name: str, _attributes: dict[str, str]) -> None:
        nonlocal depth, begins
        depth += 1
        if depth == 2 and " " in name and begins < 0:
            begins = parser.CurrentByteIndex

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler, parser.EndElementHandler = start, end
    encoded = document.encode("utf-8", "surrogatepass")
    with suppress(expat.ExpatError):  # another check says it
        parser.Parse(encoded, True)
    return document if begins < 0 else encoded[:begins].decode("utf-8", "surrogatepass")


_OF_TIMES: Final = "XMCP-RSP-048"


def _in_its_notation(expected: Any, seen: Any, *, times: bool) -> Any:
    """Return what is expected, with each decimal number in the notation that was seen, where that is right.

    With `times`, so is each point in time: RFC 3339 leaves open how many noughts end a fraction of a second.
    XMCP-RSP-046 leaves it open whether a number is `1E+3`, `1e3` or `1000`. A language in which every number is a
    double can take a whole one outside the range of XMCP-RSP-043 for an integer, and write its digits as a string.
    """
    match expected, seen:
        case float(), str() if abs(expected) > _SAFE and expected.is_integer() and seen == str(int(expected)):
            return seen
        case str(), str() if times and _instant(expected) == _instant(seen):
            return seen
        case decimal.Decimal(), str() if _has_all_digits(seen, expected):
            return seen
        case decimal.Decimal(), _:
            return str(expected)
        case dict(), dict():
            return {name: _in_its_notation(value, seen.get(name), times=times) for name, value in expected.items()}
        case list(), list():
            pairs = itertools.zip_longest(expected, seen[: len(expected)])
            return [_in_its_notation(one, other, times=times) for one, other in pairs]
    return expected


def _has_all_digits(text: str, number: decimal.Decimal) -> bool:
    """Return whether a text is a decimal number as JSON writes it, without a digit less."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return False
    with suppress(decimal.InvalidOperation):  # the exponent is too large
        written = decimal.Decimal(text)
        if not number:  # the noughts are its digits
            return not written and _exponent(written) <= _exponent(number)
        return written == number and _digits(text).startswith(_digits(str(number)))
    return False


def _exponent(number: decimal.Decimal) -> int:
    exponent = number.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _digits(number: str) -> str:
    return re.sub("[eE].*|[^0-9]", "", number).lstrip("0")


_TIME: Final = re.compile(
    "(?P<second>(?:[0-9-]+T)?[0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:\.(?P<fraction>[0-9]+))?(?P<zone>Z|[+-][0-9]{2}:[0-9]{2}|)"
)


def _instant(text: str) -> tuple[str, str, str] | str:
    """Return the parts of a point in time, without the noughts at the end of its fraction; any other text as it is."""
    found = _TIME.fullmatch(text)
    return text if found is None else (found["second"], (found["fraction"] or "").rstrip("0"), found["zone"])


_SAFE = 2**53 - 1
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LONGEST_NUMBER = 1_000


def _valid(tree: etree._Element) -> None:
    try:
        _xsd().assertValid(tree)
    except etree.DocumentInvalid as fault:
        raise _Wrong(quoted(str(fault)), "a document that the XSD accepts") from None


@cache
def _xsd() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(DATA / "tool_response.xsd"))


def _of_tree(root: Any) -> Response:
    """Return the response in an element of lxml or ElementTree."""
    members: Response = {key: root.get(key) for key in ("tool_name", "version", "call_id") if root.get(key) is not None}
    for child in root:
        if child.tag.startswith("{"):
            continue  # an element of the emitter's own (XMCP-RSP-012)
        if child.tag == "llm_output":
            members |= {"llm_output": _text(child), "format": child.get("format")}
            members["truncated"] = _is_true(child.get("truncated"))
        elif child.tag == "error":
            members["error"] = _of_error(child)
        else:
            members[child.tag] = json.loads(_text(child))
    own = [child for child in root if not child.tag.startswith("{")]
    marked = (root, *own, *(part for child in own for part in child if not part.tag.startswith("{")))
    return members | {"lossy": any(_is_true(element.get("lossy")) for element in marked)}


def _text(element: Any) -> str:
    """Return the character data before the first element inside; a comment or a processing instruction is none."""
    before = itertools.takewhile(lambda inner: not isinstance(inner.tag, str), element)
    return "".join([element.text or "", *(inner.tail or "" for inner in before)])


def _of_error(element: Any) -> Response:
    after, meta = element.get("retry_after_ms"), element.find("meta")
    registered = CATEGORY_OF.get(element.get("code"), "internal")
    return {
        "code": element.get("code"),
        "message": _text(element).strip(" \t\r\n"),
        "retryable": _is_true(element.get("retryable")),
        "retry_after_ms": None if after is None else int(after),
        "category": element.get("category", registered),
        "meta": None if meta is None else json.loads(_text(meta)),
    }


def _decode(vector: Vector, codec: Codec) -> None:
    document = untagged(vector.case["document"])
    _reads(vector, lambda policy: codec.decode(document, bad_display=policy))


def _stream(vector: Vector, codec: Codec) -> None:
    document = untagged(vector.case["document"])
    try:
        _reads(vector, lambda policy: codec.decode(document, bad_display=policy), "as a whole: ")
    except _Wrong as wrong:  # then nothing is said of the pieces
        wrong.sentence = vector.case.get("of_the_whole", "")
        raise
    arriving = pieces(document, vector.case["chunks"])
    _reads(vector, lambda policy: codec.decode_pieces(arriving, bad_display=policy), "in pieces: ")


def _reads(vector: Vector, read: Callable[[BadDisplay], tuple[Response, int]], how: str = "") -> None:
    error_class = vector.expect.get("error")
    try:
        response, warnings = read(vector.case.get("bad_display", "raise"))
    except Refused as refusal:
        if refusal.error_class != error_class:
            what = f"{how}a refusal: {quoted(str(refusal))}"
            raise _Wrong(what, error_class or "a response", refusal.error_class) from None
        return
    if error_class:
        raise _Wrong(f"{how}the response {quoted(facts(response))}", error_class)
    _same(response, vector.expected_response, how)
    if warnings != vector.expect.get("warnings", 0):
        raise _Wrong(f"{how}{warnings} warnings", f"{vector.expect.get('warnings', 0)} warnings")


def _same(response: Mapping[str, Any], expected: Mapping[str, Any], how: str) -> None:
    seen, wanted = facts(response), facts(expected)
    if seen != wanted:
        shared = (place for place, (one, other) in enumerate(zip(seen, wanted, strict=False)) if one != other)
        place = next(shared, min(len(seen), len(wanted)))
        raise _Wrong(how + quoted(seen, place), quoted(wanted, place), _differing(json.loads(seen), json.loads(wanted)))


def _differing(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Return the member in which two responses differ, such as `error/category`; empty where it is not one alone."""
    names = [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]
    if len(names) != 1:
        return ""
    (name,) = names
    mine, theirs = one.get(name), other.get(name)
    if name == "error" and isinstance(mine, dict) and isinstance(theirs, dict):
        return f"error/{inner}" if (inner := _differing(mine, theirs)) else ""
    return name


def _format(vector: Vector, formatter: Formatter) -> None:
    text = formatter(untagged(vector.case["value"]))
    try:
        seen = _outline(etree.fromstring(text.encode()))
    except etree.XMLSyntaxError as fault:
        raise _Wrong(f"{quoted(str(fault))}, in {quoted(text)}", "well-formed nested tags") from None
    wanted = _outline(etree.fromstring(vector.expect["xml"].encode()))
    if seen != wanted:
        raise _Wrong(quoted(text), quoted(vector.expect["xml"]))


def _outline(element: Any) -> Any:
    """Return an element without its name and indentation: the names, attributes and texts inside."""
    children = [(child.tag, dict(child.attrib), _outline(child)) for child in element]
    return children or element.text or ""


def _render(vector: Vector, renderer: Renderer) -> None:
    shown, unsupported = renderer(untagged(vector.case["envelope"]))
    for wanted in vector.expect["contains"]:
        if wanted not in shown:
            raise _Wrong(quoted(shown), f"`{quoted(wanted)}` is shown")
    for lacking in vector.expect.get("lacks", ()):
        if lacking in shown:
            raise _Wrong(quoted(shown, shown.index(lacking)), f"`{quoted(lacking)}` is not shown")
    if unsupported != vector.expect["unsupported"]:
        raise _Wrong(quoted(shown), "it says that the type is not supported" if not unsupported else "it does not")
