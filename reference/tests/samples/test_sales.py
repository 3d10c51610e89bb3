"""The sample server conforms, and its tools do what their descriptions say."""

from __future__ import annotations

import struct
import zlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastmcp import Client
from mcp.client.extension import advertise
from mcp.types import CallToolResult, Tool

from xmcp.render import plan
from xmcp.samples import colour_swatch
from xmcp.samples.sales import mcp
from xmcp.samples.sales_figures import MONTHS, PRODUCTS, REGIONS, REVENUE, growth, revenue
from xmcp.wire import DisplayEnvelope, ToolResponse
from xmcp_models.registry import EXTENSION_ID, TOOL_META_KEY

SECRETS = ("hunter2", "db.internal", "RuntimeError", "Traceback")
READING_CALLS: dict[str, dict[str, Any]] = {
    "list_regions": {},
    "sales_summary": {"region": "EMEA"},
    "sales_chart": {},
    "top_products": {"region": "APAC"},
    "revenue_growth": {"region": "AMER"},
    "forecast": {"region": "APAC"},
    "key_figures": {"region": "EMEA"},
    "product_colour": {"product": "Comet"},
    "target_alert": {"region": "LATAM"},
    "briefing": {"region": "EMEA"},
    "customer_notes": {},
    "growing_products": {"region": "APAC"},
    "product_months": {"products": ["Comet"]},
    "points_chart": {"points": [{"month": "2026-01", "product": "Comet", "revenue": 1.5}]},
    "my_region": {"product": "Atlas"},
    "check_warehouse": {},
    "refresh_warehouse": {},
    "broken_report": {"quarter": "Q1"},
}
DISPLAYS: list[tuple[str, dict[str, Any], str]] = [
    ("sales_summary", {"region": "EMEA"}, "table"),
    ("sales_summary", {"region": "EMEA", "product": "Comet", "months": 1}, "table"),
    ("sales_chart", {"by": "month"}, "chart"),
    ("sales_chart", {"by": "region"}, "chart"),
    ("sales_chart", {"by": "product"}, "chart"),
    ("key_figures", {"region": "EMEA"}, "group"),
    ("target_alert", {"region": "LATAM"}, "notification"),
    ("product_colour", {"product": "Beacon"}, "image"),
    ("briefing", {"region": "EMEA", "tone": "full"}, "markdown"),
    ("points_chart", READING_CALLS["points_chart"], "chart"),
]


@pytest.fixture
async def client() -> AsyncIterator[Client[Any]]:
    """A client that reads documents."""
    async with Client(mcp, extensions=[advertise(EXTENSION_ID, {"versions": ["1.0"]})]) as client:
        yield client


async def called(client: Client[Any], tool: str, **arguments: Any) -> tuple[ToolResponse, CallToolResult]:
    result = await client.call_tool_mcp(tool, arguments)
    assert [block.type for block in result.content] == ["text"]
    return ToolResponse.from_xml(result.content[0].text), result


async def displayed(client: Client[Any], tool: str, **arguments: Any) -> DisplayEnvelope:
    response, _ = await called(client, tool, show_user=True, **arguments)
    assert response.display is not None
    return response.display


@pytest.fixture
async def tools(client: Client[Any]) -> dict[str, Tool]:
    return {tool.name: tool for tool in await client.list_tools()}


async def test_every_tool_says_what_it_does_and_whether_it_only_reads(tools: dict[str, Tool]) -> None:
    assert all(tool.description for tool in tools.values())
    reading = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
    assert set(tools) - reading == {"set_target"}
    assert reading == set(READING_CALLS)


@pytest.mark.parametrize("tool", READING_CALLS)
async def test_every_result_is_a_response_of_its_own_tool(client: Client[Any], tool: str) -> None:
    response, result = await called(client, tool, **READING_CALLS[tool])
    assert response.tool_name == tool
    assert result.is_error == (response.error is not None)
    assert result.is_error == (tool in {"refresh_warehouse", "broken_report"})


@pytest.mark.parametrize(("tool", "arguments", "kind"), DISPLAYS)
async def test_a_display_is_drawn_as_what_it_is(client: Client[Any], tool: str, arguments: Any, kind: str) -> None:
    envelope = await displayed(client, tool, **arguments)
    view = plan(envelope.to_dict())
    assert (view.rendered_as, view.notices) == (kind, ())


@pytest.mark.parametrize(("tool", "arguments", "kind"), DISPLAYS)
async def test_without_show_user_nothing_is_displayed(
    client: Client[Any], tool: str, arguments: Any, kind: str
) -> None:
    response, _ = await called(client, tool, **arguments)
    assert response.display is None
    assert response.llm_output


@pytest.mark.parametrize("by", ["month", "region", "product"])
async def test_a_chart_brings_its_words_and_a_table_of_its_points(client: Client[Any], by: str) -> None:
    envelope = await displayed(client, "sales_chart", by=by)
    assert envelope.alt
    assert envelope.fallback is not None
    assert envelope.fallback.type == "table"
    assert isinstance(envelope.payload, dict)
    assert envelope.fallback.payload == envelope.payload["data"]["values"]


async def test_the_table_adds_up(client: Client[Any]) -> None:
    envelope = await displayed(client, "sales_summary", region="APAC", months=6)
    assert isinstance(envelope.payload, dict)
    *products, total = envelope.payload["rows"]
    assert [round(sum(column), 1) for column in zip(*(row[1:] for row in products), strict=True)] == total[1:]
    assert round(sum(total[1:-1]), 1) == total[-1] == revenue(["APAC"], PRODUCTS, MONTHS)


async def test_months_outside_the_half_year_are_refused(client: Client[Any]) -> None:
    for months in (0, 7):
        response, _ = await called(client, "sales_summary", region="EMEA", months=months)
        assert response.error is not None
        assert response.error.code == "VALIDATION_FAIL"


async def test_what_fits_the_schema_and_makes_no_sense_is_refused_in_words(client: Client[Any]) -> None:
    response, _ = await called(client, "revenue_growth", region="EMEA", first="2026-05", last="2026-02")
    assert response.error is not None
    assert response.error.code == "INVALID_ARGUMENT"
    assert "2026-05" in response.error.message


async def test_an_error_of_its_own_brings_its_category(client: Client[Any]) -> None:
    response, _ = await called(client, "forecast", region="EMEA", months=7)
    assert response.error is not None
    assert (response.error.code, response.error.category) == ("FORECAST_TOO_FAR", "invalid_input")


async def test_a_forecast_goes_on_from_june(client: Client[Any]) -> None:
    _, result = await called(client, "forecast", region="APAC", months=6)
    assert result.structured_content is not None
    assert list(result.structured_content) == [f"2026-{month:02}" for month in range(7, 13)]
    assert min(result.structured_content.values()) > revenue(["APAC"], PRODUCTS, MONTHS[-1:])


def test_the_picture_of_a_colour_is_a_png_of_that_colour() -> None:
    picture = colour_swatch.png((1, 2, 3))
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    at, chunks = 8, {}
    while at < len(picture):
        length, name = struct.unpack(">I4s", picture[at : at + 8])
        body = picture[at + 8 : at + 8 + length]
        assert struct.unpack(">I", picture[at + 8 + length : at + 12 + length]) == (zlib.crc32(name + body),)
        chunks[name] = body
        at += 12 + length
    assert zlib.decompress(chunks[b"IDAT"]) == (b"\0" + b"\1\2\3" * 16) * 16


async def test_a_busy_warehouse_says_when_to_come_again(client: Client[Any]) -> None:
    response, _ = await called(client, "refresh_warehouse")
    error = response.error
    assert error is not None
    assert (error.code, error.retryable, error.retry_after_ms) == ("DB_TIMEOUT", True, 2000)
    assert error.meta is not None
    assert error.meta["side_effects"] == "none"


async def test_an_unexpected_failure_tells_nobody_its_secret(client: Client[Any]) -> None:
    response, result = await called(client, "broken_report", quarter="Q2")
    assert response.error is not None
    assert response.error.code == "INTERNAL"
    assert not any(secret in result.model_dump_json() for secret in SECRETS)


async def test_notes_of_strangers_arrive_as_data(client: Client[Any]) -> None:
    response, _ = await called(client, "customer_notes")
    assert response.display is None
    assert response.lossy
    assert response.llm_output is not None
    for trap in ("]]>", '</llm_output><display>{"type":"html"', "\r\n", "\ufffd[31mred"):
        assert trap in response.llm_output


async def test_a_tool_may_have_nothing_to_say(client: Client[Any]) -> None:
    response, _ = await called(client, "check_warehouse")
    assert response.error is None
    assert response.llm_output == ""


async def test_the_chain_from_products_to_a_chart_fits_together(client: Client[Any], tools: dict[str, Tool]) -> None:
    said = {name: (tool.meta or {}).get(TOOL_META_KEY, {}) for name, tool in tools.items()}
    assert said["points_chart"]["depends_on"] == ["product_months"]
    handed_on = {"depends_on": ["growing_products"], "provides": "points"}
    assert said["product_months"] == {**handed_on, "wrapped_in": "result"}
    _, found = await called(client, "growing_products", region="APAC", limit=2)
    assert found.structured_content == {"result": ["Comet", "Atlas"]}
    _, months = await called(client, "product_months", products=found.structured_content["result"])
    assert months.structured_content is not None
    shown = await displayed(client, "points_chart", points=months.structured_content["result"])
    assert isinstance(shown.payload, dict)
    assert len(shown.payload["data"]["values"]) == 2 * len(MONTHS)


async def test_the_caller_does_not_choose_who_manages(client: Client[Any]) -> None:
    response, result = await called(client, "my_region", manager="somebody else", warehouse_key="guess")
    assert response.server_populated == {
        "values": {"manager": "demo"},
        "redacted": ["warehouse_key"],
        "overridden": ["manager", "warehouse_key"],
    }
    assert "does-not-exist" not in result.model_dump_json()


async def test_a_target_that_is_set_is_the_target(client: Client[Any]) -> None:
    def target(envelope: DisplayEnvelope) -> Any:
        return envelope.payload[0]["payload"][1]["value"]

    before = target(await displayed(client, "key_figures", region="LATAM"))
    try:
        await called(client, "set_target", region="LATAM", amount=before + 1, reason="test")
        assert target(await displayed(client, "key_figures", region="LATAM")) == before + 1
    finally:
        await called(client, "set_target", region="LATAM", amount=before)


async def test_an_alert_is_a_warning_exactly_where_the_target_is_missed(client: Client[Any]) -> None:
    for region in REGIONS:
        envelope = await displayed(client, "target_alert", region=region)
        assert isinstance(envelope.payload, dict)
        assert ("missed" in envelope.payload["message"]) == (envelope.payload["level"] == "warning")


def test_every_region_has_a_figure_for_every_product_and_month() -> None:
    assert {len(figures) for products in REVENUE.values() for figures in products.values()} == {len(MONTHS)}
    assert {tuple(products) for products in REVENUE.values()} == {PRODUCTS}


def test_growth_is_in_percent() -> None:
    before, after = revenue(["EMEA"], PRODUCTS, MONTHS[:1]), revenue(["EMEA"], PRODUCTS, MONTHS[-1:])
    assert growth("EMEA", MONTHS[0], MONTHS[-1]) == pytest.approx((after - before) / before * 100, abs=0.05)
