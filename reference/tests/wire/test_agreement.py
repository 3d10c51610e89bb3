"""XSD, reader, the suite's reader and the generated dataclasses judge documents alike, but for what is listed here.

Documents are the examples and what a grammar of parts draws, right and wrong ones in any order. Wherever two judges
differ, a rule of spec section 9.4 or a loss of the dataclasses has to explain it; an explanation that is never needed
is stale.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random

import jsonschema_rs
import pytest
from lxml import etree
from xsdata.formats.dataclass.parsers import XmlParser
from xsdata.formats.dataclass.parsers.config import ParserConfig

from xmcp.wire import DecodeError, decode
from xmcp_conformance.reader import read
from xmcp_models.tool_response import ToolResponse as Generated

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"
EXAMPLES = sorted((SCHEMAS / "examples").glob("*/tool_response/*.xml"))
XSD = etree.XMLSchema(etree.parse(SCHEMAS / "tool_response.xsd"))
DRAWN = 2000
"""Documents beside the examples, the same each time: what has to be seen is seen."""

# ------------------------------------------------------------------------------------------------ the documents


Draw = Callable[[Random], str]
Draws = Callable[[Random], list[str]]


def mostly(right: list[str], wrong: list[str]) -> Draw:
    """One of `right` nineteen times of twenty."""
    return lambda random: random.choice(right if random.randrange(20) else wrong)


def all_of(*parts: Draw) -> Draw:
    return lambda random: "".join(part(random) for part in parts)


def some(*parts: Draw) -> Draw:
    """Each part or nothing, joined."""
    return lambda random: "".join(part(random) for part in parts if random.randrange(2))


def attribute(name: str, right: list[str], wrong: list[str]) -> Draw:
    value = mostly(right, wrong)
    return lambda random: f' {name}="{value(random)}"'


def row(*parts: Draw) -> Draws:
    return lambda random: [part(random) for part in parts]


def one_of(*rows: Draws) -> Draws:
    return lambda random: random.choice(rows)(random)


FOREIGN_ATTRIBUTES = mostly(
    ["", "", ' acme:a="1"', ' xml:lang="de"'],
    [
        ' colour="red"',
        ' xsi:type="xs:string"',
        ' xsi:nil="true"',
        ' xsi:schemaLocation="urn:a a.xsd"',
        ' no:prefix="1"',
    ],
)
LOSSY = attribute("lossy", ["true", "false", "1", " 0 "], ["yes", "TRUE", ""])
BLANK = mostly(["", "", "", "\n  "], ["text", "&#160;", "<![CDATA[ ]]>", "<?p i?>", "&#13;", "<!-- c -->"])
JSON = ['{"a/b":1}', "{}", ' {"a/b": [null]}\n', '<![CDATA[{"a/b":"<"}]]>', '{"a/b":"<!-- c -->"}']
BAD_JSON = [
    "",
    "{",
    "[]",
    "null",
    "'a'",
    '{"a/b":1,"a/b":2}',
    '{"a/b":NaN}',
    '{"a/b":"\\ud800"}',
    '{"a/b":9007199254740993}',
    '{"a/b":"&amp;"}',
    '{"a/b":<b/>}',
    "[" * 70 + "]" * 70,
    "{} {}",
]
ENVELOPES = [
    '{"type":"text","payload":"x"}',
    '{"type":"table","payload":[{"a":1}],"later":1}',
    '{"type":"later","payload":[]}',
]
BAD_ENVELOPES = [
    *BAD_JSON,
    '{"type":"text","payload":7}',
    '{"type":"TEXT","payload":"x"}',
    '{"type":"form","payload":{}}',
    '{"type":"text","payload":"x","meta":{"colour":1}}',
    '{"type":"chart","payload":{"url":"x"},"alt":"a"}',
    '{"type":"chart","payload":{}}',
    '{"type":"text","payload":"x","fallback":{"type":"text","payload":"x","fallback":{"type":"text","payload":"x",'
    '"fallback":{"type":"text","payload":"x","fallback":{"type":"text","payload":"x"}}}}}',
    '{"type":"group","payload":[{"type":"group","payload":[{"type":"group","payload":[{"type":"group","payload":[]}]}]}]}',
]
TEXTS = mostly(
    [
        "done",
        "a &amp; b",
        "<![CDATA[<b>]]>",
        "",
        " x\n",
        "&#13;",
        "a<!-- c -->b",
        "a\rb",
        "<![CDATA[<error code='A'>]]>",
    ],
    ["<b/>", "<acme:b/>", "]]&gt;", "]]>", "&nbsp;", "&#0;", "a & b"],
)


def element(name: str, attributes: Draw, content: Draw) -> Draw:
    return lambda random: f"<{name}{attributes(random)}{FOREIGN_ATTRIBUTES(random)}>{content(random)}</{name}>"


OUTPUT = element(
    "llm_output",
    some(
        attribute("format", ["text/plain", "a/b", "A0+x/b-c.d"], ["text", "text/plain;a=b", "a/" + "b" * 126]),
        attribute("truncated", ["true", "0"], ["yes"]),
        LOSSY,
    ),
    TEXTS,
)
DISPLAY = element("display", some(LOSSY), mostly(ENVELOPES, BAD_ENVELOPES))
META = element("meta", some(LOSSY), mostly(JSON, BAD_JSON))
ERROR = element(
    "error",
    all_of(
        attribute("code", ["TIMEOUT", "X_ACME", "NOT_FOUND"], ["timeout", "", "A" * 64]),
        some(
            attribute("category", ["timeout", "later"], ["Time-Out", "a" * 64]),
            attribute("retryable", ["true", "1", " true "], ["yes"]),
            attribute(
                "retry_after_ms", ["0", "007", "+5", " 5 ", "9007199254740991"], ["-1", "1.5", "", "9007199254740992"]
            ),
            LOSSY,
        ),
    ),
    all_of(
        mostly(["late", "too &lt; late ", "a<!-- c -->b"], ["", " ", "<b/>"]),
        some(META),
        mostly([""], [" ", "x", "<meta>{}</meta>"]),
    ),
)
POPULATED = element(
    "server_populated",
    some(LOSSY),
    mostly(
        ["{}", '{"values":{"a":1},"redacted":["b"]}'],
        [*BAD_JSON, '{"values":[]}', '{"values":{"a":1},"redacted":["a"]}', '{"redacted":["a","a"]}'],
    ),
)
FOREIGN_ELEMENTS = [
    "<acme:x/>",
    '<acme:x b="1">text<acme:y/></acme:x>',
    "<acme:x><display>x</display></acme:x>",
    '<x xmlns="urn:x"><y/></x>',
    "<acme:x><tool_response><llm_output/></tool_response></acme:x>",
]
FOREIGN = mostly(FOREIGN_ELEMENTS, FOREIGN_ELEMENTS)
WRONG = ["<footer/>", "<meta>{}</meta>", "<Display>{}</Display>", "<no:x/>"]
CHANNELS = one_of(row(OUTPUT), row(OUTPUT, DISPLAY), row(DISPLAY), row(ERROR), row(ERROR, DISPLAY))


def in_any_order(rows: Draws) -> Draws:
    def drawn(random: Random) -> list[str]:
        children = rows(random)
        random.shuffle(children)
        return children

    return drawn


def any_parts(random: Random) -> list[str]:
    parts = [OUTPUT, DISPLAY, ERROR, POPULATED, FOREIGN, mostly(WRONG, WRONG)]
    return [random.choice(parts)(random) for _ in range(random.randrange(4))]


CHILDREN = one_of(
    CHANNELS,
    lambda random: [*CHANNELS(random), POPULATED(random)],
    lambda random: [*CHANNELS(random), POPULATED(random), FOREIGN(random), FOREIGN(random)],
    in_any_order(lambda random: [*CHANNELS(random), FOREIGN(random)]),
    any_parts,
)
NAME = attribute("tool_name", ["t", "t", "a &amp; b", "a\tb", "t" * 128], ["", "t" * 129])
ROOT = all_of(
    lambda random: "".join(NAME(random) for _ in range(random.choice([1] * 20 + [0, 2]))),
    some(
        attribute("version", ["1.0", "1.7", "1.9999"], ["2.0", "0.9", "01.0", "1", "1.10000", " 1.0"]),
        attribute("call_id", ["c", "c" * 256], ["", "c" * 257]),
        LOSSY,
    ),
    FOREIGN_ATTRIBUTES,
)
NAMESPACES = (
    ' xmlns:acme="urn:example:acme" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xmlns:xs="http://www.w3.org/2001/XMLSchema"'
)
BEFORE = mostly(
    ["", "", "", "", "", "\ufeff", '<?xml version="1.0" encoding="utf-8"?>'],
    ["<!DOCTYPE tool_response>", '<?xml version="1.1"?>', '<?xml version="1.0" encoding="latin-1"?>', "x"],
)


def document(random: Random) -> str:
    children = "".join(BLANK(random) + child for child in CHILDREN(random))
    return f"{BEFORE(random)}<tool_response{NAMESPACES}{ROOT(random)}>{children}{BLANK(random)}</tool_response>"


# --------------------------------------------------------------------------------------------------- the judges

ATTRIBUTES = {
    "tool_response": {"tool_name", "version", "call_id", "lossy"},
    "llm_output": {"format", "truncated", "lossy"},
    "display": {"lossy"},
    "server_populated": {"lossy"},
    "meta": {"lossy"},
    "error": {"code", "retryable", "retry_after_ms", "category", "lossy"},
}


@dataclass(frozen=True)
class Verdicts:
    """What each judge says of one document; `root` is None where lxml finds no well-formed XML without a DTD."""

    text: str
    root: etree._Element | None
    schema: tuple[str, ...]
    """Kinds of the faults that the XSD finds."""
    json: frozenset[str]
    """Elements whose JSON is not what its JSON Schema says."""
    reader: str
    """Class of the refusal; empty where the document is read."""
    suite: frozenset[str]
    """Sentences that the suite finds broken."""
    generated: str
    """What the dataclasses refuse; empty where they take it."""


def judged(text: str) -> Verdicts:
    root = parsed(text)
    schema = () if root is None else schema_faults(root)
    try:
        decode(text)
        refused = ""
    except DecodeError as fault:
        refused = str(fault.kind)
    suite = frozenset(observation.requirement for observation in read(text).observations if not observation.ok)
    wrong = frozenset() if root is None else json_faults(root)
    return Verdicts(text, root, schema, wrong, refused, suite, generated_fault(text))


def parsed(text: str) -> etree._Element | None:
    try:
        root = etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except etree.XMLSyntaxError:
        return None
    return root if not root.getroottree().docinfo.doctype else None


def schema_faults(root: etree._Element) -> tuple[str, ...]:
    XSD.validate(root)
    return tuple(entry.type_name.removeprefix("SCHEMAV_") for entry in XSD.error_log)


PARTS = {"display": "display_envelope", "error/meta": "error_meta", "server_populated": "server_populated"}
JSON_SCHEMAS = {
    place: jsonschema_rs.validator_for(
        json.loads((SCHEMAS / f"{kind}.schema.json").read_text("utf-8")), validate_formats=True
    )
    for place, kind in PARTS.items()
}


def json_faults(root: etree._Element) -> frozenset[str]:
    """The places whose JSON their schemas refuse; what Python cannot read as JSON is no fault of this kind."""
    found = set()
    for place, judge in JSON_SCHEMAS.items():
        for holder in root.findall(place):
            try:
                value = json.loads("".join(str(text) for text in holder.xpath("text()")))
            except (ValueError, RecursionError):
                continue
            if not judge.is_valid(value):
                found.add(place)
    return frozenset(found)


STRICT = XmlParser(
    config=ParserConfig(
        fail_on_unknown_properties=True, fail_on_unknown_attributes=True, fail_on_converter_warnings=True
    )
)


def generated_fault(text: str) -> str:
    try:
        with warnings.catch_warnings(action="ignore"):
            STRICT.from_bytes(text.encode(), Generated)
    except Exception as fault:
        return f"{type(fault).__name__}: {fault}"
    return ""


# ------------------------------------------------------------------------------------------- what they differ in

# The class that the reader tells of what all schemas accept, and the sentences that can be why.
REFUSED_BY_READER_ALONE = {
    "ENCODING": {"XMCP-RSP-004"},
    "VERSION": {"XMCP-RSP-064"},
    "BAD_JSON": {"XMCP-RSP-040", "XMCP-RSP-041", "XMCP-RSP-044"},
    "LIMIT": {"XMCP-RSP-068"},
    "SCHEMA": {"XMCP-ERR-008"},
}
# Of these the suite says nothing, or another sentence, when it reads a single document.
UNSAID_BY_SUITE = {"XMCP-RSP-064", "XMCP-RSP-068"}
# Where it finds this broken it looks no further.
SUITE_STOPS_AT = {"XMCP-RSP-042"}


def foreign_elements(root: etree._Element) -> list[etree._Element]:
    return [child for child in root if isinstance(child.tag, str) and child.tag.startswith("{")]


def with_foreign_elements_last(root: etree._Element) -> None:
    for child in foreign_elements(root):
        tail, child.tail = child.tail, None
        before = child.getprevious()
        if before is None:
            root.text = (root.text or "") + (tail or "")
        else:
            before.tail = (before.tail or "") + (tail or "")
        root.append(child)


def without_unknown_attributes(root: etree._Element) -> None:
    for node in root.iter(*ATTRIBUTES):
        for name in set(node.attrib) - ATTRIBUTES[str(node.tag)]:
            if not str(name).startswith("{"):
                del node.attrib[name]


def without_instructions_to_validators(root: etree._Element) -> None:
    for node in root.iter("*"):
        for name in [name for name in node.attrib if str(name).startswith("{http://www.w3.org/2001/XMLSchema-inst")]:
            del node.attrib[name]


def without(place: str) -> Callable[[etree._Element], None]:
    def change(root: etree._Element) -> None:
        for holder in root.findall(place):
            holder.text = "{}"

    return change


# Why the reader accepts what a schema refuses: the sentence, and what it passes over.
ACCEPTED_BY_READER_ALONE: dict[str, tuple[str, Callable[[etree._Element], None]]] = {
    "foreign elements that are not last": ("XMCP-RSP-066", with_foreign_elements_last),
    "attributes that it does not know": ("XMCP-RSP-079", without_unknown_attributes),
    "xsi:type and xsi:nil": ("XMCP-RSP-066", without_instructions_to_validators),
    "members of meta": ("XMCP-ERR-009", without("error/meta")),
    "members of server_populated": ("XMCP-RSP-095", without("server_populated")),
}
# What an emitter must not write and a reader reads.
EMITTERS_ONLY = {
    *(f"XMCP-RSP-0{number}" for number in ("03", "04", "24", "27", "28", "42", "43", "96")),
    *(f"XMCP-ERR-0{number}" for number in ("05", "06", "10", "11")),
    *(f"XMCP-DSP-0{number}" for number in ("06", "10", "11", "14", "15")),
}
# What the dataclasses do not notice, by the kind of fault that libxml2 names.
LOST_BY_DATACLASSES = {
    "CVC_MINLENGTH_VALID": "lengths",
    "CVC_MAXLENGTH_VALID": "lengths",
    "CVC_PATTERN_VALID": "patterns",
    "CVC_MAXINCLUSIVE_VALID": "bounds of numbers",
    "CVC_DATATYPE_VALID_1_2_1": "which text is a number",
    "CVC_COMPLEX_TYPE_2_3": "text between elements",
    "CVC_COMPLEX_TYPE_3_2_2": "attributes that do not belong",
    "CVC_ELT_1": "the namespace of the root",
    "CVC_ELT_3_1": "xsi:nil",
    "CVC_ELT_4_3": "xsi:type",
    "ELEMENT_CONTENT": "order, number and choice of elements",
}


def refused_alone(verdicts: Verdicts) -> set[str]:
    """Why the reader refuses what all schemas accept; empty where nothing listed explains it."""
    sentences = REFUSED_BY_READER_ALONE.get(verdicts.reader, set())
    return (sentences & verdicts.suite) or (sentences & UNSAID_BY_SUITE) or (SUITE_STOPS_AT & verdicts.suite)


def accepted_alone(verdicts: Verdicts) -> set[str]:
    """Which of what the reader passes over makes a schema refuse the document; empty where that does not explain it."""
    assert verdicts.root is not None
    root = deepcopy(verdicts.root)
    needed = set()
    for name, (_, cure) in ACCEPTED_BY_READER_ALONE.items():
        before = etree.tostring(root)
        cure(root)
        if etree.tostring(root) != before:
            needed.add(name)
    return needed if not schema_faults(root) and not json_faults(root) else set()


def corpus() -> Iterator[Verdicts]:
    for path in EXAMPLES:
        text = path.read_text("utf-8")
        if path.stem != "internal-entity":
            yield judged(text)
    for path in (SCHEMAS / "examples" / "invalid" / "display_envelope").iterdir():
        text = json.dumps(json.loads(path.read_bytes()))
        yield judged(f'<tool_response tool_name="t"><display>{text}</display></tool_response>')
    random = Random(0)
    yield from map(judged, dict.fromkeys(document(random) for _ in range(DRAWN)))


def explained(verdicts: Verdicts) -> Iterator[str]:
    """What is listed and explains how the judges differ on a document, for each of the pairs that are compared."""
    valid = not verdicts.schema and not verdicts.json
    if verdicts.root is None:
        assert verdicts.reader, "the reader reads what is no XML"
        yield "no XML, repaired by the dataclasses" if not verdicts.generated else "no XML"
    elif valid and verdicts.reader:
        why = refused_alone(verdicts)
        assert why, "the reader refuses it and the schemas do not"
        yield from why
    elif not valid and not verdicts.reader:
        why = accepted_alone(verdicts)
        assert why, "the reader accepts it and the schemas do not"
        yield from why if len(why) == 1 else ()
    elif valid:
        assert verdicts.suite <= EMITTERS_ONLY, "the suite finds more than emitters are bound by"
        yield from verdicts.suite or {"agreed"}
    if not valid or (verdicts.reader and verdicts.reader != "VERSION"):
        assert verdicts.suite or verdicts.reader == "VERSION", "the suite finds nothing"
    if verdicts.root is not None and not verdicts.generated:
        assert set(verdicts.schema) <= LOST_BY_DATACLASSES.keys(), "the dataclasses lose more than is listed"
        yield from verdicts.schema if len(verdicts.schema) == 1 else ()
    if not verdicts.schema and verdicts.root is not None:
        assert not verdicts.generated, "the dataclasses refuse it and the XSD does not"


@pytest.mark.slow
def test_judges_of_documents_differ_only_by_what_is_listed_and_all_of_that_is_seen() -> None:
    seen: Counter[str] = Counter()
    unexplained: list[str] = []
    for verdicts in corpus():
        try:
            seen.update(explained(verdicts))
        except AssertionError as difference:
            unexplained.append(f"{str(difference).splitlines()[0]}: {verdicts}")
    assert unexplained == []
    listed = {name for sentences in REFUSED_BY_READER_ALONE.values() for name in sentences}
    listed |= ACCEPTED_BY_READER_ALONE.keys() | EMITTERS_ONLY | LOST_BY_DATACLASSES.keys()
    assert sorted({*listed, "no XML", "no XML, repaired by the dataclasses"} - seen.keys()) == []
    assert seen["agreed"] > 100


def test_every_sentence_that_explains_a_difference_stands_in_chapter_9() -> None:
    chapter = (SCHEMAS.parent / "spec" / "09-versioning.md").read_text("utf-8")
    said = set()
    for prefix, numbers in re.findall(r"(XMCP-[A-Z]+-)([0-9]{3}(?:(?:, | to )[0-9]{3})*)", chapter):
        for span in numbers.split(", "):
            first, _, last = span.partition(" to ")
            said |= {f"{prefix}{number:03}" for number in range(int(first), int(last or first) + 1)}
    listed = EMITTERS_ONLY.union(*REFUSED_BY_READER_ALONE.values())
    listed |= {sentence for sentence, _ in ACCEPTED_BY_READER_ALONE.values()}
    assert listed <= said
