"""The files of schemas/examples as the reader takes them; test_schema_rules.py holds them to the schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from lxml import etree
from support.told_response import told

from tools.generate import export_vectors
from xmcp.wire import DecodeError, DisplayEnvelope, ErrorInfo, decode, encode
from xmcp_conformance.profiles.codec.vectors import facts, untagged
from xmcp_conformance.reader import read
from xmcp_models.registry import PREFIX, RESULT_META_KEY

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"
EXAMPLES = SCHEMAS / "examples"
XSD = etree.XMLSchema(etree.parse(SCHEMAS / "tool_response.xsd"))
JUDGES = {
    kind: jsonschema_rs.validator_for(
        json.loads((SCHEMAS / f"{kind}.schema.json").read_text("utf-8")), validate_formats=True
    )
    for kind in ("display_envelope", "error_meta", "server_populated")
}
# Why an invalid document is refused, where it is not its structure.
CLASSES = {
    "unescaped-cdata-end": "NOT_WELL_FORMED",
    "raw-escape-character": "NOT_WELL_FORMED",
    "html-entity": "NOT_WELL_FORMED",
    "unbound-prefix": "NOT_WELL_FORMED",
    "text-after-the-document": "NOT_WELL_FORMED",
    "document-type": "DTD",
    "internal-entity": "DTD",
    "xml-1-1": "ENCODING",
    "major-version-0": "VERSION",
    "major-version-2": "VERSION",
    "major-version-9999": "VERSION",
    "display-that-is-python": "BAD_JSON",
    "display-with-nan": "BAD_JSON",
    "display-with-a-duplicate-key": "BAD_JSON",
    "display-with-an-unpaired-surrogate": "BAD_JSON",
    "two-values-in-display": "BAD_JSON",
    "meta-that-is-an-array": "BAD_JSON",
    "server-populated-that-is-a-list": "BAD_JSON",
    "display-without-type": "BAD_ENVELOPE",
    "table-of-numbers": "BAD_ENVELOPE",
    "seventy-nested-elements": "LIMIT",
}
# What a reader accepts although an emitter must not write it, with the sentence that the emitter breaks.
ACCEPTED = {
    "category-of-another-code": "XMCP-ERR-010",
    "display-with-an-escaped-ampersand": "XMCP-RSP-042",
    "display-with-an-integer-beyond-what-a-double-holds": "XMCP-RSP-043",
    "error-with-an-empty-message": "XMCP-ERR-006",
    "foreign-element-before-server-populated": "XMCP-RSP-006",
    "foreign-element-before-the-output": "XMCP-RSP-006",
    "meta-with-a-number-for-an-id": "XMCP-ERR-007",
    "retry-after-of-an-error-that-is-not-retryable": "XMCP-ERR-005",
    "server-populated-with-a-value-that-is-redacted": "XMCP-RSP-096",
    "server-populated-with-values-as-a-list": "XMCP-RSP-095",
    "unknown-attribute-of-the-display": "XMCP-RSP-011",
    "unknown-attribute-of-the-error": "XMCP-RSP-011",
    "unknown-attribute-of-the-output": "XMCP-RSP-011",
    "unknown-attribute-of-the-root": "XMCP-RSP-011",
    "chart-that-fetches-its-data": "XMCP-DSP-014",
    "chart-with-the-mark-image": "XMCP-DSP-014",
    "fallbacks-nested-four-deep": "XMCP-DSP-015",
    "groups-nested-four-deep": "XMCP-DSP-011",
    "meta-key-without-a-vendor": "XMCP-DSP-006",
    "reserved-type": "XMCP-DSP-010",
}


def files(verdict: str, kind: str) -> list[Path]:
    return sorted((EXAMPLES / verdict / kind).iterdir())


def each(paths: list[Path]) -> Any:
    return pytest.mark.parametrize("path", paths, ids=lambda path: f"{path.parent.name}/{path.stem}")


def refused(kind: str) -> list[Path]:
    return [path for path in files("invalid", kind) if path.stem not in ACCEPTED]


def accepted() -> list[Path]:
    kinds = ("tool_response", "display_envelope")
    return [path for kind in kinds for path in files("invalid", kind) if path.stem in ACCEPTED]


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
    parts = (("display", "display_envelope"), ("error/meta", "error_meta"), ("server_populated", "server_populated"))
    for element, schema in parts:
        for holder in tree.findall(element):
            assert not (holder.tail or "").strip()
            value = json.loads(holder.text, object_pairs_hook=unique, parse_constant=no_constant)
            json.dumps(value, ensure_ascii=False).encode()
            JUDGES[schema].validate(value)


@each(files("valid", "tool_response"))
def test_a_valid_document_is_valid_for_every_judge_and_comes_back(path: Path) -> None:
    document = path.read_bytes()
    judge(document)
    response = decode(document)
    assert decode(encode(response)) == response


@each(refused("tool_response"))
def test_an_invalid_document_is_refused_by_every_judge(path: Path) -> None:
    document = path.read_bytes()
    with pytest.raises(DecodeError) as caught:
        decode(document)
    assert caught.value.kind == CLASSES.get(path.stem, "SCHEMA")
    with pytest.raises((etree.LxmlError, ValueError, AssertionError)):
        judge(document)


@each(files("valid", "display_envelope"))
def test_a_valid_envelope_is_read(path: Path) -> None:
    assert decode(in_document(path)).display is not None


@each(refused("display_envelope"))
def test_an_invalid_envelope_is_refused(path: Path) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(in_document(path))
    assert caught.value.kind == "BAD_ENVELOPE"


@each(accepted())
def test_what_only_an_emitter_is_bound_by_is_read_and_the_suite_names_the_sentence(path: Path) -> None:
    document = in_document(path) if path.suffix == ".json" else path.read_text("utf-8")
    decode(document)
    broken = {observation.requirement for observation in read(document).observations if not observation.ok}
    assert ACCEPTED[path.stem] in broken


@each(files("valid", "error_meta"))
def test_a_valid_meta_is_read(path: Path) -> None:
    text = f'<error code="X_ACME">too late<meta><![CDATA[{path.read_text("utf-8")}]]></meta></error>'
    error = decode(f'<tool_response tool_name="t">{text}</tool_response>').error
    assert error is not None
    assert error.meta == json.loads(path.read_bytes())


@each(files("valid", "server_populated"))
def test_valid_values_of_the_server_are_read(path: Path) -> None:
    text = f"<llm_output/><server_populated><![CDATA[{path.read_text('utf-8')}]]></server_populated>"
    assert decode(f'<tool_response tool_name="t">{text}</tool_response>').server_populated == json.loads(
        path.read_bytes()
    )


@each(files("valid", "call_tool_result"))
def test_a_result_has_what_it_says(path: Path) -> None:
    result = json.loads(path.read_bytes())
    meta = result["_meta"]
    plain = path.stem.startswith("negotiated")
    assert meta[RESULT_META_KEY] == {"version": "1.0", "form": "plain" if plain else "document"}
    first = result["content"][0]["text"]
    if display := meta.get(f"{PREFIX}display"):
        DisplayEnvelope.model_validate(display)
    elif error := meta.get(f"{PREFIX}error"):
        assert result["isError"] is True
        read_error = ErrorInfo(**error)
        assert read_error.code in first
        assert read_error.message in first
    else:
        assert decode(first).llm_output


def in_document(path: Path) -> str:
    return f'<tool_response tool_name="t"><display><![CDATA[{path.read_text("utf-8")}]]></display></tool_response>'


def test_no_example_that_a_table_here_names_is_gone() -> None:
    there = {path.stem for kind in ("tool_response", "display_envelope") for path in files("invalid", kind)}
    assert CLASSES.keys() | ACCEPTED.keys() <= there
    assert not CLASSES.keys() & ACCEPTED.keys()


def test_our_reader_and_the_suites_readers_deliver_what_the_exported_examples_say() -> None:
    examples = [example for example in export_vectors.examples(EXAMPLES) if example["kind"] == "tool_response"]
    assert sum(example["reads"] for example in examples) > 30
    for example in examples:
        document, reads = example["text"], example["reads"]
        if not reads:
            with pytest.raises(DecodeError) as caught:
                decode(document)
            assert caught.value.kind == example["error"], example["name"]
            continue
        response, warnings = told(decode(document))
        wanted = example["response"]
        assert (facts(response), warnings) == (facts(wanted), 0), example["name"]
        assert untagged(wanted) == wanted
        strict = read(document).document
        if example["valid"]:
            assert strict is not None
            for name in ("tool_name", "llm_output", "display", "server_populated"):
                assert json.dumps(getattr(strict, name)) == json.dumps(wanted.get(name)), example["name"]
            for name in ("code", "message", "meta") if "error" in wanted else ():
                assert getattr(strict.error, name) == wanted["error"].get(name), example["name"]
