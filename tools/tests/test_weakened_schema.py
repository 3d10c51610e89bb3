"""A weakened schema accepts more than the schema only by the removed rules."""

from __future__ import annotations

import pytest

from tools.lint.weakened_schema import validators, weakened

SCHEMA = {
    "type": "object",
    "required": ["pattern"],
    "properties": {
        "pattern": {"type": "string", "pattern": "^a", "format": "date"},
        "count": {"type": ["integer", "null"], "default": {"pattern": 1}},
        "size": {"type": "integer"},
    },
    "allOf": [{"if": {"required": ["size"]}, "then": {"required": ["count"]}, "else": False}],
}


@pytest.mark.parametrize(
    ("forgotten", "value"),
    [
        ({"pattern", "format"}, {"pattern": "b"}),
        ({"if", "pattern", "format"}, {"pattern": "b", "size": 1}),
        ({"integer", "pattern", "format"}, {"pattern": "b", "size": 1.5, "count": 2.5}),
        ({"null", "if", "pattern", "format"}, {"pattern": "b", "size": None}),
    ],
)
def test_what_is_forgotten_goes_unchecked_and_only_together(forgotten, value):
    def accepts(words):
        schema = {key: part for key, part in SCHEMA.items() if key != "allOf" or "size" in value}
        return validators({"a": schema}, words, {"A": "a"})["A"].is_valid(value)

    assert accepts(forgotten)
    for word in forgotten:
        assert not accepts(forgotten - {word})


def test_names_and_values_that_look_like_keywords_stay():
    made = weakened(SCHEMA, {"pattern"})
    assert made["properties"].keys() == SCHEMA["properties"].keys()
    assert made["properties"]["count"]["default"] == {"pattern": 1}


def test_a_property_that_is_required_does_not_become_null():
    assert not validators({"a": SCHEMA}, {"null", "if"}, {"A": "a"})["A"].is_valid({"pattern": None})


def test_with_nothing_forgotten_it_is_the_schema():
    assert weakened(SCHEMA, ()) == SCHEMA
