"""Charts as SVG, drawn from what `xmcp.render.view` read of them, never from the specification itself."""

from __future__ import annotations

from xmcp.render.svg.charts import NoChart, chart, to_png, to_svg

__all__ = ["NoChart", "chart", "to_png", "to_svg"]
