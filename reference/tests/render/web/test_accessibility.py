"""axe-core finds no fault in any display, light or dark, wide or narrow."""

from __future__ import annotations

import json

import pytest
from render.web.sample_displays import DISPLAYS
from render.web.vega_displays import VEGA_DISPLAYS
from support.display_page import display_page

from tools import ROOT
from tools.node_packages import Packages

WEB = ROOT / "reference" / "web"
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
FOUND = """
axe.run().then(({ violations, incomplete }) => [
  ...violations.map(({ id, nodes }) =>
    `${id}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => html + failureSummary).join("; ")}`),
  ...incomplete.filter(({ id }) => id !== "color-contrast").map(({ id, nodes }) => `${id}? ${nodes[0].html}`),
])
"""

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("screen", [{"width": 1000}, {"width": 1000, "dark": True}, {"width": 320}], ids=str)
async def test_axe_finds_no_fault(screen: dict[str, int]) -> None:
    Packages(WEB, "axe-core judges the displays.").install()
    displays = [*DISPLAYS.values(), *VEGA_DISPLAYS.values()]
    async with display_page([json.dumps(envelope) for envelope in displays], vega=True) as page:
        await page.open(**screen)
        for number in range(len(displays)):
            seen = await page.job("draw", number=number, attributes={"heading-level": "2"}, keep=True)
            assert seen["wider"] <= 0
        await page.page.value(AXE.read_text(encoding="utf-8") + ";0")
        assert await page.page.value(FOUND) == []
