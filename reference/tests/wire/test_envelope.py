"""The envelope: the same verdict as the JSON Schema on any JSON, and on Python values by the JSON they become."""

from __future__ import annotations

import copy
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

from xmcp.wire import DecodeError, DecodeErrorKind, DisplayEnvelope, ToolResponse, decode, encode

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[3] / "schemas" / "display_envelope.schema.json").read_text("utf-8")
)
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)
RULES = {
    kind: rule["then"]["properties"]["payload"]
    for rule in SCHEMA["allOf"]
    for kind in rule["if"]["properties"]["type"].get("enum", [rule["if"]["properties"]["type"].get("const")])
}

GOOD_URIS = ["https://a/b", "https://é\x85", "data:image/png;base64,AA==", "data:image/avif,"]
BAD_URIS = [
    "https://",
    "https://a b",
    "https://a\u00a0b",
    "https://a\ufeffb",
    "https://a\n",
    "https://a\\b",
    "http://a",
]
BAD_URIS += [
    "//a",
    "javascript:x",
    "data:image/svg+xml,<svg/>",
    "data:image/png",
    "data:image/png;\n",
    "DATA:image/png,",
]
ODD = [
    None,
    True,
    0,
    -1,
    1.5,
    5.0,
    10**400,
    2**60,
    [],
    {},
    [{}],
    [None],
    "",
    "x",
    "info",
    "x-a",
    "x-a-b",
    "Text",
    "table",
]
LONG = ["é" * length for length in (64, 65, 128, 129, 200, 201, 4000, 4001)]
JUNK = st.sampled_from([*ODD, *LONG, *GOOD_URIS, *BAD_URIS])


def valid(schema: Any, depth: int = 2) -> st.SearchStrategy[Any]:
    """What the part of the JSON Schema that it uses allows."""
    if "$ref" in schema:
        if schema["$ref"] == "#":
            return envelopes(depth - 1)
        return valid(SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]], depth)
    if "oneOf" in schema:
        return st.one_of(*(valid(choice, depth) for choice in schema["oneOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if isinstance(schema.get("type"), list):
        return st.one_of(*(valid({"type": kind}, depth) for kind in schema["type"]))
    if schema.get("type") == "object":
        required = schema.get("required", ())
        members = {name: valid(member, depth) for name, member in schema.get("properties", {}).items()}
        return st.fixed_dictionaries(
            {name: member for name, member in members.items() if name in required},
            optional={name: member for name, member in members.items() if name not in required}
            | {"more": valid(schema.get("additionalProperties", {}), depth)},
        )
    if schema.get("type") == "array":
        return st.lists(valid(schema.get("items", {}), depth), max_size=3)
    if "pattern" in schema:
        return st.sampled_from(GOOD_URIS)
    # The schema's largest counts too, where it has one.
    number = st.sampled_from([1, 5.0, *((schema["maximum"],) if "maximum" in schema else (2**60, 10**400))])
    leaves = {
        "string": st.sampled_from(["é", "info", "x" * schema.get("maxLength", 1)]),
        "integer": number | st.just(0),
        "number": number | st.just(1.5),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    return leaves[schema["type"]] if "type" in schema else JUNK


@st.composite
def envelopes(draw: st.DrawFn, depth: int = 2) -> Any:
    """A valid envelope of any type; `fallback` and group members go `depth` levels down."""
    kind = draw(st.sampled_from([*RULES, "json", "zzz", "x-acme-map"]) if depth else st.sampled_from(["text", "zzz"]))
    payload = RULES.get(kind, {"type": ["object", "array", "string"]})
    words = {
        name: SCHEMA["properties"][name] for name in ("title", "alt", "id", "meta", "fallback")[: 5 if depth else 4]
    }
    members = draw(
        valid({"type": "object", "properties": {**words, "payload": payload}, "required": ["payload"]}, depth)
    )
    return {"type": kind, **members}


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container with each of its keys."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else range(len(value))
    return [place for key in keys for place in [(value, key), *places(value[key])]]


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """An envelope with one part removed or replaced, which may have made it invalid or not."""
    holder = [copy.deepcopy(draw(envelopes()))]
    container, key = draw(st.sampled_from(places(holder)))
    if draw(st.booleans()) and container is not holder:
        del container[key]
    else:
        container[key] = copy.deepcopy(draw(JUNK))
    return holder[0]


def reads(value: Any) -> bool:
    text = json.dumps(value).replace("&", "\\u0026").replace("<", "\\u003c")
    try:
        decode(f'<tool_response tool_name="t"><display>{text}</display></tool_response>')
    except DecodeError as fault:
        if fault.kind is not DecodeErrorKind.BAD_ENVELOPE:
            raise
        return False
    return True


@pytest.mark.slow
@settings(max_examples=300)
@given(envelopes())
def test_the_reader_takes_every_envelope_that_the_json_schema_allows(value: Any) -> None:
    VALIDATOR.validate(value)
    assert reads(value)


@pytest.mark.slow
def test_the_reader_refuses_what_the_json_schema_refuses_and_nothing_else() -> None:
    refused: Counter[str] = Counter()
    allowed = 0

    @settings(max_examples=800)
    @given(damaged())
    def check(value: Any) -> None:
        nonlocal allowed
        if VALIDATOR.is_valid(value):
            allowed += 1
            assert reads(value)
        else:
            refused[str(isinstance(value, dict) and value.get("type"))] += 1
            assert not reads(value)

    check()
    # A judge that always says the same would prove nothing.
    assert allowed >= 50
    assert refused.keys() >= RULES.keys()


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
