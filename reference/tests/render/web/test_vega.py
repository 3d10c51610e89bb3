"""The second file of `<xmcp-display>`: charts that the element refuses are drawn by Vega; nothing else changes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from render.web.sample_displays import DISPLAYS
from render.web.test_hostile_envelopes import faults
from render.web.vega_displays import VEGA_DISPLAYS
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from support.display_page import FOLDER, VEGA_POLICY, DisplayPage, display_page
from support.hostile_charts import Case, refused, slow
from support.hostile_displays import HOSTILE, text
from support.http_host import hosted

NAMES = [*VEGA_DISPLAYS]
CASES = [json.dumps(envelope) for envelope in VEGA_DISPLAYS.values()]
ALT = "A chart."

pytestmark = pytest.mark.slow


@pytest.fixture
async def page() -> AsyncIterator[DisplayPage]:
    async with display_page(CASES, vega=True) as opened:
        yield opened


@pytest.mark.parametrize("width", [1000, 320])
async def test_a_chart_that_the_element_refuses_is_drawn(page: DisplayPage, width: int) -> None:
    await page.open(width=width)
    for number, name in enumerate(NAMES):
        seen = await page.draw(number)
        about = (name, width)
        assert (about, faults(seen, f"{page.url}/")) == (about, [])
        assert (about, seen["rung"], seen["reason"]) == (about, "chart", None)
    assert page.foreign_requests() == []


async def test_without_the_second_file_the_ladder_is_shown() -> None:
    async with display_page(CASES) as page:
        for number, name in enumerate(NAMES):
            seen = await page.draw(number)
            assert (name, seen["rung"]) == (name, "alt")
            assert (name, seen["text"].startswith(VEGA_DISPLAYS[name]["title"])) == (name, True)


async def test_charts_of_the_element_stay_its_own() -> None:
    charts = [json.dumps(envelope) for envelope in DISPLAYS.values() if envelope["type"] == "chart"]
    async with display_page(charts, vega=True) as page:
        for number in range(len(charts)):
            seen = await page.draw(number)
            assert (seen["rung"], seen["reason"]) == ("chart", None)
        assert not [event for event in page.page.seen("Network.requestWillBeSent") if "worker" in str(event)]


async def test_a_page_that_lets_no_worker_start_shows_the_ladder() -> None:
    no_type = VEGA_POLICY.replace("xmcp-display-vega", "'none'")
    no_worker = VEGA_POLICY.replace("worker-src 'self'", "worker-src 'none'")
    for policy in (no_type, no_worker):
        async with display_page(CASES, vega=True, policy=policy) as page:
            seen = await page.draw(0)
            assert seen["rung"] == "alt"
            assert "the page does not let Vega start" in seen["text"]


async def test_what_a_person_does_with_a_chart(page: DisplayPage) -> None:
    await page.open(width=1000)
    seen = await page.probe("vega", chart=VEGA_DISPLAYS["binned heatmap"], facets=VEGA_DISPLAYS["facets"])
    assert seen["role"] == ["img", VEGA_DISPLAYS["binned heatmap"]["alt"]]
    assert seen["buttons"] == ["Copy", "Download CSV", "Download SVG", "Source", "Full screen"]
    assert seen["csv"].startswith("\ufeffteam,region,day,ms,size\r\nSearch,EMEA,2026-03-01,")
    assert seen["csv"].count("\r\n") == 169
    assert seen["svg"] == {"whole": True, "bare": True, "variables": False}
    assert seen["widths"][0] > seen["widths"][1] > 250
    assert seen["family"] == "Lato"
    assert "10.000" in seen["german"]
    assert seen["unknown"] == "chart"
    assert len(set(seen["colours"])) == 2  # light and dark
    assert seen["rows"] > 20
    assert seen["noticed"] == {"dialogs": [], "violations": [], "errors": []}


async def test_members_of_a_group_are_drawn_and_a_refused_one_is_its_fallback() -> None:
    bad = {"type": "chart", "alt": ALT, "payload": {"mark": "boxplot", "data": {"url": "https://evil.example"}}}
    good = VEGA_DISPLAYS["boxplot"]
    table = {"type": "table", "payload": [{"a": 1}]}
    other = {**good, "alt": None, "fallback": DISPLAYS["bars"]}
    group = {"type": "group", "payload": [good, {**bad, "fallback": table}, {"type": "x-y", "fallback": good}, other]}
    async with display_page([json.dumps(group)], vega=True) as page:
        seen = await page.draw(0)
        assert seen["rung"] == "group"
        assert await page.page.value(NAMED) == [
            good["alt"],
            good["alt"],
            "Chart of 168 rows: team, region, day, ms, size",
        ]
        assert "data.url is not allowed" in seen["text"]


@asynccontextmanager
async def trap() -> AsyncIterator[tuple[str, list[str]]]:
    """Serve a host that nothing may ask; its address, and what it was asked."""
    asked: list[str] = []

    def note(request: Request) -> Response:
        asked.append(request.url.path)
        return PlainTextResponse("[]", headers={"Access-Control-Allow-Origin": "*"})

    async with hosted(Starlette(routes=[Route("/{path:path}", note)])) as address:
        yield address, asked


def envelope(case: Case) -> str:
    return json.dumps({"type": "chart", "alt": ALT, "payload": case() if callable(case) else case})


async def test_no_chart_loads_runs_or_holds_up_the_page() -> None:
    async with trap() as (address, asked):
        never, costly = refused(address), slow()
        cases = [envelope(case) for case in (*never.values(), *costly.values())]
        async with display_page(cases, vega=True, worker_policy=False) as page:
            wrong: dict[str, Any] = {}
            for number, name in enumerate((*never, *costly)):
                seen = await page.draw(number)
                found = faults(seen, f"{page.url}/")
                if name in never and (seen["rung"] != "alt" or "Vega does not get it" not in seen["text"]):
                    found.append(f"Vega got it: {seen['text']}")
                if found:
                    wrong[name] = found
            assert wrong == {}
            assert asked == []
            assert page.foreign_requests() == []
            assert page.page.seen("Page.javascriptDialogOpening") == []
            assert page.page.seen("Runtime.exceptionThrown") == []


async def test_hostile_envelopes_stay_harmless_with_the_second_file() -> None:
    charts = {name: written for name, case in HOSTILE.items() if '"chart"' in (written := text(case))}
    async with display_page([*charts.values()], vega=True) as page:
        wrong = {}
        for number, name in enumerate(charts):
            seen = await page.draw(number)
            if found := faults(seen, f"{page.url}/"):
                wrong[name] = found
        assert wrong == {}
        assert page.foreign_requests() == []


NAMED = """
[...document.querySelector("xmcp-display").shadowRoot.querySelectorAll(".scroll > svg")].map((one) => one.ariaLabel)
"""
COPIED = """
[...document.querySelector("xmcp-display").shadowRoot.querySelectorAll("svg[role=img] *")]
  .map((one) => [one.localName, ...one.getAttributeNames()].join(" "))
"""


async def test_a_worker_that_was_taken_over_puts_nothing_into_the_page() -> None:
    x = {"field": "a", "type": "quantitative"}
    cases = [
        envelope({"data": {"values": [{"a": 1}]}, "mark": "tick", "encoding": {"x": {**x, "title": str(number)}}})
        for number in range(11)
    ]
    async with display_page(cases, vega=True, worker=(FOLDER / "bad_worker.js").read_text(encoding="utf-8")) as page:
        for number in range(len(cases)):
            seen = await page.draw(number)
            assert (number, faults(seen, f"{page.url}/")) == (number, [])
            assert (number, seen["rung"]) == (number, "alt" if number else "chart"), seen["text"]
            if number == 0:
                assert await page.page.value(COPIED) == ["g", "text"]
        assert page.foreign_requests() == []


async def test_the_worker_alone_loads_nothing_and_can_be_ended() -> None:
    no_types = VEGA_POLICY.replace("require-trusted-types-for 'script'; ", "")
    marks = {"encoding": {"x": {"field": "a", "type": "quantitative"}}, "mark": "tick"}
    async with trap() as (address, asked), display_page(vega=True, policy=no_types, worker_policy=False) as page:
        loads = {**marks, "data": {"url": f"{address}/data.json"}}
        image = {**marks, "data": {"values": [{"a": 1}]}, "mark": {"type": "image", "url": f"{address}/i.png"}}
        for specification in (loads, image):
            seen = await page.probe("bare_worker", specification=specification, longest=10_000)
            assert seen.startswith('["svg"')
            assert address not in seen
        call = "toString['constructor']('return fetch')()"
        runs = {**marks, "data": {"values": [{"a": 1}]}, "transform": [{"calculate": f"'' + {call}", "as": "a"}]}
        assert "function" not in await page.probe("bare_worker", specification=runs, longest=10_000)
        endless = {**marks, "data": {"sequence": {"start": 0, "stop": 30_000_000}}}
        assert await page.probe("bare_worker", specification=endless, longest=500) == "late"
        assert await page.page.value("1 + 1") == 2
        assert asked == []
