"""Charts of `<xmcp-display>`: axes, values, legend, what is under the pointer, data as a table and as files."""

from __future__ import annotations

import pytest
from render.web.sample_displays import DISPLAYS
from support.display_page import display_page

CHARTS = [name for name, envelope in DISPLAYS.items() if envelope["type"] == "chart"]
MOST_WORDS = 200

pytestmark = pytest.mark.slow


async def test_every_chart_says_its_values_in_the_picture_under_the_pointer_and_as_a_table() -> None:
    async with display_page() as page:
        for name in CHARTS:
            for width in (700, 300):
                seen = await page.probe("charts", chart=DISPLAYS[name], width=width)
                about = (name, width)
                assert (about, seen["alt"]) == (about, DISPLAYS[name]["alt"])
                assert (about, seen["inside"]) == (about, True)
                assert (about, seen["touching"]) == (about, [])
                assert (about, min(seen["contrast"]) >= 4.5) == (about, True), seen["contrast"]
                assert (about, seen["width"] <= width) == (about, True)
                assert (about, bool(seen["ticks"] or name == "pie")) == (about, True)
                assert (about, bool(seen["tip"]), seen["gone"]) == (about, True, True)
                assert (about, seen["file"]) == (about, {"whole": True, "coloured": True, "bare": True})
                assert (about, seen["said"]) == (about, "Copied")
                rows = seen["copied"].splitlines()
                assert (about, min(len(rows) - 1, MOST_WORDS)) == (about, seen["rows"])
                assert (about, len(seen["csv"].split("\r\n"))) == (about, len(rows) + 1)


async def test_the_words_of_charts_are_those_of_their_data() -> None:
    async with display_page() as page:
        bars = await page.probe("charts", chart=DISPLAYS["bars"], width=700)
        assert bars["values"] == ["3", "7", "9", "6", "12"]
        assert bars["ticks"][-5:] == ["Mon", "Tue", "Wed", "Thu", "Fri"]
        assert bars["tip"].startswith(("Tue", "Wed"))
        stacked = await page.probe("charts", chart=DISPLAYS["stacked bars"], width=700)
        assert stacked["legend"] == ["APAC", "Americas", "EMEA"]
        assert {"31", "44", "12", "87", "127"} <= set(stacked["values"])
        lying = await page.probe("charts", chart=DISPLAYS["lying bars"], width=700)
        assert lying["values"] == ["812", "640", "455", "302", "197", "88"]
        lines = await page.probe("charts", chart=DISPLAYS["lines"], width=700)
        assert sorted(lines["values"]) == ["44", "55", "72"]
        assert lines["ticks"][:2] == ["0", "20"]
        assert "2026-01" in lines["ticks"]
        pie = await page.probe("charts", chart=DISPLAYS["pie"], width=700)
        assert pie["legend"] == ["APAC: 328 (21.5 %)", "Americas: 573 (37.5 %)", "EMEA: 627 (41 %)"]
        heat = await page.probe("charts", chart=DISPLAYS["heat"], width=700)
        assert heat["legend"] == ["Calls042"]
        assert len(heat["values"]) == 50


async def test_the_value_of_a_bar_below_zero_does_not_lie_on_its_name() -> None:
    async with display_page() as page:
        for lowest in (-2, -1.9, -1.5, -0.1):
            data = {"values": [{"q": "Q1", "n": 4}, {"q": "Q2", "n": lowest}]}
            encoding = {"x": {"field": "q", "title": "Quarter"}, "y": {"field": "n", "title": "Profit"}}
            chart = {"type": "chart", "payload": {"mark": "bar", "data": data, "encoding": encoding}}
            seen = await page.probe("charts", chart=chart, width=400)
            assert (lowest, seen["values"], seen["touching"]) == (lowest, ["4", f"{lowest:g}"], [])
