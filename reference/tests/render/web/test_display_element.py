"""`<xmcp-display>` in a browser: every example is drawn, and a page and a person can use it as the guide says."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from render.test_markdown_links import FOLLOWED
from render.web.sample_displays import DISPLAYS
from render.web.test_hostile_envelopes import faults
from support.display_page import DisplayPage, display_page

from tools import ROOT

EXAMPLES = sorted((ROOT / "schemas" / "examples").glob("*/display_envelope/*.json"))
CASES = [path.read_text(encoding="utf-8") for path in EXAMPLES] + [
    json.dumps(envelope) for envelope in DISPLAYS.values()
]
NAMES = [f"{path.parts[-3]} {path.stem}" for path in EXAMPLES] + [f"sample {name}" for name in DISPLAYS]

pytestmark = pytest.mark.slow


@pytest.fixture
async def page() -> AsyncIterator[DisplayPage]:
    async with display_page(CASES) as opened:
        yield opened


@pytest.mark.parametrize("width", [1000, 320])
async def test_every_example_is_drawn_and_none_is_empty(page: DisplayPage, width: int) -> None:
    await page.open(width=width)
    wrong = {}
    for number, name in enumerate(NAMES):
        if json.loads(CASES[number]) is None:  # shows nothing, on purpose
            continue
        seen = await page.draw(number)
        if found := faults(seen, f"{page.url}/"):
            wrong[name] = found
        elif name.startswith("sample ") and name != "sample fallback":
            assert (name, seen["reason"]) == (name, None)
    assert wrong == {}
    assert page.foreign_requests() == []


async def test_a_page_uses_the_element(page: DisplayPage) -> None:
    await page.open()
    seen = await page.probe("elements")
    assert seen["early"] == "early"
    assert seen["replaced"] == {"same": True, "texts": ["Info five", "two", "three", "four"]}
    assert seen["middle"] == {"text": "last", "rung": "text"}
    assert seen["growth"] == {"kept": True, "text": "TitleFirst part.Second part.onetwo"}
    assert seen["partial"] == [0, 2]
    csv = "\ufeffa,b\r\n1,'=x\r\n"
    assert seen["host"] == ["https://example.com/", ["T.csv", "text/csv", csv]]
    assert seen["offered"] == [True, False]
    assert seen["event"][:3] == ["xmcp-display", "x-a-b", "alt"]
    assert "unsupported display type" in seen["event"][3]
    assert seen["emptied"] == ["", 0]
    assert '"later": 1' in seen["source"]
    assert seen["focused"] == "Source"
    assert seen["german"] == "1.234,5"
    assert seen["levels"] == ["2", "3", "4", "5"]
    assert seen["live"] is True
    assert "innermost" in seen["deep"]
    assert seen["noticed"] == {"dialogs": [], "violations": [], "errors": []}


async def test_the_links_of_markdown_are_those_of_the_other_renderers(page: DisplayPage) -> None:
    await page.open()
    sources = list(FOLLOWED)
    seen = await page.probe("links", sources=sources)
    assert dict(zip(sources, seen["followed"], strict=True)) == FOLLOWED
    assert seen["nested"] == 0
    assert seen["words"] == "[image: Build] (a.example)"


async def test_a_person_uses_a_long_table(page: DisplayPage) -> None:
    await page.open()
    seen = await page.probe("tables")
    assert seen["rows"] < 60
    assert seen["count"] == "1001"
    assert seen["name"] == ["Row 0", "Row 1", "Row 2"]
    assert seen["up"] == ["0.25", "ascending"]
    assert seen["down"] == ["249.75", "descending"]
    assert seen["last"] == "–"
    assert seen["bottom"] == "1001"
    assert seen["mixed"] == ["7", "ascending"]
    assert seen["found"] == ["11 of 1,000 rows", 11]
    assert seen["saved"] == {
        "name": "Numbers.csv",
        "mediaType": "text/csv",
        "lines": 13,
        "start": seen["saved"]["start"],
    }
    assert seen["saved"]["start"].startswith("\ufeffname,n,mixed\r\nRow 99")
    assert seen["kept"] == ["11 of 1,000 rows", "mixed▲", "ROW 99"]
    assert seen["none"] == "(no rows)"
    assert seen["printed"] == 1000
    assert seen["after"] is True
    assert seen["aligned"] == [4, 1]


async def test_a_thousand_displays_stand_in_one_page(page: DisplayPage) -> None:
    await page.open()
    seen = await page.probe("many")
    assert seen["count"] == 991
    assert seen["flat"] == 0
    assert seen["ms"] < 15_000
