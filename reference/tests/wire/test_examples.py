"""The files of schemas/examples: the valid ones are valid for every judge, each invalid one is invalid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from lxml import etree

from xmcp.wire import DecodeError, decode, encode

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"
EXAMPLES = SCHEMAS / "examples"
JSON_KINDS = ("display_envelope", "error_meta", "tool_metadata")
XSD = etree.XMLSchema(etree.parse(SCHEMAS / "tool_response.xsd"))
JUDGES = {
    kind: jsonschema_rs.validator_for(json.loads((SCHEMAS / f"{kind}.schema.json").read_text("utf-8")))
    for kind in JSON_KINDS
}
CLASSES = {
    "unescaped-cdata-end": "NOT_WELL_FORMED",
    "raw-escape-character": "NOT_WELL_FORMED",
    "html-entity": "NOT_WELL_FORMED",
    "unbound-prefix": "NOT_WELL_FORMED",
    "text-after-the-document": "NOT_WELL_FORMED",
    "document-type": "DTD",
    "internal-entity": "DTD",
    "xml-1-1": "ENCODING",
    "major-version-2": "VERSION",
    "no-tool-name": "SCHEMA",
    "no-channel": "SCHEMA",
    "output-and-error": "SCHEMA",
    "display-before-output": "SCHEMA",
    "two-displays": "SCHEMA",
    "element-inside-output": "SCHEMA",
    "text-between-channels": "SCHEMA",
    "text-after-meta": "SCHEMA",
    "unknown-element": "SCHEMA",
    "namespace-on-the-root": "SCHEMA",
    "error-code-with-a-space": "SCHEMA",
    "retryable-yes": "SCHEMA",
    "negative-retry-after": "SCHEMA",
    "display-that-is-python": "BAD_JSON",
    "display-with-nan": "BAD_JSON",
    "display-with-a-duplicate-key": "BAD_JSON",
    "meta-that-is-an-array": "BAD_JSON",
    "display-without-type": "BAD_ENVELOPE",
    "table-of-numbers": "BAD_ENVELOPE",
    "seventy-nested-elements": "LIMIT",
}


def files(verdict: str, *kinds: str) -> Any:
    found = [path for kind in kinds for path in sorted((EXAMPLES / verdict / kind).iterdir())]
    return pytest.mark.parametrize("path", found, ids=lambda path: f"{path.parent.name}/{path.stem}")


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("duplicate key")
    return members


def no_constant(name: str) -> None:
    raise ValueError(name)


def judge(document: bytes) -> None:
    """A second opinion that shares nothing with the reader: raises where the document is not valid."""
    tree = etree.fromstring(document, etree.XMLParser(resolve_entities=False))
    assert tree.getroottree().docinfo.doctype == ""
    assert tree.getroottree().docinfo.xml_version == "1.0"
    XSD.assertValid(tree)
    assert tree.get("version", "1.0").startswith("1.")
    assert len(list(tree.iter())) <= 64
    for element, schema in (("display", "display_envelope"), ("error/meta", "error_meta")):
        for holder in tree.findall(element):
            assert not (holder.tail or "").strip()
            value = json.loads(holder.text, object_pairs_hook=unique, parse_constant=no_constant)
            JUDGES[schema].validate(value)


@files("valid", "tool_response")
def test_a_valid_document_is_valid_for_every_judge_and_comes_back(path: Path) -> None:
    document = path.read_bytes()
    judge(document)
    response = decode(document)
    assert decode(encode(response)) == response


@files("invalid", "tool_response")
def test_an_invalid_document_is_refused_by_every_judge(path: Path) -> None:
    document = path.read_bytes()
    with pytest.raises(DecodeError) as caught:
        decode(document)
    assert caught.value.kind == CLASSES[path.stem]
    with pytest.raises((etree.LxmlError, ValueError, AssertionError)):
        judge(document)


@files("valid", *JSON_KINDS)
def test_a_valid_value_is_valid(path: Path) -> None:
    JUDGES[path.parent.name].validate(json.loads(path.read_bytes()))
    if path.parent.name == "display_envelope":
        decode(in_document(path))


@files("invalid", *JSON_KINDS)
def test_an_invalid_value_is_refused(path: Path) -> None:
    assert not JUDGES[path.parent.name].is_valid(json.loads(path.read_bytes()))
    if path.parent.name == "display_envelope":
        with pytest.raises(DecodeError) as caught:
            decode(in_document(path))
        assert caught.value.kind == "BAD_ENVELOPE"


def in_document(path: Path) -> str:
    return f'<tool_response tool_name="t"><display><![CDATA[{path.read_text("utf-8")}]]></display></tool_response>'


def test_there_are_examples_of_every_kind_and_every_invalid_document_has_its_class() -> None:
    for verdict in ("valid", "invalid"):
        for kind in ("tool_response", *JSON_KINDS):
            assert len(list((EXAMPLES / verdict / kind).iterdir())) >= 5, (verdict, kind)
    assert {path.stem for path in (EXAMPLES / "invalid" / "tool_response").iterdir()} == CLASSES.keys()
