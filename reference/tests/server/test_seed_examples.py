"""The examples of the project's first design document, unchanged, against our names."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from fastmcp import Client
from pydantic import Field

from xmcp import XMCP, DisplayEnvelope, XMCPError
from xmcp.xml_formatters import DeclarativeXMLFormatter
from xmcp_models.registry import TOOL_META_KEY


class DBTimeout(Exception):
    pass


class WeatherXMLFormatter(DeclarativeXMLFormatter):
    # Only these keys will appear in the XML that the LLM sees
    top_level_fields = ["city", "temperature", "condition"]


@pytest.fixture
def mcp() -> XMCP:
    mcp = XMCP()

    @mcp.display_tool
    def greet(name: str) -> DisplayEnvelope:
        return DisplayEnvelope(type="markdown", payload=f"### Hello {name}! 👋")

    @mcp.display_tool
    def sales_summary(region: str, show_user: bool = False):
        summary = {"region": region, "sales": 42}
        if show_user:
            return DisplayEnvelope(type="table", payload=[summary])
        return summary

    @mcp.tool(xml_formatter=WeatherXMLFormatter)
    def get_weather(city: str) -> dict:
        return {"city": city, "temperature": 14, "condition": "Cloudy", "humidity": 57}

    @mcp.tool(name="get_weather_by_name", annotations={"xml_formatter": "WeatherXMLFormatter"})
    def by_name(city: str) -> dict:
        return get_weather(city)

    @mcp.tool
    def run_slow_query(sql: str):
        try:
            raise DBTimeout("database timeout after 5 s")
        except DBTimeout as exc:
            raise XMCPError(code="DB_TIMEOUT", retryable=True, detail=str(exc)) from exc

    @mcp.tool()
    def generate_sql(question: str) -> str:
        return f"select 1 -- {question}"

    @mcp.tool(annotations={"depends_on": ["generate_sql"]})
    def run_query(sql: str) -> list[dict]:
        return [{"n": 1}]

    @mcp.display_tool(annotations={"depends_on": ["run_query"]})
    def render_chart(rows: list[dict], show_user: bool = False):
        return DisplayEnvelope(type="table", payload=rows) if show_user else rows

    @mcp.tool
    def my_orders(
        status: str, user_id: Annotated[str, Field(json_schema_extra={"server_populated": True})]
    ) -> dict[str, Any]:
        return {"status": status, "of": user_id}

    @mcp.param_provider("user_id")
    def user_id() -> str:
        return "u-17"

    return mcp


async def test_greet(mcp: XMCP, call: Any) -> None:
    shown = await call(mcp, "greet", name="Ada", show_user=True)
    assert shown.display == {"type": "markdown", "payload": "### Hello Ada! 👋"}
    assert "### Hello Ada! 👋" in shown.llm_output
    told = await call(mcp, "greet", name="Ada")
    assert told.display is None
    assert told.llm_output == "### Hello Ada! 👋"


async def test_sales_summary(mcp: XMCP, call: Any) -> None:
    shown = await call(mcp, "sales_summary", region="EMEA", show_user=True)
    assert shown.display == {"type": "table", "payload": [{"region": "EMEA", "sales": 42}]}
    told = await call(mcp, "sales_summary", region="EMEA")
    assert told.display is None
    assert told.llm_output == '{"region":"EMEA","sales":42}'


@pytest.mark.parametrize("tool", ["get_weather", "get_weather_by_name"])
async def test_get_weather_with_a_formatter(mcp: XMCP, call: Any, tool: str) -> None:
    reply = await call(mcp, tool, city="London")
    assert reply.llm_output == (
        "<result>\n  <city>London</city>\n  <temperature>14</temperature>\n  <condition>Cloudy</condition>\n</result>"
    )
    assert reply.structured == {"city": "London", "temperature": 14, "condition": "Cloudy", "humidity": 57}


async def test_run_query_with_a_time_out(mcp: XMCP, call: Any) -> None:
    reply = await call(mcp, "run_slow_query", sql="select 1")
    assert (reply.code, reply.retryable, reply.message) == ("DB_TIMEOUT", True, "database timeout after 5 s")


async def test_the_chain_of_three_tools_is_in_the_catalogue(mcp: XMCP, era: str) -> None:
    async with Client(mcp, mode=era) as client:
        said = {tool.name: (tool.meta or {}).get(TOOL_META_KEY, {}) for tool in await client.list_tools()}
        annotations = {tool.name: tool.annotations for tool in await client.list_tools()}
    assert said["run_query"] == {"depends_on": ["generate_sql"]}
    assert said["render_chart"] == {"depends_on": ["run_query"], "display": True}
    assert "generate_sql" not in said or "depends_on" not in said["generate_sql"]
    assert said["get_weather"] == said["get_weather_by_name"] == {"xml_formatter": "WeatherXMLFormatter"}
    assert not annotations["run_query"] or not annotations["run_query"].model_extra


async def test_a_server_populated_field(mcp: XMCP, call: Any, era: str) -> None:
    reply = await call(mcp, "my_orders", status="open", user_id="somebody else")
    assert reply.structured == {"status": "open", "of": "u-17"}
    assert reply.filled == {"values": {"user_id": "u-17"}, "overridden": ["user_id"]}
    async with Client(mcp, mode=era) as client:
        tool = next(tool for tool in await client.list_tools() if tool.name == "my_orders")
    assert list(tool.input_schema["properties"]) == ["status"]
    assert tool.input_schema["required"] == ["status"]
    assert "user_id" not in str(tool.input_schema)
