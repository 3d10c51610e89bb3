"""The fallback ladder: the view is never empty, and a notice says why a fallback is shown (spec section 3.6)."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from support.hostile_envelopes import any_number, envelopes

from xmcp.render import plan, to_text
from xmcp_models import registry

TABLE = {"type": "table", "payload": [{"a": 1}]}
MAP = {"type": "x-acme-map", "payload": {"lat": 1}}


def test_the_fallback_comes_before_alt() -> None:
    view = plan({**MAP, "alt": "words", "fallback": TABLE})
    assert view.rendered_as == "table"
    assert view.notices == (
        'unsupported display type "x-acme-map": this renderer does not know it; showing its fallback',
    )


def test_a_fallback_is_looked_for_three_deep_and_no_deeper() -> None:
    three = {**MAP, "alt": "words", "fallback": {**MAP, "fallback": {**MAP, "fallback": TABLE}}}
    four = {**MAP, "alt": "words", "fallback": {**MAP, "fallback": {**MAP, "fallback": {**MAP, "fallback": TABLE}}}}
    assert plan(three).rendered_as == "table"
    assert plan(four).rendered_as == "alt"


def test_alt_comes_before_a_string_payload() -> None:
    assert plan({"type": "x-acme-map", "payload": "raw", "alt": "words"}).rendered_as == "alt"
    assert "words" in to_text({"type": "x-acme-map", "payload": "raw", "alt": "words"})


def test_a_string_payload_is_shown_as_text() -> None:
    assert plan({"type": "x-acme-map", "payload": "raw"}).rendered_as == "text"


def test_last_come_title_and_json() -> None:
    drawn = to_text({**MAP, "title": "Shops"})
    assert drawn.startswith("Shops\n")
    assert '"lat": 1' in drawn


def test_a_fallback_without_a_title_keeps_the_title_of_the_display() -> None:
    assert plan({**MAP, "title": "Shops", "fallback": TABLE}).title == "Shops"


@pytest.mark.parametrize(
    "kind", [name for name, entry in registry.DISPLAY_TYPES.items() if entry["status"] == "reserved"]
)
def test_a_reserved_type_goes_down_the_ladder(kind: str) -> None:
    assert "unsupported display type" in to_text({"type": kind, "payload": {"a": 1}})


@pytest.mark.parametrize("broken", [{}, {"type": "text"}, {"payload": 1}, {"type": 7, "payload": None}, {"type": None}])
def test_what_is_no_envelope_is_still_shown(broken: dict[str, Any]) -> None:
    assert "unsupported display type" in to_text(broken)


def test_groups_may_be_nested_three_deep_and_no_deeper() -> None:
    inner: dict[str, Any] = {"type": "text", "payload": "core"}
    for _ in range(3):
        inner = {"type": "group", "payload": [inner]}
    assert "unsupported" not in to_text(inner)
    deeper = to_text({"type": "group", "payload": [inner]})
    assert "groups are nested more than 3 deep" in deeper
    assert "core" in deeper


def test_a_group_of_more_than_32_goes_down_the_ladder() -> None:
    item = {"type": "text", "payload": "x"}
    assert plan({"type": "group", "payload": [item] * 32}).rendered_as == "group"
    assert plan({"type": "group", "payload": [item] * 33, "alt": "many"}).rendered_as == "alt"


def test_a_bad_display_in_a_group_leaves_the_others_alone() -> None:
    drawn = to_text(
        {"type": "group", "payload": [{"type": "table", "payload": "no"}, {"type": "text", "payload": "yes"}]}
    )
    assert 'unsupported display type "table"' in drawn
    assert "yes" in drawn


# ---- agreement with the schema ----

scalars = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6) | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = ("label", "value", "message", "level", "code", "uri", "size", "src", "columns", "rows", "key", "unit", "info")
payloads = st.recursive(
    values | st.sampled_from(["https://example.com/a.png", "data:image/png,AA", "http://x", "info"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
    max_leaves=8,
)
ALONE = sorted(
    set(registry.DISPLAY_TYPES)
    - {"chart", "group"}
    - {name for name, entry in registry.DISPLAY_TYPES.items() if entry["status"] == "reserved"}
)


@pytest.fixture(scope="module")
def schema() -> jsonschema_rs.Validator:
    text = files("xmcp_models").joinpath("data/display_envelope.schema.json").read_text("utf-8")
    return jsonschema_rs.validator_for(json.loads(text))


NEAR_MISSES: list[tuple[str, Any, Any]] = [
    ("text", "x", 5),
    ("markdown", "x", ["x"]),
    ("html", "x", {"html": "x"}),
    ("json", {"a": 1}, 1),
    ("table", {"columns": ["a"], "rows": [[1]], "total_rows": 7}, {"columns": ["a"], "rows": [[1]], "total_rows": "7"}),
    ("table", {"columns": ["a"], "rows": []}, {"columns": ["a"]}),
    ("table", {"columns": [{"key": "a"}], "rows": []}, {"columns": [{"title": "a"}], "rows": []}),
    ("table", [{"a": 1}], [{"a": 1}, [1]]),
    ("image", "https://example.com/a.png", "http://example.com/a.png"),
    ("image", "data:image/png;base64,AA", "data:image/svg+xml;base64,AA"),
    ("image", {"src": "https://example.com/a.png", "width": 6}, {"src": "https://example.com/a.png", "width": "6"}),
    ("notification", {"message": "x", "level": "error"}, {"message": "x", "level": "loud"}),
    ("code", {"code": "x"}, {"code": 1}),
    ("facts", [{"label": "a", "value": None}], [{"label": 1, "value": None}]),
    ("facts", {"a": True}, {"a": [True]}),
    ("metric", {"label": "a", "value": 1}, {"label": "a", "value": True}),
    ("metric", [], [{"label": "a"}]),
    ("file", {"uri": "https://x", "size": 1}, {"uri": "https://x", "size": 1.5}),
    ("file", {"uri": "https://x"}, {"uri": ""}),
]


@pytest.mark.parametrize(("kind", "fits", "misses"), NEAR_MISSES)
def test_a_payload_with_one_fault_goes_down_the_ladder(
    schema: jsonschema_rs.Validator, kind: str, fits: Any, misses: Any
) -> None:
    for payload, expected in ((fits, True), (misses, False)):
        assert schema.is_valid({"type": kind, "payload": payload}) == expected
        assert (plan({"type": kind, "payload": payload}).notices == ()) == expected


@settings(max_examples=100)
@given(st.data())
def test_a_payload_is_drawn_as_its_type_exactly_if_the_schema_says_it_fits(
    schema: jsonschema_rs.Validator, data: st.DataObject
) -> None:
    envelope = {"type": data.draw(st.sampled_from(ALONE)), "payload": data.draw(payloads)}
    assert (plan(envelope).rendered_as == envelope["type"] and not plan(envelope).notices) == schema.is_valid(envelope)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(envelopes(any_number), st.integers(24, 130))
def test_no_envelope_crashes_empties_or_moves_the_terminal(envelope: dict[str, Any], width: int) -> None:
    drawn = to_text(envelope, width)
    assert drawn.strip()
    for char in drawn:
        assert char == "\n" or (ord(char) >= 0x20 and not 0x7F <= ord(char) < 0xA0), repr(char)
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(drawn)
    assert max(map(cell_len, drawn.splitlines())) <= width
