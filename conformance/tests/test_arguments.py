"""Arguments made from schemas: valid ones are valid, invalid ones are not."""

from __future__ import annotations

import asyncio

import jsonschema_rs
import pytest
from support.http_host import in_thread

from xmcp_conformance.profiles.server.arguments import TRAPS, invalid, trapped, valid

SCHEMAS = [
    {"type": "object", "properties": {}, "additionalProperties": False},
    {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 3, "exclusiveMaximum": 9}, "s": {"type": "string"}},
        "required": ["n"],
        "additionalProperties": False,
    },
    {
        "type": "object",
        "properties": {
            "region": {"$ref": "#/$defs/Region"},
            "months": {
                "type": "array",
                "items": {"type": "string", "pattern": "^20[0-9]{2}-[01][0-9]$"},
                "minItems": 1,
            },
            "limit": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None},
            "when": {"type": "string", "format": "date"},
            "share": {"type": "number", "minimum": 0, "maximum": 1},
            "by": {"const": "region"},
        },
        "required": ["region", "months"],
        "$defs": {"Region": {"enum": ["EMEA", "APAC"]}},
    },
    {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Node"}},
        "required": ["tree"],
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                },
                "required": ["name"],
            }
        },
    },
    {
        "type": "object",
        "allOf": [
            {"properties": {"a": {"type": "boolean"}}, "required": ["a"]},
            {"properties": {"b": {"type": "number", "multipleOf": 5}}},
        ],
    },
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_valid_arguments_fit_the_schema_and_are_the_same_for_the_same_seed(schema):
    drawn = valid(schema, 6, 1)
    assert drawn
    assert all(jsonschema_rs.is_valid(schema, arguments) for arguments in drawn)
    assert drawn == valid(schema, 6, 1)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_invalid_arguments_do_not_fit_and_name_what_is_at_fault(schema):
    refusals = list(invalid(schema, valid(schema, 1, 1)[0]))
    assert all(not jsonschema_rs.is_valid(schema, refusal.arguments) for refusal in refusals)
    assert all(refusal.pointers and refusal.fault for refusal in refusals)
    missing = {refusal.pointers[0] for refusal in refusals if "missing" in refusal.fault and len(refusal.pointers) == 1}
    assert missing == {f"/{name}" for name in schema.get("required", ())}


def test_each_trap_is_put_into_a_string_argument_once():
    base = valid(SCHEMAS[1], 1, 1)[0]
    texts = [arguments["s"] for _, arguments in trapped(SCHEMAS[1], base)]
    assert texts == [f"xmcp[{trap}]xmcp" for trap in TRAPS.values()]


def test_a_schema_that_nothing_fits_gives_no_arguments():
    assert valid({"type": "object", "properties": {"a": False}, "required": ["a"]}, 3, 1) == []


def test_a_schema_that_is_none_gives_no_arguments():
    assert (
        valid({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}, "required": ["a"]}, 3, 1)
        == []
    )


def test_integers_may_be_large():
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 2**40}}, "required": ["n"]}
    assert valid(schema, 2, 1)


@pytest.mark.parametrize("parts", [["a"], ["a", "b"]])
def test_a_schema_that_needs_arguments_without_end_gives_none(parts):
    levels = {
        f"L{n}": {
            "type": "object",
            "properties": {part: {"$ref": f"#/$defs/L{n + 1}"} for part in parts},
            "required": parts,
        }
        for n in range(60)
    }
    properties = {"q": {"$ref": "#/$defs/L0"}}
    schema = {"type": "object", "properties": properties, "required": ["q"], "$defs": {**levels, "L60": {}}}
    assert valid(schema, 2, 1) == []


def test_a_bound_that_no_number_has_gives_no_arguments():
    schema = {"type": "object", "properties": {"n": {"type": "number", "minimum": 10**400}}, "required": ["n"]}
    assert valid(schema, 2, 1) == []


def test_a_schema_that_refers_to_another_document_is_not_fetched() -> None:
    fetched = []

    async def documents(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fetched.append(await reader.readline())
        writer.close()

    with in_thread(documents) as url:
        schema = {"type": "object", "properties": {"a": {"$ref": f"{url}/a.json"}}, "required": ["a"]}
        assert valid(schema, 3, 1) == []
        assert list(invalid(schema, {"a": "x"})) == []
        assert list(trapped(schema, {"a": "x"})) == []
    assert fetched == []
