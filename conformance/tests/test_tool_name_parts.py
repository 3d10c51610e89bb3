"""An offered name is meant for a tool where the tool's own name is a part of it, between borders of words."""

from __future__ import annotations

import pytest

from xmcp_conformance.profiles.client.name_resolution import has_name_of
from xmcp_conformance.wrong.clients.trace_builder import tool

LONG = "list_all_the_orders_of_a_customer"
OF_FIND = [
    "find",
    "shop__find",
    "shop-find",
    "shop.find",
    "shop/find",
    "shop:find",
    "find_2",
    "find2",
    "FIND",
    "s_find2_x",
]


@pytest.mark.parametrize("offered", [*OF_FIND, "FIND", "s_find2_x", "shopFind", "findTool", "refind_find"])
def test_the_name_is_a_part(offered):
    assert has_name_of(offered, tool("find"))


@pytest.mark.parametrize("offered", ["refind", "finder", "findings_2", "find2x", "fin", "mcp_bd9fcc0b"])
def test_letters_inside_of_a_word_are_not_the_name(offered):
    assert not has_name_of(offered, tool("find"))


@pytest.mark.parametrize("offered", ["mcp_streamable_http__a", "mcp_bd9fcc0b", "tab", "HTTP"])
def test_a_name_of_one_letter_is_not_in_each_word(offered):
    assert not any(has_name_of(offered, tool(name)) for name in ("b", "p", ""))


def test_a_name_can_be_shortened_or_written_with_what_models_take():
    assert has_name_of(f"shop__{LONG[:24]}_1a2b", tool(LONG))
    assert has_name_of(f"shop__{LONG[:30]}", tool(LONG))
    assert has_name_of("mcp_files_read", tool("files.read"))
    assert not has_name_of(f"my{LONG[:30]}", tool(LONG))
