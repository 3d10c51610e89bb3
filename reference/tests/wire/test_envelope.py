"""The envelope: the same verdict as the JSON Schema on any JSON, and on Python values by the JSON they become."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from xmcp.wire import DecodeError, DisplayEnvelope, ToolResponse, decode, encode

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[3] / "schemas" / "display_envelope.schema.json").read_text("utf-8")
)
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)
RULES = {
    kind: rule["then"]["properties"]["payload"]
    for rule in SCHEMA["allOf"]
    for kind in rule["if"]["properties"]["type"].get("enum", [rule["if"]["properties"]["type"].get("const")])
}

URIS = [
    "https://a/b",
    "https://é\x85",
    "https://",
    "https://a b",
    "https://a\u00a0b",
    "https://a\ufeffb",
    "https://a\n",
    "https://a\\b",
    "http://a",
    "//a",
    "javascript:x",
    "data:image/png;base64,AA==",
    "data:image/avif,",
    "data:image/svg+xml,<svg/>",
    "data:image/png",
    "data:image/png;\n",
    "DATA:image/png,",
]
JUNK = st.sampled_from(
    [None, True, 0, -1, 1.5, 5.0, -0.5, 10**400, 2**53, "", "x", "info", *URIS, [], {}, [{}], [None], [[]]]
)


def near(schema: Any, depth: int = 3) -> st.SearchStrategy[Any]:
    """Mostly what the schema describes, at times something else."""
    return st.one_of(*[_described(schema, depth)] * 5, JUNK)


def _described(schema: Any, depth: int) -> st.SearchStrategy[Any]:
    if schema is True or schema == {}:
        return JUNK
    if "$ref" in schema:
        if schema["$ref"] == "#":
            return envelopes(depth - 1) if depth else JUNK
        return _described(SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]], depth)
    if "oneOf" in schema:
        return st.one_of(*(_described(choice, depth) for choice in schema["oneOf"]))
    if "enum" in schema:
        return st.sampled_from([*schema["enum"], "other", None])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return st.one_of(*(_of_type(kind, schema, depth) for kind in kinds))


def _of_type(kind: str, schema: Any, depth: int) -> st.SearchStrategy[Any]:
    if kind == "object":
        return _objects(schema, depth)
    if kind == "array":
        few = st.lists(near(schema.get("items", {}), depth), max_size=3)
        most = schema.get("maxItems")
        return (
            few
            if most is None
            else few
            | st.sampled_from([most, most + 1]).flatmap(lambda size: st.just([{"type": "text", "payload": ""}] * size))
        )
    if kind == "string":
        lengths = [schema[key] + more for key in ("minLength", "maxLength") if key in schema for more in (-1, 0, 1)]
        return st.sampled_from(
            [*URIS, "x", "x-acme-map", "x-a", "X", "a" * 64, "é" * 65, *("é" * size for size in lengths)]
        )
    if kind in ("number", "integer"):
        return st.sampled_from([0, 1, -1, 5.0, 1.5, -0.0, 1e300, 2**60, 10**400])
    return {"boolean": st.booleans(), "null": st.none()}[kind]


@st.composite
def _objects(draw: st.DrawFn, schema: Any, depth: int) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, member in schema.get("properties", {}).items():
        if draw(st.integers(0, 9)) < (9 if name in schema.get("required", ()) else 4):
            members[name] = draw(near(member, depth))
    if draw(st.booleans()):
        members["more"] = draw(near(schema.get("additionalProperties", {}), depth))
    return members


@st.composite
def envelopes(draw: st.DrawFn, depth: int = 3) -> Any:
    members = draw(_objects({**SCHEMA, "additionalProperties": {}}, depth))
    kind = draw(st.sampled_from([*RULES, "json", "zzz", "x-acme-map"]))
    if draw(st.integers(0, 9)):
        members["type"] = kind
        members["payload"] = draw(near(RULES.get(kind, {"type": ["object", "array", "string"]}), depth))
    return members


def reads(value: Any) -> bool:
    document = f'<tool_response tool_name="t"><display>{to_text(value)}</display></tool_response>'
    try:
        decode(document)
    except DecodeError as fault:
        assert fault.kind == "BAD_ENVELOPE", fault
        return False
    return True


def to_text(value: Any) -> str:
    return json.dumps(value).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def test_reader_and_json_schema_agree_on_every_envelope() -> None:
    verdicts: Counter[tuple[str, bool]] = Counter()

    @settings(max_examples=1200)
    @given(envelopes())
    def check(value: Any) -> None:
        valid = VALIDATOR.is_valid(value)
        verdicts[str(value.get("type")), valid] += 1
        assert reads(value) == valid

    check()
    # A judge that only ever says no would prove nothing.
    for kind in RULES:
        assert verdicts[kind, True] >= 3, (kind, verdicts)
        assert verdicts[kind, False] >= 3, (kind, verdicts)


class Price(BaseModel):
    label: str
    value: Decimal


@dataclass
class Cell:
    label: str
    value: object


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("facts", {"due": datetime.date(2026, 1, 2), "sum": Decimal("1.10"), "raw": b"a", "none": None, 1: True}),
        ("facts", (Cell("a", 1),)),
        ("metric", [Price(label="a", value=Decimal("1.10"))]),
        ("metric", Price(label="a", value=Decimal("1.10"))),
        ("table", [Cell("a", {"b": 1}), {"a": 1}]),
        ("table", {"columns": ("a",), "rows": [(1,), Cell("a", 1)]}),
        ("group", [DisplayEnvelope(type="text", payload="a"), {"type": "text", "payload": "b"}]),
        ("json", Cell("a", datetime.datetime(2026, 1, 2))),
    ],
)
def test_python_values_count_as_the_json_they_become(kind: str, payload: Any) -> None:
    response = ToolResponse("t", display=DisplayEnvelope(type=kind, payload=payload))
    back = decode(encode(response)).display
    assert back is not None
    assert VALIDATOR.is_valid(back.to_dict())


@pytest.mark.parametrize(
    ("kind", "payload", "sentence"),
    [
        ("text", {"a": 1}, "payload must be a string"),
        ("table", [{"a": 1}, 2], "payload/1 must be an object"),
        ("table", {"columns": [{"key": 1}], "rows": []}, "payload/columns/0/key must be a string"),
        ("table", {"columns": [], "rows": [], "total_rows": 1.5}, "payload/total_rows must be a whole number"),
        ("image", "http://a", "payload must be an https: URI"),
        ("metric", {"label": "a", "value": float("nan")}, "payload/value must be a finite number"),
        ("metric", {"label": "a"}, "payload must have 'value'"),
        ("facts", {"a": []}, "payload/a must be a string or a number or a boolean or null"),
        ("facts", {"a": object()}, "payload/a must have a JSON form: object has no JSON form"),
        ("notification", {"message": "a", "level": "loud"}, "payload/level must be one of info, success"),
        ("group", [{"type": "text", "payload": "a", "title": None}], "payload/0: title must not be null"),
        ("group", [{"type": "text"}] * 33, "payload must have at most 32 members"),
        ("zzz", 1, "payload must be an object or an array or a string"),
    ],
)
def test_a_refused_envelope_says_what_must_be_where(kind: str, payload: Any, sentence: str) -> None:
    with pytest.raises(ValidationError) as caught:
        DisplayEnvelope(type=kind, payload=payload)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("wrong", [{"title": "a" * 201}, {"alt": "a" * 4001}, {"id": ""}, {"id": 1}, {"meta": []}])
def test_the_words_around_a_payload_have_their_limits(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DisplayEnvelope(type="text", payload="a", **wrong)


def test_an_envelope_as_a_dict_leaves_out_what_is_absent_and_keeps_what_is_unknown() -> None:
    inner = DisplayEnvelope(type="text", payload="b", title=None)
    outer = DisplayEnvelope(type="group", payload=[inner], fallback=inner, meta={"a/b": None}, later=None)
    plain = {"type": "text", "payload": "b"}
    assert outer.to_dict() == {
        "type": "group",
        "payload": [plain],
        "fallback": plain,
        "meta": {"a/b": None},
        "later": None,
    }


def test_a_payload_is_not_copied() -> None:
    rows = [{"a": 1}]
    assert DisplayEnvelope(type="table", payload=rows).payload is rows


def test_a_fallback_obeys_the_same_rules() -> None:
    with pytest.raises(ValidationError, match="payload must be a string"):
        DisplayEnvelope(type="zzz", payload="a", fallback={"type": "text", "payload": []})  # type: ignore[arg-type]
