"""What a server costs a model, against a FastMCP server with the same functions: defaults must cost nothing.

Costs are counted in characters, of which a token has three to four; the bars are those of tokens, times four.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from mcp.client import Client as SDKClient
from mcp.client.extension import advertise

from xmcp import XMCP
from xmcp_models.registry import EXTENSION_ID


@pytest.fixture(autouse=True, scope="module")
def documents_for_every_client() -> None:
    """These servers have the wire that a server has whose author chose none."""


CHARACTERS = 4
"""Characters of a token, at most, in text such as that of these tests."""

ROWS = [
    {"id": n, "name": f"customer {n}", "city": "Ottawa & Hull", "revenue": n * 1.5, "open": n % 2 == 0}
    for n in range(50)
]
SOURCE = (
    """def first(items: list[int], most: int = 10) -> int | None:
    # the first item below `most`, & none if there is none
    for item in items:
        if item < most and item << 2 > 0 and not (item & 1):
            return item
    return None
"""
    * 40
)
TEXT = 'Sales & returns in May rose by 3 % (EMEA > APAC). <b>See</b> the table; it\'s "final".\n' * 100
NESTED = {"order": {"id": 7, "lines": [{"sku": "a<b", "n": n, "of": {"x": [n, n + 1]}} for n in range(30)]}}


def rows() -> list[dict[str, Any]]:
    """Customers."""
    return ROWS


def source() -> str:
    """A file."""
    return SOURCE


def text() -> str:
    """A report."""
    return TEXT


def nested() -> dict[str, Any]:
    """An order."""
    return NESTED


def number() -> int:
    """A number."""
    return 42


def nothing() -> None:
    """Nothing."""


def fails() -> str:
    """Fail in the author's words."""
    raise ToolError("The order 7 is locked by another user. Try again when it is closed.")


FUNCTIONS = (rows, source, text, nested, number, nothing, fails)


class Bar(NamedTuple):
    """The text may be `ratio` times that of FastMCP, and `more` tokens longer."""

    ratio: float
    more: int


DOCUMENTS = {
    rows: Bar(1.06, 0),
    source: Bar(1.02, 25),
    text: Bar(1.02, 25),
    nested: Bar(1.1, 25),
    number: Bar(1.0, 25),
    nothing: Bar(1.0, 25),
    fails: Bar(1.0, 40),
}


def made(kind: Callable[..., FastMCP[Any]], **options: Any) -> FastMCP[Any]:
    mcp = kind("costs", **options)
    for function in FUNCTIONS:
        mcp.tool(function)
    return mcp


def read_by_the_model(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


async def texts(mcp: FastMCP[Any], era: str, declared: dict[str, Any] | None = None) -> dict[str, str]:
    extensions = [] if declared is None else [advertise(EXTENSION_ID, declared)]
    async with SDKClient(mcp._mcp_server, mode=era, extensions=extensions, cache=None) as client:
        return {one.__name__: read_by_the_model(await client.call_tool(one.__name__, {})) for one in FUNCTIONS}


async def test_a_client_that_declares_nothing_reads_what_fastmcp_writes(era: str) -> None:
    theirs, ours = await texts(made(FastMCP), era), await texts(made(XMCP), era)
    plain, with_code = theirs.pop("fails"), ours.pop("fails")
    assert ours == theirs
    assert with_code == f"TOOL_ERROR: {plain}"


@pytest.mark.parametrize("function", DOCUMENTS, ids=lambda one: one.__name__)
async def test_a_document_costs_little_more(function: Callable[..., Any], era: str) -> None:
    theirs = (await texts(made(FastMCP), era))[function.__name__]
    declared = {"versions": ["1.0"]}
    ours = (await texts(made(XMCP), era, declared))[function.__name__]
    assert ours.startswith("<tool_response")
    bar = DOCUMENTS[function]
    assert len(ours) <= bar.ratio * len(theirs) + bar.more * CHARACTERS


async def test_a_list_of_tools_costs_little_more(era: str) -> None:
    async def listed(mcp: FastMCP[Any]) -> dict[str, int]:
        async with Client(mcp, mode=era) as client:
            tools = await client.list_tools()
        return {tool.name: len(f"{tool.name}{tool.description}{json.dumps(tool.input_schema)}") for tool in tools}

    plain = await listed(made(FastMCP))
    assert await listed(made(XMCP)) == plain
    shown = XMCP("shown")
    for function in FUNCTIONS:
        shown.display_tool(function)
    for name, size in (await listed(shown)).items():
        assert size <= plain[name] + 30 * CHARACTERS + len('"properties": {}'), name


async def test_as_many_rows_fit_without_the_display_as_with_it(call: Any) -> None:
    mcp = XMCP("large", wire="always")

    @mcp.display_tool
    def many() -> dict[str, Any]:
        return {"type": "table", "alt": "sixty thousand customers", "payload": ROWS * 1200}

    for show_user in (True, False):
        assert (await call(mcp, "many", show_user=show_user)).code is None
