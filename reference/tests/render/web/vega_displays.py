"""Charts that are Vega-Lite, allowed in a display, and more than the element draws itself."""

from __future__ import annotations

import math
from typing import Any, Final


def _chart(title: str, alt: str, **specification: Any) -> dict[str, Any]:
    return {"type": "chart", "title": title, "alt": alt, "payload": specification}


def _values(count: int) -> list[dict[str, Any]]:
    """Return measurements that are always the same ones."""
    return [
        {
            "team": ("Search", "Billing", "Mail")[at % 3],
            "region": ("EMEA", "APAC")[at // 3 % 2],
            "day": f"2026-03-{at % 28 + 1:02}",
            "ms": round(120 + 60 * math.sin(at / 7) + 25 * math.cos(at * 1.7) + 30 * (at % 3), 1),
            "size": round(40 + 30 * math.cos(at / 5) + 10 * math.sin(at * 2.3), 1),
        }
        for at in range(count)
    ]


_DATA: Final = {"values": _values(168)}
_MS: Final = {"field": "ms", "type": "quantitative", "title": "Milliseconds"}
_SIZE: Final = {"field": "size", "type": "quantitative", "title": "Size in kB"}
_TEAM: Final = {"field": "team", "type": "nominal", "title": "Team"}

VEGA_DISPLAYS: Final[dict[str, dict[str, Any]]] = {
    "boxplot": _chart(
        "Latency by team",
        "Latency of three teams; Mail is slowest.",
        data=_DATA,
        mark="boxplot",
        encoding={"x": _MS, "y": _TEAM},
    ),
    "histogram": _chart(
        "Sizes",
        "Most answers have between 20 and 70 kB.",
        data=_DATA,
        mark="bar",
        encoding={"x": {**_SIZE, "bin": {"maxbins": 12}}, "y": {"aggregate": "count"}, "color": _TEAM},
    ),
    "binned heatmap": _chart(
        "Latency and size",
        "A grid of how many answers have which size and latency.",
        data=_DATA,
        mark="rect",
        encoding={
            "x": {**_MS, "bin": {"maxbins": 14}},
            "y": {**_SIZE, "bin": {"maxbins": 10}},
            "color": {"aggregate": "count", "title": "Answers"},
        },
    ),
    "errorband": _chart(
        "Latency per day",
        "The mean latency per day with its deviation.",
        data=_DATA,
        encoding={"x": {"field": "day", "type": "temporal", "title": "Day"}, "y": _MS},
        layer=[
            {"mark": {"type": "errorband", "extent": "stdev"}},
            {"mark": "line", "encoding": {"y": {**_MS, "aggregate": "mean"}}},
        ],
    ),
    "facets": _chart(
        "Latency by region",
        "Two rows of points, one for each region.",
        data=_DATA,
        mark={"type": "point", "filled": True},
        encoding={"x": _SIZE, "y": _MS, "color": _TEAM, "column": {"field": "region", "title": "Region"}},
    ),
    "labelled slices": _chart(
        "Share of time",
        "A ring of three slices, each with its time.",
        data=_DATA,
        encoding={"theta": {"field": "ms", "aggregate": "sum", "type": "quantitative", "stack": True}, "color": _TEAM},
        layer=[
            {"mark": {"type": "arc", "innerRadius": 40, "outerRadius": 80}},
            {
                "mark": {"type": "text", "radius": 102},
                "encoding": {"text": {"aggregate": "sum", "field": "ms", "format": ",.0f"}},
            },
        ],
    ),
    "logarithms": _chart(
        "Growth",
        "Ten values, each twice as large as the one before.",
        data={"values": [{"n": at, "size": 3 * 2**at} for at in range(1, 11)]},
        mark={"type": "trail"},
        encoding={
            "x": {"field": "n", "type": "quantitative"},
            "y": {"field": "size", "type": "quantitative", "scale": {"type": "log"}},
            "size": {"field": "size", "type": "quantitative", "legend": None},
        },
    ),
    "side by side": _chart(
        "Two views",
        "Latency per team beside the median size per month.",
        data=_DATA,
        hconcat=[
            {"mark": "tick", "encoding": {"x": _MS, "y": _TEAM}},
            {
                "mark": {"type": "line", "point": True},
                "encoding": {
                    "x": {"field": "day", "timeUnit": "yearmonthdate", "type": "temporal", "title": "Day"},
                    "y": {**_SIZE, "aggregate": "median"},
                },
            },
        ],
    ),
    "labelled bars": _chart(
        "Latency",
        "The 90 % latency of three teams.",
        data=_DATA,
        encoding={"y": _TEAM, "x": {**_MS, "aggregate": "max"}},
        layer=[
            {"mark": {"type": "bar"}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {"text": {**_MS, "aggregate": "max", "format": ".0f"}},
            },
        ],
    ),
}
