"""A server whose tools show the person something: a table, a chart, a notification.

    uv run xmcp serve examples/display_server.py        # http://127.0.0.1:3333/mcp
    uv run xmcp check server --strict --stdio "uv run xmcp serve examples/display_server.py --transport stdio"

With `show_user` the person gets a display and the model its `alt`; without it the model gets the data.
"""

from typing import Any, Literal

from xmcp import XMCP, DisplayEnvelope

mcp = XMCP("sales", instructions="Units sold in 2026, by region and month.")

READS = {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
SOLD = {"EMEA": {"2026-03": 31, "2026-04": 38, "2026-05": 42}, "APAC": {"2026-03": 12, "2026-04": 15, "2026-05": 17}}
Region = Literal["EMEA", "APAC"]


@mcp.display_tool(annotations=READS)
def sales_table(region: Region, show_user: bool = False) -> list[dict[str, Any]] | DisplayEnvelope:
    """Units sold in a region, month by month."""
    rows = [{"month": month, "units": units} for month, units in SOLD[region].items()]
    if not show_user:
        return rows
    columns = ["month", {"key": "units", "title": "Units sold", "type": "number"}]
    return DisplayEnvelope(
        type="table",
        title=f"Units sold in {region}",
        alt=f"{region} sold {sum(SOLD[region].values())} units from March to May.",
        payload={"columns": columns, "rows": rows, "row_header": "month"},
    )


@mcp.display_tool(annotations=READS)
def sales_chart(show_user: bool = False) -> list[dict[str, Any]] | DisplayEnvelope:
    """Units sold in all regions, as lines over the months."""
    points = [{"region": r, "month": m, "units": units} for r, months in SOLD.items() for m, units in months.items()]
    if not show_user:
        return points
    x, y = {"field": "month", "type": "temporal"}, {"field": "units", "type": "quantitative"}
    encoding = {"x": x, "y": y, "color": {"field": "region", "type": "nominal"}}
    return DisplayEnvelope(
        type="chart",  # a Vega-Lite specification with its data inside
        alt="From March to May, EMEA rose from 31 to 42 units and APAC from 12 to 17.",
        payload={"mark": "line", "data": {"values": points}, "encoding": encoding},
        fallback=DisplayEnvelope(type="table", payload=points),
    )


@mcp.display_tool(annotations=READS)
def remind(text: str) -> DisplayEnvelope:
    """Show the person a note."""
    return DisplayEnvelope(type="notification", payload={"message": text or "Nothing to note.", "level": "info"})


if __name__ == "__main__":
    mcp.serve()
