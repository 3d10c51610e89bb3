"""Views drawn in a terminal, with rich. What is shown is decided in `xmcp.render.view`."""

from __future__ import annotations

from xmcp.render.terminal.displays import draw, render, to_text

__all__ = ["draw", "render", "to_text"]
