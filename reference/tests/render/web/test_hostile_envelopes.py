"""Nothing that a server sends makes `<xmcp-display>` run a script, ask a host, show nothing, or hold up the page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.display_page import DisplayPage, display_page
from support.hostile_displays import HOSTILE

SLOWEST_MS = 15_000
MOST_ELEMENTS = 50_000
MOST_LAID_OUT = {"elements": 12_000, "characters": 300_000}
"""What the browser lays out at once, at about 10 µs for each element and 0.2 µs for each character: so the page is not
held up for more than 200 ms, which would be another time on every machine."""

pytestmark = pytest.mark.slow


@pytest.fixture
async def page() -> AsyncIterator[DisplayPage]:
    async with display_page([*HOSTILE.values()]) as opened:
        yield opened


def faults(seen: dict[str, Any], url: str) -> list[str]:
    """Return what is wrong with a drawing that page.js describes."""
    found = [f"{name}: {seen[name]}" for name in ("forbidden", "dialogs", "errors", "violations") if seen[name]]
    if seen.get("timeout") or seen["total"] > SLOWEST_MS:
        found.append(f"took {seen['total']:.0f} ms")
    if seen["height"] < 5 or seen["empty"]:
        found.append("shows nothing")
    if seen["ran"] is not None or seen["title"] != "Displays" or seen["url"] != url:
        found.append("something of the envelope ran")
    if seen["elements"] > MOST_ELEMENTS:
        found.append(f"makes {seen['elements']} elements")
    for what, most in MOST_LAID_OUT.items():
        if (count := seen[f"{what}LaidOut"]) > most:
            found.append(f"has the browser lay out {count:,} {what} at once")
    if seen["invisible"]:
        found.append("control characters are in the text")
    if seen["wider"] > 0:
        found.append(f"the page is {seen['wider']} px wider than the window")
    return found


async def test_no_envelope_runs_asks_hides_or_hangs(page: DisplayPage) -> None:
    wrong = {}
    for number, name in enumerate(HOSTILE):
        seen = await page.draw(number)
        if found := faults(seen, f"{page.url}/"):
            wrong[name] = found
    assert wrong == {}
    assert page.foreign_requests() == []
    assert page.page.seen("Page.javascriptDialogOpening") == []
    assert page.page.seen("Runtime.exceptionThrown") == []
