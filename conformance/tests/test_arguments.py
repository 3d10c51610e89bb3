"""Arguments made from schemas: right ones fit, those past a constraint do not, and hostile texts reach each place."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import jsonschema_rs
import pytest
from support.http_host import in_thread

from xmcp_conformance.profiles.server.arguments import valid
from xmcp_conformance.profiles.server.combinations import Surroundings, Values
from xmcp_conformance.profiles.server.hostile_arguments import hostile
from xmcp_conformance.profiles.server.hostile_texts import HOSTILE, SHORT, UNMARKED, long_text, marked
from xmcp_conformance.profiles.server.input_schema import expanded, fitting
from xmcp_conformance.profiles.server.refusals import alone_at_the_most, at_borders, extremes, of_each_kind, refusals

SCHEMAS: list[dict[str, Any]] = [
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
    {
        "type": "object",
        "properties": {
            "word": {"type": "string", "pattern": "^\\p{Lu}[\\p{L} ]*$"},
            "labels": {"type": "object", "patternProperties": {"^[a-z]+$": {"type": "string"}}},
        },
        "required": ["word"],
    },
]
PLACES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "first": {"type": "string"},
        "second": {"type": "string", "maxLength": 8},
        "filter": {"type": "object", "properties": {"by": {"type": "string"}}, "required": ["by"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "region": {"enum": ["EMEA", "APAC"]},
        "n": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["first", "filter"],
    "dependentRequired": {"n": ["region"]},
}


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_valid_arguments_fit_the_schema_and_are_the_same_for_the_same_seed(schema, full) -> None:
    drawn = valid(schema, 6, 1, full=full)
    assert drawn
    assert all(jsonschema_rs.is_valid(schema, arguments) for arguments in drawn)
    assert drawn == valid(schema, 6, 1, full=full)


def test_full_arguments_have_each_optional_member_two_items_in_a_list_and_a_member_in_a_map() -> None:
    for arguments in valid(PLACES, 3, 1, full=True):
        assert arguments.keys() == PLACES["properties"].keys()
        assert len(arguments["tags"]) >= 2
        assert arguments["labels"]


@pytest.mark.parametrize("schema", [*SCHEMAS, PLACES])
def test_refusals_do_not_fit_and_name_what_is_at_fault(schema) -> None:
    found = list(refusals(schema, valid(schema, 1, 1)[0]))
    assert all(not jsonschema_rs.is_valid(schema, refusal.arguments) for refusal in found)
    assert all(refusal.fault for refusal in found)
    missing = {refusal.pointers[0] for refusal in found if "missing" in refusal.fault and len(refusal.pointers) == 1}
    assert {f"/{name}" for name in schema.get("required", ())} <= missing


def test_each_constraint_is_tried_at_its_border_and_just_past_it() -> None:
    base = {
        "first": "a",
        "second": "b",
        "filter": {"by": "c"},
        "tags": ["d", "e"],
        "labels": {},
        "region": "EMEA",
        "n": 2,
    }
    right = list(at_borders(PLACES, base))
    assert {1, 9} <= {arguments.get("n") for arguments in right}
    assert {8} <= {len(arguments["second"]) for arguments in right if "second" in arguments}
    assert {"EMEA", "APAC"} <= {arguments.get("region") for arguments in right}
    assert any(arguments["second"] == "\U0001f600" * 8 for arguments in right if "second" in arguments)
    wrong = {(json.dumps(refusal.pointers), refusal.fault) for refusal in refusals(PLACES, base)}
    assert ('["/n"]', "`n` below the allowed values") in wrong
    assert ('["/n"]', "`n` above the allowed values") in wrong
    assert ('["/second"]', "`second` too long") in wrong
    assert ('["/filter/by"]', "`/filter/by` missing") in wrong
    assert ('["/filter/by"]', "`/filter/by` of the wrong type") in wrong
    assert ('["/tags/1"]', "`/tags/1` of the wrong type") in wrong
    assert ('["/region"]', "`region` not one of the values") in wrong
    assert ("[]", "`region` missing") in wrong  # `n` needs it: that can be told of either


def test_all_values_are_at_their_borders_at_the_same_time_first_without_huge_numbers() -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 30},
            "star": {"type": "integer", "minimum": 1, "maximum": 2**63 - 1},
            "hours": {"type": "number", "minimum": 0, "maximum": 40},
            "rows": {"type": "array", "minItems": 1, "maxItems": 5, "items": {"type": "string", "maxLength": 3}},
            "flag": {"type": "boolean"},
        },
    }
    base = {"name": "abc", "star": 7, "hours": 2, "rows": ["d", "e"], "flag": True}
    most, least, plenty, huge = extremes(schema, base)
    assert most == {
        "name": "abc" + "x" * 27,
        "star": 7,
        "hours": 40,
        "rows": ["dxx", "exx"] * 2 + ["dxx"],
        "flag": True,
    }
    assert least == {"name": "a", "star": 1, "hours": 0, "rows": [""], "flag": True}
    assert plenty == {**most, "name": "abc" + "é" * 27, "rows": ["déé", "eéé"] * 2 + ["déé"]}
    assert huge == {**most, "star": 2**63 - 1}
    assert list(extremes({"type": "object"}, {"x": 1})) == []


def test_what_nothing_bounds_is_long_beside_what_is_at_its_border() -> None:
    schema = {
        "type": "object",
        "properties": {
            "note": {"type": "string"},
            "rows": {"type": "array", "items": {"type": "string", "enum": ["a"]}},
            "day": {"type": "string", "format": "date"},
        },
    }
    made = extremes(schema, {"note": "n", "rows": ["a"], "day": "2024-02-29"})
    assert {"note": "n" + "é" * 699, "rows": ["a"] * 40, "day": "2024-02-29"} in list(made)


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("list", {"type": "array", "maxItems": 10**12, "items": {"type": "string"}}),
        ("list", {"type": "array", "maxItems": 10**19, "minItems": 1.0, "items": {"type": "string"}}),
        ("list", {"type": "array", "maxItems": 1_000, "items": {"type": "string", "maxLength": 90_000}}),
        ("text", {"type": "string", "minLength": 1.0, "maxLength": 10**9}),
        ("number", {"type": "number", "maximum": 10**400, "minimum": -(10**400)}),
    ],
)
def test_borders_that_no_server_reaches_cost_nothing(name, schema) -> None:
    base = {"list": ["a", "b"], "text": "abc", "number": 1}[name]
    made = list(extremes({"type": "object", "properties": {name: schema}}, {name: base}))
    assert all(len(json.dumps(arguments)) < 1_100_000 for arguments in made)


def test_items_of_a_list_after_the_first_one_are_changed_last() -> None:
    item = {"type": "object", "properties": {"by": {"type": "string"}}, "required": ["by"]}
    schema = {"type": "object", "properties": {"list": {"type": "array", "items": item}}}
    faults = [refusal.fault for refusal in refusals(schema, {"list": [{"by": "a"}, {"by": "b"}]})]
    first, second = faults.index("`/list/0/by` of the wrong type"), faults.index("`/list/1` of the wrong type")
    assert first < second


def test_a_place_with_a_form_gets_one_hostile_text_and_no_long_one() -> None:
    when, note = {"type": "string", "format": "date-time"}, {"type": "string"}
    schema = {"type": "object", "properties": {"when": when, "note": note}}
    base = {"when": "2026-05-01T21:30:00Z", "note": "a"}
    made = [one.arguments for one in hostile(schema, base)]
    assert len([one for one in made if one["when"] != base["when"]]) == 1
    assert len([one for one in made if one["note"] != base["note"]]) > len(HOSTILE)
    when["format"] = "markdown"  # says nothing of what fits
    assert len([one for one in hostile(schema, base) if one.arguments["when"] != base["when"]]) > len(HOSTILE)
    when["format"] = "date"
    alone = [one.arguments for one in hostile({"type": "object", "properties": {"when": when}}, {"when": "now"})]
    assert len(alone) > len(HOSTILE)  # where there is no other place


def test_hostile_texts_reach_every_place_together_and_one_at_a_time() -> None:
    base = {
        "first": "a",
        "second": "b",
        "filter": {"by": "c"},
        "tags": ["d", "e"],
        "labels": {"x": "y"},
        "region": "EMEA",
    }
    made = list(hostile(PLACES, base))
    assert all(jsonschema_rs.is_valid(PLACES, one.arguments) for one in made)
    assert len(made[0].arguments["first"]) > 65_536
    assert len(made[1].arguments["first"]) < len(made[1].arguments["first"].encode()) / 3
    assert made[2].arguments["first"].count("&") > 1_000
    together = [one for one in made[3:] if len(one.traps) > 1]
    for one, text in zip(together, HOSTILE.values(), strict=True):
        sent = json.dumps(one.arguments, ensure_ascii=False)
        assert len(one.traps) == len(set(one.traps)) == 6
        assert all(json.dumps(trap, ensure_ascii=False)[1:-1] in sent and text in trap for trap in one.traps)
        assert one.arguments["filter"]["by"] in one.traps
        assert set(one.arguments["tags"]) <= set(one.traps)
        assert {*one.arguments["labels"], *one.arguments["labels"].values()} <= set(one.traps)
    alone = [one for one in made[3:] if len(one.traps) == 1]
    assert len(made[4].traps) == 1, "a small budget has some of both"
    changed = [[name for name in base if one.arguments[name] != base[name]] for one in alone]
    assert all(len(names) == 1 for names in changed)
    assert {names[0] for names in changed} == base.keys() - {"region"}
    assert {one.arguments["second"] for one in alone} >= set(SHORT)
    assert any(len(one.arguments["filter"]["by"]) > 65_536 for one in alone)


def test_a_long_text_has_each_of_its_characters_across_the_end_of_some_buffer() -> None:
    inner = long_text()
    for units in (inner, inner.encode(), [inner.encode("utf-16-le")[i : i + 2] for i in range(0, 140_000, 2)]):
        assert len(units) > 65_536
        assert (
            len(
                {
                    bytes(units[size - 1]) if isinstance(units[0], bytes) else units[size - 1]
                    for size in (2**n for n in range(8, 17))
                }
            )
            > 3
        )


def test_places_are_told_apart() -> None:
    assert marked("a") != marked("a", 1) != marked("a", 2)


def test_a_schema_that_nothing_fits_gives_no_arguments() -> None:
    assert valid({"type": "object", "properties": {"a": False}, "required": ["a"]}, 3, 1) == []


def test_a_schema_that_is_none_gives_no_arguments() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}, "required": ["a"]}
    assert valid(schema, 3, 1) == []


def test_integers_may_be_large() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 2**40}}, "required": ["n"]}
    assert valid(schema, 2, 1)


def test_refusals_of_each_kind_of_fault_come_before_a_second_one_of_any() -> None:
    found = list(refusals(PLACES, valid(PLACES, 1, 1, full=True)[0]))
    ordered = list(of_each_kind(found))
    kinds = [one.fault.rpartition("`")[2] for one in ordered]
    assert len(set(kinds)) > 3
    assert set(kinds[: len(set(kinds))]) == set(kinds)
    assert sorted(map(repr, ordered)) == sorted(map(repr, found))


@pytest.mark.parametrize(
    ("pattern", "apart"),
    [
        (r"^[A-Z]{3}$", False),
        (r"^\d{4}-\d{2}-\d{2}$", False),
        (r"^(EUR|USD)$", False),
        (r"^[a-z]+@[a-z]+$", False),
        (r"^(a+)+$", True),
        (r"^(?:(a+)+b|a{40}c)$", True),
        (r"^(a|a)*$", True),
        (r"^(a|b){2,}c$", True),
        (r"a*a*a*b", True),
        (r"a{1,20}a{1,20}a{1,20}b", True),
        (r"^a{1,5000}$", True),
    ],
)
@pytest.mark.parametrize("place", ["pattern", "patternProperties"])
def test_only_patterns_that_may_backtrack_are_drawn_in_a_process_of_their_own(monkeypatch, pattern, apart, place):
    processes = []
    monkeypatch.setattr(
        "xmcp_conformance.profiles.server.arguments._drawn_apart", lambda request: processes.append(request) or []
    )
    text = {"type": "string", "pattern": pattern}
    inner = text if place == "pattern" else {"type": "object", "patternProperties": {pattern: {"type": "integer"}}}
    valid({"type": "object", "properties": {"pattern": {"type": "array", "items": inner}}}, 2, 1)
    assert bool(processes) is apart


@pytest.mark.parametrize("parts", [["a"], ["a", "b"]])
def test_a_schema_that_needs_arguments_without_end_gives_none(parts) -> None:
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


def test_a_bound_that_no_number_has_gives_no_arguments() -> None:
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
        assert list(refusals(schema, {"a": "x"})) == []
        assert list(hostile(schema, {"a": "x"})) == []
        assert fitting(schema) is None
    assert fetched == []


TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "required": ["root"],
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name", "children"],
        }
    },
}
WIDE = {"type": "object", "properties": {f"p{number}": {"$ref": "#"} for number in range(8)}}


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("schema", [TREE, WIDE], ids=["tree", "wide"])
def test_arguments_of_a_recursive_schema_are_drawn_and_stay_small(schema, full) -> None:
    drawn = valid(schema, 8, 1, full=full)
    assert drawn
    assert max(len(json.dumps(one)) for one in drawn) < 20_000


def test_members_that_are_required_without_a_schema_are_drawn_the_same_in_every_process() -> None:
    schema = {"type": "object", "required": ["one", "two", "three", "four"]}
    program = f"from xmcp_conformance.profiles.server.arguments import valid; print(valid({schema}, 4, 1))"
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True, text=True, check=True, timeout=300,
        ).stdout
        for hash_seed in ("1", "2", "3")
    ]  # fmt: skip
    assert outputs[0] == outputs[1] == outputs[2]
    assert "four" in outputs[0]


def test_arguments_do_not_depend_on_the_modules_that_are_loaded(tmp_path) -> None:
    constants = "\n".join(f"a{number} = {number + 5_000}; b{number} = 'word{number}'" for number in range(500))
    (tmp_path / "of_the_user.py").write_text(constants, "utf-8")
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}
    schema["required"] = list(schema["properties"])
    program = f"from xmcp_conformance.profiles.server.arguments import valid; print(valid({schema}, 300, 1))"
    without, beside = [
        subprocess.run(
            [sys.executable, "-c", first + program],
            cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300,
        ).stdout
        for first in ("", "import of_the_user; ")
    ]  # fmt: skip
    assert without == beside


VITALS = {
    "type": "object",
    "properties": {
        "layout": {"enum": ["metric", "group", "vendor"]},
        "pulse": {"type": "integer", "minimum": 0, "maximum": 400},
        "notes": {"type": "array", "items": {"type": "string"}, "maxItems": 9},
        "show_user": {"type": "boolean"},
    },
    "required": ["layout", "pulse"],
    "additionalProperties": False,
}


def test_each_two_values_of_interest_come_together() -> None:
    base = {"layout": "metric", "pulse": 7, "show_user": True}
    values = Values(VITALS, lambda: base, [{"layout": "group", "pulse": 1, "notes": ["a", "b"]}])
    made = [one.arguments for one in values.pairs()]
    assert all(jsonschema_rs.is_valid(VITALS, one) for one in made)
    pairs = {(one["layout"], one["pulse"]) for one in made}
    assert {(layout, pulse) for layout in ("group", "vendor") for pulse in (0, 400)} <= pairs
    assert {len(one.get("notes", ())) for one in made if one["layout"] == "group"} >= {0, 2, 9}
    assert {"layout": "group", "pulse": 400, "show_user": True} in made  # and nothing else is changed
    first = made[:25]
    assert {(one["layout"], one["pulse"]) for one in first} >= {("group", 400), ("vendor", 400)}


def test_each_value_of_interest_comes_within_as_many_calls_as_a_parameter_has_values() -> None:
    base = {"layout": "metric", "pulse": 7, "show_user": True}
    made = [one.arguments for one in Values(VITALS, lambda: base).each()]
    assert len(made) <= 9
    assert {one["layout"] for one in made} == {"metric", "group", "vendor"}
    assert {one["pulse"] for one in made} >= {0, 7, 400}
    assert any("show_user" not in one for one in made)


def test_a_text_in_an_object_comes_together_with_each_value_of_another_parameter() -> None:
    ship = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "flag": {"type": "string"}},
        "required": ["name"],
    }
    schema = {"type": "object", "properties": {"ship": ship, "station": {"enum": ["open", "archive"]}}}
    base = {"ship": {"name": "x", "flag": "y"}, "station": "open"}
    made = [one.arguments for one in Values(schema, lambda: base).pairs()]
    told = {(one["ship"]["name"], one["station"]) for one in made if "station" in one}
    assert {(UNMARKED, "archive"), ("", "archive"), ("x", "open")} <= told
    assert any("flag" not in one["ship"] for one in made)
    assert all(jsonschema_rs.is_valid(schema, one) for one in made)
    assert all("name" in one["ship"] for one in made)
    with_examples = {**schema, "properties": {**schema["properties"], "ship": {**ship, "examples": [{"name": "z"}]}}}
    assert {"name": "z"} in [one.arguments.get("ship") for one in Values(with_examples, lambda: base).pairs()]


def test_one_value_at_its_most_stands_alone() -> None:
    schema = {
        "type": "object",
        "properties": {"limit": {"type": "integer", "maximum": 300}, "skip": {"type": "integer", "maximum": 40}},
    }
    made = alone_at_the_most(schema, lambda: {"limit": 1, "skip": 1}, dict)
    assert [one.arguments for one in made] == [{"limit": 300}, {"skip": 40}]


def test_a_map_beside_named_members_has_others_too() -> None:
    entry = {"type": "object", "properties": {"wind": {"type": "integer"}}, "additionalProperties": {"type": "string"}}
    schema = {"type": "object", "properties": {"entry": entry}, "required": ["entry"]}
    (full,) = valid(schema, 1, 1, full=True)
    assert {type(value) for value in full["entry"].values()} == {int, str}


def test_a_change_stands_among_arguments_that_succeeded() -> None:
    succeeded = [{"layout": "group", "pulse": 1}, {"layout": "vendor", "pulse": 2, "notes": ["a"]}]
    around = Surroundings(VITALS, lambda: succeeded)
    base = {"layout": "metric", "pulse": 7, "notes": ["b"]}
    changed = [around(base, {**base, "notes": ["long"]}) for _ in range(2)]
    assert changed == [
        {"layout": "vendor", "pulse": 2, "notes": ["long"]},
        {"layout": "group", "pulse": 1, "notes": ["long"]},
    ]
    assert around(base, {"layout": "metric", "pulse": 7}) == {
        "layout": "vendor",
        "pulse": 2,
    }  # left out, as it was meant
    assert around(base, {**base, "pulse": 401}) == {**base, "pulse": 401}  # would not fit: as it was made


def test_one_refusal_has_every_argument_of_a_wrong_type() -> None:
    first = next(refusals(VITALS, {"layout": "metric", "pulse": 7, "notes": ["a"], "show_user": True}))
    assert first.pointers == ("/layout", "/pulse")  # a server can take the text for the only item of `notes`


def test_a_refusal_inside_a_map_has_a_name_that_a_pointer_escapes() -> None:
    schema = {
        "type": "object",
        "properties": {"of": {"type": "object", "additionalProperties": {"type": "integer"}}},
    }
    assert "/of/a~1b~0c" in {one for refusal in refusals(schema, {"of": {"x": 1}}) for one in refusal.pointers}


def test_a_value_that_is_wrong_only_beside_another_one_is_no_fault_of_its_own() -> None:
    schema = {
        "type": "object",
        "properties": {"per_day": {"enum": [1, 3]}, "weight": {"type": "number"}},
        "required": ["weight"],
        "if": {"properties": {"per_day": {"const": 3}}, "required": ["per_day"]},
        "then": {"properties": {"weight": {"minimum": 1}}},
    }
    told = {json.dumps(one.arguments): one.pointers for one in refusals(schema, {"weight": 0.5, "per_day": 1})}
    assert told[json.dumps({"weight": 0.5, "per_day": 3})] == ()


@pytest.mark.parametrize("examples", [None, 1, False, {"a": 1}])
def test_examples_that_are_no_list_cost_nothing(examples) -> None:
    own = {"type": "string", "enum": ["x", "y"], "examples": examples}
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "properties": {"a": own}}
    assert list(Values(schema, lambda: {"a": "x"}).pairs())
    assert valid(schema, 2, 1)


def test_a_dialect_that_ignores_what_stands_beside_a_reference_is_known() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {name: {"$ref": "#/definitions/any", "type": "string"} for name in ("a", "b")},
        "definitions": {"any": {}},
    }
    assert not any(fitting(schema)(one.arguments) for one in refusals(schema, {"a": "x", "b": "y"}))


def test_the_combinations_of_a_thousand_parameters_cost_little() -> None:
    properties = {f"p{number}": {"type": "string"} for number in range(1_000)}
    made = Values({"type": "object", "properties": properties}, lambda: dict.fromkeys(properties, "x")).pairs()
    changed = {name for one in made for name in properties if one.arguments.get(name) != "x"}
    assert 2 < len(changed) <= 8


def test_what_a_part_allows_anyway_takes_nothing_from_a_property() -> None:
    """As where `unevaluatedProperties` needs the names again: the switch of a display stays a boolean."""
    schema = {"properties": {"a": {"type": "boolean"}}, "allOf": [{"properties": {"a": True, "b": {"maxLength": 3}}}]}
    assert expanded(schema)["properties"] == {"a": {"type": "boolean"}, "b": {"maxLength": 3}}
    both = {"properties": {"b": {"type": "string"}}, "allOf": [{"properties": {"b": {"maxLength": 3}}}]}
    assert expanded(both)["properties"] == {"b": {"type": "string", "maxLength": 3}}
    never = {"properties": {"b": {"type": "string"}}, "allOf": [{"properties": {"b": False}}]}
    assert expanded(never)["properties"] == {"b": False}
