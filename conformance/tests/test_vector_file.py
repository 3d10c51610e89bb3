"""The vector file itself: valid, complete, and each fault next to a document without it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest

from xmcp_conformance.profiles.codec.vectors import facts, load, pieces, untagged
from xmcp_conformance.reader import read
from xmcp_models.display_envelope import DisplayEnvelope

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
FILE = json.loads((VECTORS / "wire.json").read_text(encoding="utf-8"))
ALL = load(VECTORS / "wire.json")
VALIDATOR = jsonschema_rs.validator_for(json.loads((VECTORS / "wire.schema.json").read_text(encoding="utf-8")))


def first(direction: str) -> dict:
    return next(case for case in FILE["vectors"] if case["direction"] == direction)


def test_the_file_is_what_its_schema_says() -> None:
    assert [str(fault.message) for fault in VALIDATOR.iter_errors(FILE)] == []


@pytest.mark.parametrize(
    "broken",
    [
        FILE | {"vectors": []},
        FILE | {"more": 1},
        *[FILE | {"vectors": [first(way) | {"more": 1}]} for way in ("encode", "decode", "stream", "format", "render")],
        *[
            FILE | {"vectors": [first(way) | {"expect": {}}]}
            for way in ("encode", "decode", "stream", "format", "render")
        ],
        FILE | {"vectors": [first("format") | {"expect": {"same": True}}]},
        FILE | {"vectors": [first("render") | {"expect": {"contains": ["a"]}}]},
        FILE | {"vectors": [first("encode") | {"expect": {"contains": ["a"], "unsupported": True}}]},
        FILE | {"vectors": [first("render") | {"document": ""}]},
        FILE | {"vectors": [first("decode") | {"expect": {"error": "OTHER"}}]},
    ],
)
def test_the_schema_refuses_what_no_runner_could_run(broken: dict) -> None:
    assert not VALIDATOR.is_valid(broken)


def test_the_file_covers_every_row_and_has_each_id_once() -> None:
    assert {vector.row for vector in ALL} >= set(range(1, 65))
    assert len({vector.id for vector in ALL}) == len(ALL)
    assert sum(vector.row == 32 for vector in ALL) >= 7
    assert sum(vector.row == 40 for vector in ALL) >= 8


def test_there_is_one_vector_a_line() -> None:
    lines = (VECTORS / "wire.json").read_text(encoding="ascii").splitlines()
    assert [json.loads(line.rstrip(","))["id"] for line in lines if line.startswith('{"id"')] == [v.id for v in ALL]


def test_every_faulty_document_has_a_twin_that_is_read() -> None:
    by_id = {vector.id: vector for vector in ALL}
    for vector in ALL:
        if vector.direction == "decode":
            assert ("error" in vector.expect) == ("twin" in vector.case), vector.id
        if "twin" in vector.case:
            twin = by_id[vector.case["twin"]]
            assert twin.direction == vector.direction
            assert "response" in twin.expect, vector.id


def test_the_strict_reader_delivers_what_the_vectors_say() -> None:
    compared = 0
    for vector in ALL:
        document = untagged(vector.case["document"]) if vector.direction == "decode" else b""
        if isinstance(document, bytes) or "error" in vector.expect or "bad_display" in vector.case:
            continue
        found, wanted = read(document).document, vector.expected_response
        assert found is not None, vector.id
        for name in ("tool_name", "llm_output", "display", "server_populated"):
            assert json.dumps(getattr(found, name)) == json.dumps(wanted.get(name)), vector.id
        assert (found.error and found.error.message) == wanted.get("error", {}).get("message"), vector.id
        compared += 1
    assert compared > 90


def test_the_strict_reader_finds_a_fault_in_every_document_that_a_reader_refuses() -> None:
    for vector in ALL:
        # Of another major version this reader says no more than that it is one.
        if vector.direction == "decode" and vector.expect.get("error", "VERSION") != "VERSION":
            document = untagged(vector.case["document"])
            if isinstance(document, str):
                assert not read(document).faultless, vector.id


def test_every_class_of_fault_is_told_by_some_vector() -> None:
    classes = {vector.expect["error"] for vector in ALL if "error" in vector.expect}
    chapter = (VECTORS.parents[1] / "spec" / "02-tool-response.md").read_text(encoding="utf-8")
    assert classes == set(re.findall(r"^\| `([A-Z_]+)` \|", chapter, re.MULTILINE))


def test_a_display_of_a_vector_is_an_envelope_for_the_models_too() -> None:
    shown = [vector.expect.get("response", {}).get("display") for vector in ALL]
    envelopes = [DisplayEnvelope.model_validate(untagged(display)) for display in shown if display]
    assert len(envelopes) > 20


def test_another_file_is_refused_with_what_it_is(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"format": "other", "version": "2.0"}')
    with pytest.raises(ValueError, match=r"other\.json has .* \('other', '2\.0'\); supported is xmcp-wire-vectors"):
        load(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": True}, {"a": 1}),
        ({"a": -0.0}, {"a": 0}),
        ({"a": "1"}, {"a": 1}),
        ({"a": ""}, {}),
        ({"a": [None]}, {"a": []}),
    ],
)
def test_values_of_another_json_type_are_other_facts(one: dict, other: dict) -> None:
    assert facts({"display": one}) != facts({"display": other})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"version": "1.0", "lossy": False, "call_id": None}),
        ({"display": {"a": 1, "b": 2.0}}, {"display": {"b": 2, "a": 1.0}}),
    ],
)
def test_what_says_the_same_is_the_same_fact(one: dict, other: dict) -> None:
    assert facts(one) == facts(other)


@pytest.mark.parametrize("chunks", [{"bytes": 1}, {"bytes": 3}, {"bytes": 99}, {"cuts": [2, 3]}])
def test_pieces_are_the_whole_again(chunks: dict) -> None:
    assert b"".join(pieces("a\u00e9\U0001f600b", chunks)) == "a\u00e9\U0001f600b".encode()  # type: ignore[arg-type]
    assert list(pieces("a\u00e9b", {"characters": 2})) == ["a\u00e9", "b"]
