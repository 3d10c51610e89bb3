"""Displays as static HTML, for reports, mails and notebooks. `xmcp.render.view` decides what is shown."""

from __future__ import annotations

from xmcp.render.html.displays import to_html
from xmcp.render.html.style_sheet import STYLE_SHEET

__all__ = ["STYLE_SHEET", "to_html"]
