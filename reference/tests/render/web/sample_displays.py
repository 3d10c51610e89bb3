"""One display of each type as a server would send it, for pictures and for checks of what each has to fulfil."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

Envelope = dict[str, Any]


def picture(width: int, height: int) -> str:
    """Return the address of a PNG with a gradient."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(
        b"\0"
        + b"".join(bytes((40 + 180 * x // width, 90 + 80 * y // height, 200 - 120 * x // width)) for x in range(width))
        for y in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(data).decode()


def chart(mark: Any, values: list[Envelope], encoding: Envelope, title: str, alt: str, **members: Any) -> Envelope:
    """Return a chart in Vega-Lite."""
    payload = {"mark": mark, "data": {"values": values}, "encoding": encoding, **members}
    return {"type": "chart", "title": title, "alt": alt, "payload": payload}


MONTHS = [f"2026-{month:02}" for month in range(1, 13)]
SOLD = {
    "EMEA": [31, 38, 42, 40, 47, 53, 58, 55, 61, 66, 64, 72],
    "APAC": [12, 15, 17, 21, 20, 26, 31, 30, 36, 35, 41, 44],
    "Americas": [44, 41, 39, 45, 44, 48, 46, 51, 49, 54, 57, 55],
}
BY_MONTH = [
    {"month": m, "region": r, "units": n} for r, numbers in SOLD.items() for m, n in zip(MONTHS, numbers, strict=True)
]
MONTH = {"field": "month", "type": "temporal", "title": "Month"}
UNITS = {"field": "units", "type": "quantitative", "title": "Units sold"}
REGION = {"field": "region", "type": "nominal", "title": "Region"}
WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri"]

MARKDOWN = """## Orders of May

EMEA sold **42 units**, up from 38 in April; see the [full report](https://example.com/reports/2026-05) or write to
<mailto:sales@example.com>.

1. Look at *delayed* orders first.
2. Then compare with `orders_2025`:
   - by region
   - by product

> Numbers before 10 May are preliminary.

| Region | Orders | Share |
|:-------|-------:|:-----:|
| EMEA   |  1,204 | 58 %  |
| APAC   |    871 | 42 %  |

```python
def share(part: int, whole: int) -> float:
    \"\"\"Return the part in percent.\"\"\"
    return 100 * part / whole  # never rounded
```
"""

CODE = """import asyncio

from xmcp import AIClient


async def main() -> None:
    # One client for all questions.
    async with AIClient(["http://127.0.0.1:3333"]) as ai:
        print(await ai.chat("What did EMEA sell in May?"))


asyncio.run(main())
"""

PRODUCTS = [
    "Desk lamp",
    "Office chair",
    "Standing desk",
    "Monitor arm",
    "Footrest",
    "Notebook, ruled, 96 pages, recycled paper",
]

DISPLAYS: dict[str, Envelope] = {
    "text": {
        "type": "text",
        "title": "Weather in Ottawa",
        "payload": "18 °C and sunny until the evening.\nTomorrow: showers, 14 °C.",
    },
    "markdown": {"type": "markdown", "payload": MARKDOWN},
    "notification info": {"type": "notification", "payload": "The report is ready."},
    "notification success": {"type": "notification", "payload": {"message": "3 orders were sent.", "level": "success"}},
    "notification warning": {
        "type": "notification",
        "payload": {
            "message": "The price of 2 products is older than a week. Check them before you order.",
            "level": "warning",
        },
    },
    "notification error": {
        "type": "notification",
        "payload": {"message": "Order 7001 was refused: no stock.", "level": "error"},
    },
    "table": {
        "type": "table",
        "title": "Stock by product",
        "payload": {
            "columns": [
                {"key": "product", "title": "Product"},
                {"key": "stock", "title": "In stock", "type": "number"},
                {"key": "price", "title": "Price (€)", "align": "right"},
                {"key": "change", "title": "Change (%)", "align": "right"},
                {"key": "since", "title": "Since", "type": "date"},
            ],
            "rows": [
                [
                    name,
                    12_480 // (i + 1),
                    [19.9, 249, 349, 89.5, 44.95, 3.5][i],
                    [-3.25, 0.5, None, 12, 1.125, -0.75][i],
                    f"2026-0{i + 1}-15",
                ]
                for i, name in enumerate(PRODUCTS)
            ],
            "row_header": "product",
            "caption": "Warehouse in Rotterdam",
            "total_rows": 48,
        },
    },
    "long table": {
        "type": "table",
        "title": "Orders",
        "payload": {
            "columns": [
                "order",
                "customer",
                {"key": "amount", "title": "Amount (€)", "type": "number", "align": "right"},
                "state",
            ],
            "rows": [
                [
                    f"A-{7000 + i}",
                    ["Ada Ltd", "Blaise SARL", "Curie & Co"][i % 3],
                    round(17.35 * (i * 37 % 101), 2),
                    ["open", "sent"][i % 2],
                ]
                for i in range(2_000)
            ],
        },
    },
    "bars": chart(
        "bar",
        [{"day": day, "n": n} for day, n in zip(WEEKDAYS, [3, 7, 9, 6, 12], strict=True)],
        {
            "x": {"field": "day", "type": "ordinal", "sort": None, "title": "Day"},
            "y": {"field": "n", "type": "quantitative", "title": "Orders"},
        },
        "Orders per day",
        "Orders rose from 3 on Monday to 12 on Friday.",
    ),
    "stacked bars": chart(
        "bar",
        [row for row in BY_MONTH if row["month"] <= "2026-06"],
        {"x": {"field": "month", "type": "ordinal", "title": "Month"}, "y": UNITS, "color": REGION},
        "Units sold by region",
        "Sales of three regions from January to June, one bar for each month.",
    ),
    "lying bars": chart(
        "bar",
        [{"product": name, "units": [812, 640, 455, 302, 197, 88][i]} for i, name in enumerate(PRODUCTS)],
        {"y": {"field": "product", "type": "nominal", "sort": "-x", "title": "Product"}, "x": UNITS},
        "Units sold by product",
        "Desk lamps sold most, notebooks least.",
    ),
    "bars below zero": chart(
        "bar",
        [{"q": f"Q{i + 1}", "profit": n} for i, n in enumerate([4.2, -1.5, -0.4, 6.1])],
        {
            "x": {"field": "q", "type": "ordinal", "title": "Quarter"},
            "y": {"field": "profit", "type": "quantitative", "title": "Profit (M€)"},
        },
        "Profit",
        "A loss in the second and third quarter.",
    ),
    "lines": chart(
        "line",
        BY_MONTH,
        {"x": MONTH, "y": UNITS, "color": REGION},
        "Units sold over 2026",
        "EMEA rose from 31 to 72 units.",
    ),
    "area": chart(
        "area",
        BY_MONTH,
        {"x": MONTH, "y": UNITS, "color": REGION},
        "Units sold over 2026, together",
        "All regions together doubled.",
    ),
    "points": chart(
        "point",
        [
            {
                "weight": 40 + i * 7 % 61,
                "price": round(8 + (i * 7 % 61) * 0.4 + (i * 13 % 17), 1),
                "kind": "chair" if i % 3 else "desk",
            }
            for i in range(60)
        ],
        {
            "x": {"field": "weight", "type": "quantitative", "title": "Weight (kg)"},
            "y": {"field": "price", "type": "quantitative", "title": "Price (€)"},
            "color": {"field": "kind", "type": "nominal"},
        },
        "Price and weight",
        "Heavier products cost more.",
    ),
    "pie": chart(
        "arc",
        [{"region": region, "units": sum(numbers)} for region, numbers in SOLD.items()],
        {"theta": UNITS, "color": REGION},
        "Share of the regions",
        "EMEA and the Americas sell more than four fifths.",
    ),
    "heat": chart(
        "rect",
        [
            {"day": day, "hour": f"{h:02}:00", "calls": (i * 7 + h * 5) % 43}
            for i, day in enumerate(WEEKDAYS)
            for h in range(8, 18)
        ],
        {
            "x": {"field": "hour", "type": "ordinal", "title": "Hour"},
            "y": {"field": "day", "type": "ordinal", "sort": WEEKDAYS, "title": "Day"},
            "color": {"field": "calls", "type": "quantitative", "title": "Calls"},
        },
        "Calls by day and hour",
        "Most calls come in the afternoon.",
    ),
    "image": {
        "type": "image",
        "title": "Map of the site",
        "payload": {"src": picture(480, 200), "alt": "A gradient from blue to orange."},
    },
    "image elsewhere": {
        "type": "image",
        "payload": {
            "src": "https://example.com/plan.png",
            "alt": "The plan of the first floor.",
            "mime": "image/png",
            "width": 1200,
            "height": 800,
        },
    },
    "code": {"type": "code", "payload": {"code": CODE, "language": "python", "filename": "ask.py"}},
    "html": {"type": "html", "payload": '<form action="/pay">\n  <input name="card">\n</form>'},
    "json": {
        "type": "json",
        "title": "Order 7001",
        "payload": {
            "id": 7001,
            "customer": {"name": "Ada Ltd", "vip": True, "note": None},
            "lines": [{"sku": "L-20", "count": 2, "price": 19.9}, {"sku": "C-11", "count": 1, "price": 249}],
            "tags": [],
        },
    },
    "facts": {
        "type": "facts",
        "title": "Order 7001",
        "payload": {"Customer": "Ada Ltd", "Ordered": "2026-05-04", "Items": 3, "Paid": True, "Delivered": None},
    },
    "metric": {
        "type": "metric",
        "title": "May",
        "payload": [
            {"label": "Revenue", "value": 1.5, "unit": "M€", "delta": "+3 %"},
            {"label": "Orders", "value": 12_480, "delta": 312},
            {"label": "Returns", "value": 2.4, "unit": "%", "delta": -0.6},
            {"label": "Delivery", "value": "on time"},
        ],
    },
    "file": {
        "type": "file",
        "payload": {
            "uri": "https://example.com/report.pdf",
            "name": "report-2026-05.pdf",
            "mime": "application/pdf",
            "size": 52_317,
        },
    },
    "group": {
        "type": "group",
        "title": "The week in numbers",
        "payload": [
            {
                "type": "metric",
                "payload": [{"label": "Orders", "value": 37, "delta": 4}, {"label": "Open", "value": 5}],
            },
            {"type": "text", "payload": "Friday was the best day since March."},
            {
                "type": "table",
                "payload": [{"day": day, "orders": n} for day, n in zip(WEEKDAYS, [3, 7, 9, 6, 12], strict=True)],
            },
        ],
    },
    "fallback": {
        "type": "x-acme-map",
        "title": "Where the van is",
        "payload": {"lat": 45.4, "lon": -75.7},
        "fallback": {"type": "text", "payload": "45.4, -75.7"},
    },
}
