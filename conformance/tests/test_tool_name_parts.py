"""An offered name is meant for a tool where the tool's own name is a part of it, between borders of words."""

from __future__ import annotations

import pytest

from xmcp_conformance.profiles.client.name_resolution import has_name_of
from xmcp_conformance.wrong.clients.trace_builder import tool

LONG = "list_all_the_orders_of_a_customer"


@pytest.mark.parametrize(
    ("offered", "own"),
    [
        *(
            ("find", "find"),
            ("shop__find", "find"),
            ("shop-find", "find"),
            ("shop.find", "find"),
            ("shop/find", "find"),
        ),
        *(("shop:find", "find"), ("find_2", "find"), ("find2", "find"), ("shop__find2_x", "find")),
        *(
            ("FIND", "find"),
            ("shopFind", "find"),
            ("findTool", "find"),
            ("mcp_x_b", "b"),
            ("mcp_files_read", "files.read"),
        ),
        *((f"shop__{LONG[:30]}", LONG), (f"shop__{LONG[:24]}_1a2b", LONG), ("rebind_b", "b"), ("sub__b", "b")),
    ],
)
def test_the_name_is_a_part(offered, own):
    assert has_name_of(offered, tool(own))


@pytest.mark.parametrize(
    ("offered", "own"),
    [
        *(("mcp_streamable_http__a", "b"), ("refind", "find"), ("finder", "find"), ("findings_2", "find")),
        *(("mcp_bd9fcc0b", "b"), ("tab", "b"), ("HTTP", "p"), (f"my{LONG[:30]}", LONG), ("find2x", "find"), ("x", "")),
    ],
)
def test_letters_inside_of_a_word_are_not_the_name(offered, own):
    assert not has_name_of(offered, tool(own))
