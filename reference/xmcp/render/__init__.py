"""Displays for a person: `plan` decides what is shown of an envelope; `render` and `to_text` draw it in a terminal."""

from __future__ import annotations

from xmcp.render.terminal import draw, render, to_text
from xmcp.render.view import View, plan

__all__ = ["View", "draw", "plan", "render", "to_text"]
