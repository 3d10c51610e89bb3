"""Displays for a person: `plan` decides what is shown of an envelope; the other names draw it.

`render` and `to_text` draw in a terminal, `to_html` for reports and mails, `to_markdown` for issues and chats, `to_svg`
and `to_png` a chart as a picture. Each is loaded when it is first used (PEP 562), so that none needs what another draws
with.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from xmcp.render.view import View, plan

if TYPE_CHECKING:
    from xmcp.render.html import STYLE_SHEET, to_html
    from xmcp.render.markdown import to_markdown
    from xmcp.render.svg import NoChart, to_png, to_svg
    from xmcp.render.terminal import draw, framed, render, to_text

__all__ = [
    "STYLE_SHEET",
    "NoChart",
    "View",
    "draw",
    "framed",
    "plan",
    "render",
    "to_html",
    "to_markdown",
    "to_png",
    "to_svg",
    "to_text",
]

_HOME: Final = {
    **dict.fromkeys(("draw", "framed", "render", "to_text"), "xmcp.render.terminal"),
    **dict.fromkeys(("STYLE_SHEET", "to_html"), "xmcp.render.html"),
    "to_markdown": "xmcp.render.markdown",
    **dict.fromkeys(("NoChart", "to_png", "to_svg"), "xmcp.render.svg"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'xmcp.render' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value
