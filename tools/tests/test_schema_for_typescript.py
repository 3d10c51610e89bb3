"""The input of json-schema-to-typescript: rules by value as a union, a `$ref` as a name, and never too narrow."""

from __future__ import annotations

import pytest

from tools.generate import schema_for_typescript as ts
from tools.lint.weakened_schema import validators


def rule(test, then, name="type"):
    return {"if": {"properties": {name: test}, "required": [name]}, "then": then}


SHAPE = {
    "$id": "shape.schema.json",
    "title": "Shape",
    "type": "object",
    "required": ["type", "size"],
    "properties": {
        "type": {"type": "string", "description": "Which."},
        "size": {"type": ["string", "number"]},
        "label": {"$ref": "other.schema.json#/$defs/Label", "description": "Its name."},
    },
    "allOf": [
        rule({"enum": ["square", "cir-cle"]}, {"properties": {"size": {"type": "number"}}}),
        rule({"const": "text_box"}, {"required": ["label"]}),
    ],
    "$defs": {"Size": {"title": "Other", "type": "number"}},
}


def test_each_value_of_a_rule_gets_a_definition_and_all_of_them_a_union():
    made = ts.by_value(SHAPE)
    assert "allOf" not in made
    assert made["$defs"].keys() == {"Size", "SquareShape", "CirCleShape", "TextBoxShape", "KnownShape"}
    assert [member["$ref"] for member in made["$defs"]["KnownShape"]["anyOf"]] == [
        "#/$defs/SquareShape",
        "#/$defs/CirCleShape",
        "#/$defs/TextBoxShape",
    ]
    assert made["$defs"]["SquareShape"]["properties"] == {"type": {"const": "square"}, "size": {"type": "number"}}
    assert made["$defs"]["SquareShape"]["required"] == ["type", "size"]
    assert made["$defs"]["TextBoxShape"]["required"] == ["type", "label"]


def test_the_schema_that_it_was_given_stays_as_it_was():
    before = repr(SHAPE)
    ts.by_value(SHAPE, {"more": {}})
    ts.named(SHAPE, "shape", {"shape": "Shape", "other": "Other"})
    assert repr(SHAPE) == before


def test_a_registry_can_name_further_values_but_not_overrule_the_schema():
    made = ts.by_value(SHAPE, {"line": {"required": ["label"]}, "square": {"required": ["label"]}})
    assert made["$defs"]["LineShape"]["required"] == ["type", "label"]
    assert made["$defs"]["SquareShape"]["required"] == ["type", "size"]


def test_a_renamed_definition_is_renamed_wherever_a_schema_refers_to_it():
    schema = {
        "title": "Shape",
        "properties": {"Size": {"$ref": "#/$defs/Size"}, "far": {"items": {"$ref": "other.schema.json#/$defs/Size"}}},
        "$defs": {"Size": {"type": "number"}, "Kept": {"$ref": "#/$defs/Kept"}, "Whole": {"$ref": "#"}},
    }
    before = repr(schema)
    assert ts.renamed(schema, {"Size": "Extent", "Shape": "Form"}) == {
        "title": "Shape",
        "properties": {
            "Size": {"$ref": "#/$defs/Extent"},
            "far": {"items": {"$ref": "other.schema.json#/$defs/Extent"}},
        },
        "$defs": {"Extent": {"type": "number"}, "Kept": {"$ref": "#/$defs/Kept"}, "Whole": {"$ref": "#"}},
    }
    assert repr(schema) == before


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ({"type": "square", "size": 1}, True),
        ({"type": "square", "size": "1"}, False),
        ({"type": "square"}, False),
        ({"type": "text_box", "size": "1"}, False),
        ({"type": "text_box", "size": "1", "label": "a"}, True),
        ({"type": "hexagon", "size": 1}, False),
    ],
)
def test_the_union_says_of_known_values_what_the_rules_say(value, known):
    schema = {**SHAPE, "properties": {**SHAPE["properties"], "label": {"type": "string"}}}
    places = {"open": "shape.schema.json", "known": "shape.schema.json#/$defs/KnownShape"}
    judges = validators({"shape.schema.json": ts.by_value(schema)}, (), places)
    original = validators({"shape.schema.json": schema}, (), {"open": "shape.schema.json"})
    assert judges["known"].is_valid(value) == known
    assert original["open"].is_valid(value) == (known or value["type"] == "hexagon")


def test_rules_that_ask_for_something_else_are_left_out_and_other_parts_stay():
    odd = {"if": {"properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a"]}, "then": {"required": ["c"]}}
    implied = {"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["c"]}}
    made = ts.by_value({"title": "T", "properties": {}, "allOf": [odd, implied, {"required": ["d"]}]})
    assert made == {"title": "T", "properties": {}, "allOf": [{"required": ["d"]}]}


def test_rules_by_two_properties_are_refused_by_name():
    schema = {"title": "T", "properties": {}, "allOf": [rule({"const": "a"}, {}), rule({"const": "b"}, {}, "kind")]}
    with pytest.raises(ValueError, match="T: rules by type and by kind"):
        ts.by_value(schema)


def test_a_reference_becomes_the_name_of_a_type_and_what_is_elsewhere_an_import():
    titles = {"shape": "Shape", "other": "Other"}
    schema = {
        **SHAPE,
        "properties": {
            "label": SHAPE["properties"]["label"],
            "whole": {"$ref": "other.schema.json"},
            "self": {"$ref": "#"},
            "items": {"type": "array", "items": {"$ref": "#/$defs/Size"}},
        },
    }
    linked, imports = ts.named(ts.by_value(schema), "shape", titles)
    assert linked["properties"] == {
        "label": {"description": "Its name.", "tsType": "Label"},
        "whole": {"tsType": "Other"},
        "self": {"tsType": "Shape"},
        "items": {"type": "array", "items": {"tsType": "Size"}},
    }
    assert linked["$defs"]["Size"]["title"] == "Size"
    assert imports == {"other": ["Label", "Other"]}
    assert list(ts.import_lines(imports)) == ['import type { Label, Other } from "./other.js";\n']
    assert "$id" not in linked


@pytest.mark.parametrize(("value", "name"), [("llm_delta", "LlmDelta"), ("x-acme.map", "XAcmeMap"), ("url", "Url")])
def test_a_value_becomes_a_part_of_a_name(value, name):
    assert ts.pascal(value) == name
