"""A display that no client shows, of a misspelled type, an empty chart, a plain tool: its author is told once."""

from __future__ import annotations

from typing import Any

import pytest

from xmcp import XMCP, DisplayEnvelope
from xmcp.server.responses import display_advice


@pytest.fixture(autouse=True)
def nothing_logged_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display_advice, "_logged", set())


async def shown(call: Any, display_type: str) -> list[Any]:
    mcp = XMCP("shop")

    @mcp.display_tool
    def sales(show_user: bool = False):
        """Sales."""
        return DisplayEnvelope(type=display_type, payload=[{"a": 1}])

    return [(await call(mcp, "sales", show_user=asked)).display for asked in (False, True, True)]


async def test_a_misspelled_type_is_shown_all_the_same_and_logged_once(
    call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    hidden, first, second = await shown(call, "tabel")
    assert hidden is None
    assert first == second == {"type": "tabel", "payload": [{"a": 1}]}
    (record,) = [record for record in caplog.records if "not registered" in record.message]
    assert record.levelname == "WARNING"
    assert "The tool sales showed a display of the type 'tabel'" in record.message
    assert "Did you mean 'table'" in record.message


async def test_a_type_near_to_none_is_answered_with_the_list(call: Any, caplog: pytest.LogCaptureFixture) -> None:
    await shown(call, "hologramme")
    assert "Registered are text, markdown, table, chart" in caplog.text


@pytest.mark.parametrize("display_type", ["table", "x-acme-tabel"])
async def test_registered_types_and_those_of_vendors_need_no_advice(
    display_type: str, call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await shown(call, display_type)
    assert "not registered" not in caplog.text


@pytest.mark.parametrize(("payload", "advised"), [({"type": "bar", "data": {}}, True), ({"mark": "bar"}, False)])
async def test_a_chart_of_another_library_is_logged_once(
    payload: dict[str, Any], advised: bool, call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = XMCP("shop")

    @mcp.display_tool
    def sales(show_user: bool = False):
        """Sales."""
        return DisplayEnvelope(type="chart", payload=payload)

    for _ in range(2):
        assert (await call(mcp, "sales", show_user=True)).display == {"type": "chart", "payload": payload}
    told = [record.message for record in caplog.records if "draws nothing" in record.message]
    assert ["The tool sales" in one and "`mark`" in one for one in told] == [True] * advised


async def test_an_envelope_of_a_plain_tool_is_logged_once(call: Any, caplog: pytest.LogCaptureFixture) -> None:
    mcp = XMCP("shop")

    @mcp.tool
    def sales() -> DisplayEnvelope:
        """Sales."""
        return DisplayEnvelope(type="table", payload=[{"a": 1}])

    assert [(await call(mcp, "sales")).display for _ in range(2)] == [None, None]
    (record,) = [record for record in caplog.records if "@mcp.display_tool" in record.message]
    assert record.message.startswith("The tool sales returned a DisplayEnvelope, and no client shows it")
