"""Every vector of conformance/vectors/wire.json, run against xmcp.wire and against readers that are not ours."""

from __future__ import annotations

import base64
import datetime
import decimal
import itertools
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from lxml import etree

from xmcp.wire import DecodeError, Decoder, DisplayEnvelope, ErrorInfo, ToolResponse, decode, encode

ROOT = Path(__file__).resolve().parents[3]
VECTORS = ROOT / "conformance" / "vectors"
FILE: dict[str, Any] = json.loads((VECTORS / "wire.json").read_text(encoding="utf-8"))
XSD = etree.XMLSchema(etree.parse(ROOT / "schemas" / "tool_response.xsd"))

# Rows of the vector table that no codec can show: they are about formatters and renderers.
NOT_OF_THE_CODEC = {32, 40}


def _nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


TAGS: dict[str, Any] = {
    "$repeat": lambda given: given[0] * given[1],
    "$count": lambda given: "".join(given[0].replace("#", str(number)) for number in range(given[1])),
    "$concat": lambda given: "".join(untagged(part) for part in given),
    "$surrogates": lambda given: "".join(chr(int(unit, 16)) for unit in given),
    "$base64": base64.b64decode,
    "$float": float,
    "$integer": int,
    "$decimal": decimal.Decimal,
    "$datetime": datetime.datetime.fromisoformat,
    "$date": datetime.date.fromisoformat,
    "$bytes": base64.b64decode,
    "$pairs": lambda given: {untagged(key): untagged(value) for key, value in given},
    "$tuple": tuple,
    "$set": set,
    "$opaque": lambda given: object(),
    "$nest": _nested,
}


def untagged(value: Any) -> Any:
    if isinstance(value, dict):
        if len(value) == 1 and (tag := next(iter(value))) in TAGS:
            return TAGS[tag](value[tag])
        return {key: untagged(member) for key, member in value.items()}
    return [untagged(member) for member in value] if isinstance(value, list) else value


def of(direction: str) -> Any:
    chosen = [vector for vector in FILE["vectors"] if vector["direction"] == direction]
    return pytest.mark.parametrize("vector", chosen, ids=[vector["id"] for vector in chosen])


def facts(members: dict[str, Any]) -> str:
    """What a reader has to agree on, as one string: JSON tells true from 1 and -0.0 from 0."""
    defaults = {"version": "1.0", "truncated": False, "lossy": False}
    present = {key: value for key, value in members.items() if value is not None}
    if present.get("error"):
        present["error"] = {key: value for key, value in present["error"].items() if value is not None}
    return json.dumps(defaults | present, sort_keys=True)


def of_response(response: ToolResponse) -> str:
    error = response.error
    return facts(
        {
            "tool_name": response.tool_name,
            "version": response.version,
            "call_id": response.call_id,
            "llm_output": response.llm_output,
            "format": response.format,
            "truncated": response.truncated,
            "lossy": response.lossy,
            "display": response.display and response.display.to_dict(),
            "error": error and {name: getattr(error, name) for name in error.__slots__},
        }
    )


def of_tree(root: Any) -> str:
    """The same from an element of lxml or ElementTree."""
    members: dict[str, Any] = dict(root.attrib)
    lossy = "lossy" in root.attrib
    for child in root.iter():
        lossy |= child.get("lossy") == "true"
        if child.tag == "llm_output":
            members["llm_output"] = child.text or ""
            members["format"] = child.get("format")
        elif child.tag == "display":
            members["display"] = json.loads(child.text)
        elif child.tag == "error":
            after = child.get("retry_after_ms")
            meta = child.find("meta")
            members["error"] = {
                "code": child.get("code"),
                "message": (child.text or "").strip(" \t\r\n"),
                "retryable": child.get("retryable") == "true",
                "retry_after_ms": None if after is None else int(after),
                "category": child.get("category"),
                "meta": None if meta is None else json.loads(meta.text),
            }
    return facts(members | {"lossy": lossy})


def expected(vector: dict[str, Any]) -> str:
    expect = vector["expect"]
    return facts(untagged(vector["response"] if "same" in expect else expect["response"]))


def written(vector: dict[str, Any]) -> str:
    given = untagged(vector["response"])
    if "error" in given:
        given["error"] = ErrorInfo(**given["error"])
    return encode(ToolResponse(**given), illegal=vector.get("illegal", "replace"))


@of("encode")
def test_what_is_written_is_read_back_by_every_parser(vector: dict[str, Any]) -> None:
    if "refused" in vector["expect"]:
        with pytest.raises((ValueError, TypeError)):
            written(vector)
        return
    document = written(vector)
    tree = etree.fromstring(document.encode(), etree.XMLParser(resolve_entities=False))
    XSD.assertValid(tree)
    want = expected(vector)
    assert of_response(decode(document)) == want
    assert of_response(decode(document.encode())) == want
    assert of_tree(tree) == want
    assert of_tree(ElementTree.fromstring(document)) == want
    for lacking in vector["expect"].get("raw_lacks", ()):
        assert lacking not in document.replace("<tool_response ", "", 1).replace("<display>", "", 1)


def check_outcome(vector: dict[str, Any], read: Any) -> None:
    if "error" in vector["expect"]:
        with pytest.raises(DecodeError) as caught:
            read()
        assert caught.value.kind == vector["expect"]["error"]
        return
    response = read()
    assert of_response(response) == expected(vector)
    assert len(response.warnings) == vector["expect"].get("warnings", 0)


@of("decode")
def test_what_arrives_is_read_or_refused_with_its_class(vector: dict[str, Any]) -> None:
    check_outcome(vector, lambda: decode(untagged(vector["document"]), bad_display=vector.get("bad_display", "raise")))


def pieces(document: str | bytes, chunks: dict[str, Any]) -> list[Any]:
    if "characters" not in chunks and isinstance(document, str):
        document = document.encode()
    if "cuts" in chunks:
        places = [0, *chunks["cuts"], len(document)]
        return [document[start:end] for start, end in itertools.pairwise(places)]
    (size,) = chunks.values()
    return [document[start : start + size] for start in range(0, len(document), size)]


@of("stream")
def test_what_arrives_in_pieces_is_what_it_is_as_a_whole(vector: dict[str, Any]) -> None:
    document = untagged(vector["document"])

    def read() -> ToolResponse:
        decoder = Decoder()
        for piece in pieces(document, vector["chunks"]):
            decoder.feed(piece)
        return decoder.close()

    check_outcome(vector, read)
    check_outcome(vector, lambda: decode(document))


def test_the_file_is_what_its_schema_says() -> None:
    schema = json.loads((VECTORS / "wire.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema_rs.validator_for(schema)
    assert [str(fault.message) for fault in validator.iter_errors(FILE)] == []
    for broken in (
        FILE | {"vectors": []},
        FILE | {"more": 1},
        FILE | {"vectors": [FILE["vectors"][0] | {"more": 1}]},
        FILE | {"vectors": [{**FILE["vectors"][0], "expect": {**FILE["vectors"][0]["expect"], "more": 1}}]},
    ):
        assert not validator.is_valid(broken)


def test_the_file_covers_every_row_of_the_codec_and_each_id_once() -> None:
    assert {vector["row"] for vector in FILE["vectors"]} == set(range(1, 57)) - NOT_OF_THE_CODEC
    ids = [vector["id"] for vector in FILE["vectors"]]
    assert len(ids) == len(set(ids))


def test_every_faulty_document_has_a_twin_that_is_read() -> None:
    by_id = {vector["id"]: vector for vector in FILE["vectors"]}
    for vector in FILE["vectors"]:
        if vector["direction"] == "decode":
            assert ("error" in vector["expect"]) == ("twin" in vector), vector["id"]
        if "twin" in vector:
            twin = by_id[vector["twin"]]
            assert twin["direction"] == vector["direction"]
            assert "response" in twin["expect"], vector["id"]


def test_a_display_of_a_vector_is_an_envelope_for_the_models_too() -> None:
    shown = [vector["expect"].get("response", {}).get("display") for vector in FILE["vectors"]]
    envelopes = [DisplayEnvelope.model_validate(untagged(display)) for display in shown if display]
    assert len(envelopes) > 20
