"""Two independent validators of each kind give the same verdict on every example and every vector.

Documents are judged by lxml and xmlschema, JSON values by jsonschema-rs and jsonschema. The suite and the reference use
only the first of each pair, so a fault of that library, or a schema that only that library understands, would show
nowhere else. These tests stand here because they judge files of the specification, not the suite or the reference.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

import jsonschema
import jsonschema_rs
import pytest
import referencing
import xmlschema
from lxml import etree
from xmlschema.exceptions import XMLResourceForbidden, XMLResourceParseError

from tools import ROOT
from tools.generate import export_vectors
from tools.generate.sources import SCHEMAS, SUFFIX
from xmcp_conformance.profiles.codec.vectors import load, untagged

VECTORS = ROOT / "conformance" / "vectors"
EXAMPLES = SCHEMAS / "examples"
XSD = SCHEMAS / "tool_response.xsd"

Judge = Callable[[Any], bool]
"""Return True if a library accepts a document or a value."""


class Known(NamedTuple):
    """A known difference: the one library that accepts the document, and why."""

    accepts: str
    reason: str


ACCEPTED_BY = {"lxml": (True, False), "xmlschema": (False, True)}
"""The verdicts of lxml and xmlschema if only the named one accepts."""

_ANY_ENCODING = "Both are right: by XML 1.0 section 4.3.3, a parser may read other encodings than UTF-8 and UTF-16."

_GUESSED_UTF_16 = (
    "expat, the parser beneath xmlschema, is wrong: it guesses UTF-16, for which XML 1.0 section 4.3.3 demands a byte "
    "order mark."
)

_STRIPPED = (
    "xmlschema is wrong: it takes as white space what str.strip() removes. In XML, only #x20, #x9, #xD and #xA are "
    "white space (XML 1.0 section 2.3). python/cpython#156658 is the same fault in the standard library."
)

KNOWN_DIFFERENCES = {
    "vectors/no-break-space-between-children": Known("xmlschema", _STRIPPED),
    "vectors/no-break-space-around-a-boolean": Known("xmlschema", _STRIPPED),
    "vectors/no-break-space-around-a-number": Known("xmlschema", _STRIPPED),
    "vectors/utf-16-without-byte-order-mark": Known("xmlschema", _GUESSED_UTF_16),
    "vectors/utf-16-big-endian-without-byte-order-mark": Known("xmlschema", _GUESSED_UTF_16),
    "vectors/declared-utf-8-without-its-hyphen": Known("lxml", _ANY_ENCODING),
    "vectors/utf-32-with-byte-order-mark": Known("lxml", _ANY_ENCODING),
    "vectors/utf-32-big-endian-with-byte-order-mark": Known("lxml", _ANY_ENCODING),
}
"""Every document on which the two libraries differ. On JSON values they never do."""

SMALLER = {
    # ElementTree writes the namespace out in the name of each of the 20,000 attributes: 2 GB.
    "long-namespace-times-many-attributes": {
        "$concat": [
            *('<tool_response tool_name="t" xmlns:x="', {"$repeat": ["u", 10_000]}, '"', {"$count": [' x:a#=""', 200]}),
            "><llm_output>a</llm_output></tool_response>",
        ]
    },
}
"""Documents that are too expensive for a library, and what is judged in their place."""


# --------------------------------------------------------------------------------------------------- documents


@cache
def documents() -> dict[str, bytes]:
    """Return every example and every vector that is a document, by name."""
    found = {
        path.relative_to(EXAMPLES).as_posix(): path.read_bytes() for path in EXAMPLES.glob("*/tool_response/*.xml")
    }
    for vector in load(VECTORS / "wire.json"):
        if "document" in vector.case:
            document = untagged(SMALLER.get(vector.id, vector.case["document"]))
            # A lone surrogate becomes bytes that are not UTF-8.
            found[f"vectors/{vector.id}"] = (
                document if isinstance(document, bytes) else document.encode("utf-8", "surrogatepass")
            )
    return found


def lxml_judge(schema: etree._ElementTree) -> Judge:
    validator = etree.XMLSchema(schema)

    def accepts(document: bytes) -> bool:
        root = parsed(document)
        return root is not None and validator.validate(root)

    return accepts


def parsed(document: bytes) -> etree._Element | None:
    """Return the root, or None if lxml cannot read the document or finds a DOCTYPE."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    try:
        root = etree.fromstring(document, parser)
    except etree.XMLSyntaxError:
        return None
    return None if root.getroottree().docinfo.doctype else root  # type: ignore[attr-defined]


def xmlschema_judge(schema: str | Path) -> Judge:
    validator = xmlschema.XMLSchema10(schema, defuse="always", allow="local")

    def accepts(document: bytes) -> bool:
        if not is_well_formed_without_doctype(document):
            return False
        try:
            # As a stream: it takes bytes that do not look like XML for a URL.
            resource = xmlschema.XMLResource(BytesIO(document), defuse="always", allow="none")
        except XMLResourceParseError:  # such as a namespace prefix that is not declared
            return False
        return validator.is_valid(resource)

    return accepts


def is_well_formed_without_doctype(document: bytes) -> bool:
    """Return True if expat, the parser beneath xmlschema, reads the document and finds no DOCTYPE."""

    def refuse(*_: object) -> None:
        raise ValueError("DOCTYPE")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(document, True)
    except (expat.ExpatError, LookupError, ValueError):
        return False
    return True


def disagreements(values: Mapping[str, Any], first: Judge, second: Judge) -> list[str]:
    """Return the names of the documents or values on which two validators differ."""
    return [name for name, value in values.items() if first(value) != second(value)]


@pytest.mark.slow
def test_lxml_and_xmlschema_agree_on_every_document_but_the_known_ones() -> None:
    by_lxml, by_xmlschema = lxml_judge(etree.parse(XSD)), xmlschema_judge(XSD)
    verdicts = {name: (by_lxml(document), by_xmlschema(document)) for name, document in documents().items()}
    known = {name: ACCEPTED_BY[difference.accepts] for name, difference in KNOWN_DIFFERENCES.items()}
    assert {name: pair for name, pair in verdicts.items() if pair[0] != pair[1]} == known
    tally = Counter(verdicts.values())
    assert tally[True, True] > 150
    assert tally[False, False] > 150


def test_every_document_with_a_document_type_is_refused_by_both_before_the_schema() -> None:
    with_doctype = {name: text for name, text in documents().items() if text.lstrip().startswith(b"<!DOCTYPE")}
    assert len(with_doctype) > 5
    for name, text in with_doctype.items():
        assert not is_well_formed_without_doctype(text), name
        assert parsed(text) is None, name


def test_xmlschema_itself_refuses_entities() -> None:
    name = "invalid/tool_response/internal-entity.xml"
    with pytest.raises(XMLResourceForbidden):
        xmlschema.XMLResource(BytesIO(documents()[name]), defuse="always", allow="none")


@pytest.mark.parametrize("rule", ["anyAttribute", "pattern", "maxLength"])
def test_a_weaker_xsd_for_one_of_the_two_is_noticed(rule: str, tmp_path: Path) -> None:
    examples = {name: document for name, document in documents().items() if not name.startswith("vectors/")}
    weaker = etree.parse(XSD)
    for node in list(weaker.iter(f"{{http://www.w3.org/2001/XMLSchema}}{rule}")):
        node.getparent().remove(node)  # type: ignore[union-attr]
    path = tmp_path / XSD.name
    path.write_bytes(etree.tostring(weaker))
    assert disagreements(examples, lxml_judge(etree.parse(XSD)), xmlschema_judge(XSD)) == []
    assert disagreements(examples, lxml_judge(etree.parse(XSD)), xmlschema_judge(path))
    assert disagreements(examples, lxml_judge(weaker), xmlschema_judge(XSD))


# -------------------------------------------------------------------------------------------------- JSON values

FILES: dict[str, Any] = {
    path.name: json.loads(path.read_text(encoding="utf-8"))
    for folder in (SCHEMAS, SCHEMAS / "registry", VECTORS)
    for path in sorted(folder.glob(f"*{SUFFIX}"))
}
KINDS = sorted(path.name.removesuffix(SUFFIX) for path in SCHEMAS.glob(f"*{SUFFIX}"))
PARTS = {"display": "display_envelope", "error/meta": "error_meta", "server_populated": "server_populated"}
_BASE = "json-schema:///"


def rust_judge(name: str, files: Mapping[str, Any] = FILES) -> Judge:
    registry = jsonschema_rs.Registry([(_BASE + file, schema) for file, schema in files.items()])
    return jsonschema_rs.Draft202012Validator(
        {"$ref": f"{_BASE}{name}{SUFFIX}"}, registry=registry, offline=True, validate_formats=True
    ).is_valid


def python_judge(name: str, files: Mapping[str, Any] = FILES) -> Judge:
    resources = [(_BASE + file, referencing.Resource.from_contents(schema)) for file, schema in files.items()]
    validator = jsonschema.Draft202012Validator(
        {"$ref": f"{_BASE}{name}{SUFFIX}"},
        registry=referencing.Registry().with_resources(resources),
        format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER,
    )
    return validator.is_valid


def examples(kind: str) -> dict[str, Any]:
    paths = sorted(EXAMPLES.glob(f"*/{kind}/*.json"))
    return {path.relative_to(EXAMPLES).as_posix(): json.loads(path.read_bytes()) for path in paths}


@cache
def parts_of_documents() -> dict[str, dict[str, Any]]:
    """Return the JSON values in the documents by kind, then by name of the document."""
    found: dict[str, dict[str, Any]] = {kind: {} for kind in PARTS.values()}
    for name, document in documents().items():
        for place, kind in PARTS.items():
            for value in json_values(parsed(document), place):
                found[kind][name] = value
    return found


def json_values(root: etree._Element | None, place: str) -> Iterator[Any]:
    for element in root.findall(place) if root is not None else ():
        try:
            value = json.loads(element.text or "", parse_constant=_no_json)
            json.dumps(value, ensure_ascii=False).encode()  # raises ValueError for an unpaired surrogate
        except (ValueError, RecursionError):
            continue
        yield value


def _no_json(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


@pytest.mark.parametrize("kind", KINDS)
def test_jsonschema_rs_and_jsonschema_agree_on_every_example(kind: str) -> None:
    values, accepts = examples(kind), rust_judge(kind)
    assert disagreements(values, accepts, python_judge(kind)) == []
    assert {accepts(value) for value in values.values()} == {True, False}


@pytest.mark.parametrize("kind", PARTS.values())
def test_jsonschema_rs_and_jsonschema_agree_on_the_json_in_every_document(kind: str) -> None:
    values = parts_of_documents()[kind]
    assert disagreements(values, rust_judge(kind), python_judge(kind)) == []
    assert len(values) > 5


@pytest.mark.parametrize("name", ["error_codes", "display_types"])
def test_both_accept_a_registry(name: str) -> None:
    value = json.loads((SCHEMAS / "registry" / f"{name}.json").read_bytes())
    assert rust_judge(name)(value)
    assert python_judge(name)(value)


@pytest.mark.slow
def test_both_accept_the_exported_vectors(tmp_path: Path) -> None:
    exported = json.loads(export_vectors.write(tmp_path).read_bytes())
    assert rust_judge("export")(exported)
    assert python_judge("export")(exported)


@pytest.mark.slow
def test_both_accept_every_vector_and_agree_on_it_without_any_one_of_its_members() -> None:
    wire = json.loads((VECTORS / "wire.json").read_bytes())
    by_rust, by_python = rust_judge("wire"), python_judge("wire")
    assert by_rust(wire)
    assert by_python(wire)
    cut = {
        f"{vector['id']} without {member}": {
            **wire,
            "vectors": [{name: value for name, value in vector.items() if name != member}],
        }
        for vector in wire["vectors"]
        for member in vector
    }
    assert disagreements(cut, by_rust, by_python) == []
    assert {by_rust(value) for value in cut.values()} == {True, False}


@pytest.mark.parametrize(
    ("kind", "keyword"), [("display_envelope", "allOf"), ("error_meta", "propertyNames"), ("usage_record", "required")]
)
def test_a_weaker_json_schema_for_one_of_the_two_is_noticed(kind: str, keyword: str) -> None:
    weaker = deepcopy(FILES)
    del weaker[f"{kind}{SUFFIX}"][keyword]
    assert disagreements(examples(kind), rust_judge(kind), python_judge(kind, weaker))
    assert disagreements(examples(kind), rust_judge(kind, weaker), python_judge(kind))


def test_both_assert_formats() -> None:
    record = next(value for name, value in examples("usage_record").items() if name.startswith("valid/"))
    wrong = {**record, "timestamp": "yesterday"}
    for judge in (rust_judge("usage_record"), python_judge("usage_record")):
        assert judge(record)
        assert not judge(wrong)
