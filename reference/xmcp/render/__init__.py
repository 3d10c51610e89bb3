"""Displays for a person: `render` and `to_text` draw any envelope in a terminal, `plan` decides what is drawn.

What may live here: the names a program that shows displays imports.
"""

from __future__ import annotations

from xmcp.render.content import View
from xmcp.render.ladder import plan
from xmcp.render.terminal import draw, render, to_text

__all__ = ["View", "draw", "plan", "render", "to_text"]
