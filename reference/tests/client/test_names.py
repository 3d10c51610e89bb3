"""Stable names: what the model sees while servers and their tools come and go (spec section 11.9)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import mcp_types as mt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scripted_server import ScriptedServer

from xmcp.chat.tool_schemas import legal_name
from xmcp.client.tools import names
from xmcp.client.tools.catalogue import Catalogue, build
from xmcp.client.tools.meta_tools import RESERVED
from xmcp.client.tools.names import Exposed, Listing, expose
from xmcp_models.registry import TOOL_META_KEY

TOOLS = st.sampled_from(["find", "add", "a", "b__find", "__think__", "ø", "x" * 70, "x" * 71, "a_2__find", "", "."])
SERVERS = st.lists(st.tuples(st.sampled_from(["a", "b", "", "ø"]), st.booleans()), min_size=1, max_size=4)


@st.composite
def histories(draw: Any) -> list[list[Listing]]:
    """What the same servers list, one time after the other. An unnamed one may change its name in between."""
    servers = draw(SERVERS)
    return [
        [
            Listing(name if named else draw(st.sampled_from([name, "other"])), named, draw(st.lists(TOOLS, max_size=4)))
            for name, named in servers
        ]
        for _ in range(draw(st.integers(1, 5)))
    ]


def told(history: Sequence[Sequence[Listing]]) -> list[list[Exposed]]:
    """The names of each time, each with those given before."""
    kept: dict[tuple[int, str], str] = {}
    out = []
    for listings in history:
        exposed, _ = expose(listings, kept)
        kept |= {(e.listing, e.tool): e.name for e in exposed}
        out.append(exposed)
    return out


@given(histories())
def test_a_tool_keeps_its_name_and_the_name_never_comes_to_mean_another(history: list[list[Listing]]) -> None:
    names: dict[tuple[int, str], str] = {}
    tools: dict[str, tuple[int, str]] = {}
    for exposed in told(history):
        for e in exposed:
            assert names.setdefault((e.listing, e.tool), e.name) == e.name
            assert tools.setdefault(e.name, (e.listing, e.tool)) == (e.listing, e.tool)


@given(histories())
def test_at_every_time_all_tools_have_a_legal_name_and_no_two_the_same(history: list[list[Listing]]) -> None:
    for listings, exposed in zip(history, told(history), strict=True):
        expected = [(place, tool) for place, of_one in enumerate(listings) for tool in dict.fromkeys(of_one.tools)]
        assert [(e.listing, e.tool) for e in exposed] == expected
        assert len({e.name for e in exposed}) == len(exposed)
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", e.name) for e in exposed)
        assert not {e.name for e in exposed} & RESERVED


@given(histories())
def test_the_same_history_gives_the_same_names(history: list[list[Listing]]) -> None:
    assert told(history) == told(history)


@given(histories())
def test_a_named_server_always_prefixes(history: list[list[Listing]]) -> None:
    for listings, exposed in zip(history, told(history), strict=True):
        for e in exposed:
            listing = listings[e.listing]
            if listing.named and re.fullmatch(r"[A-Za-z0-9_-]+", listing.server + e.tool) and len(e.tool) < 40:
                assert re.match(rf"{listing.server}(_\d+)?__", e.name)


def test_a_clash_is_told_for_as_long_as_it_lasts() -> None:
    here, late = Listing("b", False, ["find"]), Listing("a", False, ["find"])
    away = Listing("a", False, [])
    first, warnings = expose([away, here])
    assert (first[0].name, warnings) == ("find", [])
    kept = {(1, "find"): "find", (0, "find"): "a__find"}
    for _ in range(2):
        exposed, warnings = expose([late, here], kept)
        assert [e.name for e in exposed] == ["a__find", "find"]
        assert len(warnings) == 1
        assert "'a__find'" in warnings[0]


def test_a_name_of_the_clients_own_tools_is_given_to_nobody() -> None:
    exposed, warnings = expose([Listing("shop", False, ["__think__"]), Listing("", True, ["think__"])])
    assert [e.name for e in exposed] == ["shop____think__", "_2__think__"]
    assert "itself" in warnings[0]


class TestCatalogues:
    A, B = ScriptedServer({}, "a", speaks_xmcp=False), ScriptedServer({}, "b", speaks_xmcp=False)

    @staticmethod
    def tool(name: str, **more: Any) -> mt.Tool:
        return mt.Tool(name=name, input_schema={"type": "object"}, **more)

    def test_the_catalogue_hands_the_names_on(self) -> None:
        first = build([(self.A, []), (self.B, [self.tool("find")])], 1)
        second = build([(self.A, [self.tool("find")]), (self.B, [])], 2, previous=first)
        third = build([(self.A, [self.tool("find")]), (self.B, [self.tool("find")])], 3, previous=second)
        assert [[*c.entries] for c in (first, second, third)] == [["find"], ["a__find"], ["a__find", "find"]]

    def test_the_same_tools_in_another_order_are_the_same_catalogue(self) -> None:
        first = build([(self.A, [self.tool("x"), self.tool("y")])], 1)
        assert build([(self.A, [self.tool("y"), self.tool("x")])], 2, previous=first) is first

    def test_whatever_a_server_says_differently_of_a_tool_is_a_new_version(self) -> None:
        first = build([(self.A, [self.tool("x")])], 1)
        for more in (
            {"description": "d"},
            {"output_schema": {"type": "object"}},
            {"annotations": mt.ToolAnnotations(read_only_hint=True)},
            {"annotations": mt.ToolAnnotations(idempotent_hint=True)},
            {"meta": {TOOL_META_KEY: {"cacheable": True}}},
        ):
            later = build([(self.A, [self.tool("x", **more)])], 2, previous=first)
            assert later.version == later.schemas.version == 2
            assert later.entries["x"].fingerprint != first.entries["x"].fingerprint

    def test_the_order_of_members_in_a_schema_is_nothing_new(self) -> None:
        first = build([(self.A, [mt.Tool(name="x", input_schema={"type": "object", "title": "t"})])], 1)
        second = build(
            [(self.A, [mt.Tool(name="x", input_schema={"title": "t", "type": "object"})])], 2, previous=first
        )
        assert second is first

    def test_odd_numbers_and_texts_in_a_schema_are_no_reason_to_fail(self) -> None:
        odd = mt.Tool(name="x", input_schema={"maximum": 10**30, "title": "\ud800"}, description="\udfff")
        assert json_of(build([(self.A, [odd])], 1))

    def test_a_server_that_lists_nothing_but_tools_of_the_client_is_a_catalogue_too(self) -> None:
        extra = [{"type": "function", "function": {"name": "__think__"}}]
        assert build([], 1, extra=extra).schemas.tools == tuple(extra)


def json_of(catalogue: Catalogue) -> bytes:
    return catalogue.schemas.json


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_a_name_that_had_to_be_changed_never_is_the_one_that_another_tool_has_by_itself(
    named: bool, turned: bool
) -> None:
    listings = [Listing("a", named, ["delete.all"]), Listing("a_" if named else "b", named, ["delete_all"])]
    if named:  # `a___delete_all` is the own name of the second, and what becomes of the first
        listings[0] = Listing("a", named, ["_delete.all"])
    exposed, warnings = expose(listings[::-1] if turned else listings)
    own = {e.tool: e.name for e in exposed}
    assert own["delete_all"] == ("a___delete_all" if named else "delete_all")
    assert len(set(own.values())) == 2
    assert len(warnings) == 1
    assert "is offered as" in warnings[0]


def test_the_name_of_the_server_does_not_make_it_one_either() -> None:
    exposed, _ = expose([Listing("a", False, ["x", "x."]), Listing("b", False, ["x_", "a__x_"])])
    assert {e.tool: e.name for e in exposed}["a__x_"] == "a__x_"


def test_no_number_is_tried_twice_for_names_that_become_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    def counted(name: str) -> str:
        nonlocal made
        made += 1
        return legal_name(name)

    monkeypatch.setattr(names, "legal_name", counted)
    tools = [a + b + c for a in "./ :;,!?()" for b in "./ :;,!?()" for c in "./ :;,!?()"]
    exposed, warnings = expose([Listing("s", False, tools)])
    assert len({e.name for e in exposed}) == 1_000
    assert made < 6_000
    assert len(warnings) == 21
    assert warnings[-1] == "979 more tools of server 's' are offered under other names."
