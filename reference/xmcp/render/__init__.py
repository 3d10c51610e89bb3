"""Displays for a person: `plan` decides what is shown of an envelope; `render`, `framed` and `to_text` draw it.

The names of the terminal are loaded when they are first used (PEP 562): other renderers do without rich.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from xmcp.render.view import View, plan

if TYPE_CHECKING:
    from xmcp.render.terminal import draw, framed, render, to_text

__all__ = ["View", "draw", "framed", "plan", "render", "to_text"]

_TERMINAL: Final = ("draw", "framed", "render", "to_text")


def __getattr__(name: str) -> Any:
    if name not in _TERMINAL:
        raise AttributeError(f"module 'xmcp.render' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module("xmcp.render.terminal"), name)
    return value
