"""Views drawn in a terminal, with rich. `xmcp.render.view` decides what is shown."""

from __future__ import annotations

from xmcp.render.terminal.displays import draw, framed, render, to_text
from xmcp.render.terminal.plot import Lines

__all__ = ["Lines", "draw", "framed", "render", "to_text"]
