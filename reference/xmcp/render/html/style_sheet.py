"""How displays look in HTML: one table of declarations, used as a style sheet or written into each element.

The text has the colours of the page around it. Lines and backgrounds are a translucent grey, and the colours of series
and levels can be read on light and on dark, so a display fits into any page and notebook, whatever its theme is.
No meaning depends on a style: mail programs remove some of them, and some remove all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Template
from typing import Final

_FONTS: Final = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',sans-serif"
_MONOSPACE: Final = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

# By class, or by element if the name has no class of its own. `$` names a colour of the two tables below.
_DECLARATIONS: Final[Mapping[str, str]] = {
    "xmcp": f"font:14px/1.5 {_FONTS};max-width:100%;overflow-wrap:anywhere",
    "h1": "font-size:1.6em",
    "h2": "font-size:1.25em",
    "h3": "font-size:1.12em",
    **dict.fromkeys(("h4", "h5", "h6"), "font-size:1em"),
    "title": "font-weight:600;line-height:1.3;margin:0 0 .5em;padding:0",
    "h": "font-weight:600;line-height:1.3;margin:1em 0 .4em;padding:0",
    "part": "margin:1.5em 0 0",
    "p": "margin:0 0 .6em",
    "plain": "white-space:pre-wrap;margin:0",
    "note": "$muted;font-size:.9em;margin:.5em 0 0",
    "faint": "$muted",
    "nothing": "$muted;font-style:italic;margin:0",
    "scroll": "overflow:auto;max-width:100%",
    "table": "border-collapse:collapse;margin:0;font-size:inherit;width:auto",
    "caption": "caption-side:bottom;text-align:left;$muted;font-size:.9em;padding:.5em 0 0",
    "th": "border:0;border-bottom:2px solid $line;padding:.35em .8em;text-align:left;vertical-align:bottom;"
    "font-weight:600;background:none;overflow-wrap:break-word",
    "td": "border:0;border-bottom:1px solid $faint;padding:.35em .8em;text-align:left;vertical-align:top;"
    "background:none;white-space:pre-line;overflow-wrap:break-word;max-width:36em",
    "name": "border-bottom:1px solid $faint;vertical-align:top",
    "fact": "border-bottom:1px solid $faint;vertical-align:top;font-weight:400;$muted",
    "n": "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums",
    "r": "text-align:right",
    "w": "white-space:nowrap",
    "b": "min-width:14em",
    "c": "text-align:center",
    "notification": "border-left:4px solid $line;border-radius:4px;padding:.6em .9em;background:$tint;margin:0;"
    "white-space:pre-wrap",
    "info": "border-left-color:#3a80c8",
    "success": "border-left-color:#2e8b3d",
    "warning": "border-left-color:#cf6a17",
    "error": "border-left-color:#cc4a48",
    "pre": f"margin:0;padding:.7em .9em;border-radius:6px;background:$tint;overflow:auto;white-space:pre;"
    f"font:.93em/1.5 {_MONOSPACE};overflow-wrap:normal",
    "code": f"font-family:{_MONOSPACE};font-size:inherit;background:none;padding:0;border:0",
    "snippet": f"font-family:{_MONOSPACE};font-size:.93em;background:$tint;border-radius:3px;padding:.1em .3em",
    "file-name": f"$muted;font:.85em/1.5 {_MONOSPACE};margin:0 0 .3em",
    "metrics": "margin:0",
    "metric": "display:inline-block;vertical-align:top;min-width:8em;padding:.6em 1em;margin:0 .6em .6em 0;"
    "border:1px solid $line;border-radius:8px",
    "metric-name": "$muted;font-size:.9em;margin:0",
    "amount": "font-size:1.7em;font-weight:600;line-height:1.25;margin:0;font-variant-numeric:tabular-nums",
    "unit": "font-size:.6em;font-weight:400;$muted",
    "delta": "font-size:.9em;margin:0",
    "up": "color:#2e8b3d",
    "down": "color:#cc4a48",
    "figure": "margin:0;padding:0",
    "figcaption": "$muted;font-size:.9em;margin:.5em 0 0;white-space:pre-wrap",
    "img": "max-width:100%;height:auto;border:0",
    "details": "margin:.5em 0 0;font-size:.93em",
    "summary": "$muted;cursor:pointer;margin:0 0 .4em",
    "file": "margin:0",
    "a": "color:inherit;text-decoration:underline",
    "ul": "margin:0 0 .6em;padding-left:1.6em",
    "ol": "margin:0 0 .6em;padding-left:1.6em",
    "blockquote": "margin:0 0 .6em;padding:0 0 0 .9em;border-left:3px solid $line",
    "hr": "border:0;border-top:1px solid $line;margin:1em 0",
}
# Where the colours of the page are not known.
_ADAPTIVE: Final = {
    "line": "rgba(128,128,128,.45)",
    "faint": "rgba(128,128,128,.25)",
    "tint": "rgba(128,128,128,.12)",
    "muted": "opacity:.72",
}
# In mails, whose programs know neither `rgba` nor `opacity`. Where they make a mail dark, they change these with it.
_ON_WHITE: Final = {"line": "#c3c9d0", "faint": "#e3e6ea", "tint": "#f3f4f6", "muted": "color:#57606a"}

_ELEMENTS: Final = frozenset(
    {"h1", "h2", "h3", "h4", "h5", "h6", "p", "table", "caption", "th", "td", "pre", "code", "figure", "figcaption"}
    | {"img", "details", "summary", "a", "ul", "ol", "blockquote", "hr"}
)
# What an element cannot say of itself.
_MORE: Final = """
.xmcp.xmcp>:last-child{margin-bottom:0}
.xmcp.xmcp svg{display:block;width:100%;max-width:640px;min-width:340px;height:auto}
.xmcp.xmcp .metrics{display:flex;flex-wrap:wrap;gap:.6em}.xmcp.xmcp .metric{margin:0}
.xmcp.xmcp tbody tr:nth-child(even){background:rgba(128,128,128,.05)}
.xmcp.xmcp .long{max-height:34em}
.xmcp.xmcp .long thead th{position:sticky;top:0;background:rgba(128,128,128,.2);backdrop-filter:blur(14px)}
.xmcp.xmcp .scroll:focus-visible,.xmcp.xmcp summary:focus-visible{outline:2px solid #3a80c8;outline-offset:2px}
@media print{.xmcp.xmcp .long,.xmcp.xmcp .scroll,.xmcp.xmcp pre{max-height:none;overflow:visible}}
@media print{.xmcp.xmcp pre{white-space:pre-wrap}}
"""
_PAGE: Final = """
:root{color-scheme:light dark}
body{margin:0;background:Canvas;color:CanvasText}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1.2rem}
"""


def _declared(colors: Mapping[str, str]) -> dict[str, str]:
    return {name: Template(declarations).substitute(colors) for name, declarations in _DECLARATIONS.items()}


# The class stands twice, because notebooks have rules of their own for the cells of every table.
STYLE_SHEET: Final = (
    "".join(
        f".xmcp.xmcp{'' if name == 'xmcp' else f' {name}' if name in _ELEMENTS else f' .{name}'}{{{declarations}}}\n"
        for name, declarations in _declared(_ADAPTIVE).items()
    ).strip()
    + _MORE.rstrip()
)
"""The style sheet of displays, for a page that holds it once: `to_html(envelope, styles="none")` leaves it out."""
PAGE_STYLE_SHEET: Final = f"{_PAGE.strip()}\n{STYLE_SHEET}"

_INLINE: Final = _declared(_ON_WHITE)
_START: Final = re.compile(r'<([a-z0-9]+)(?: class="([a-z -]*)")?(?=[ >])')


def with_inline_styles(html: str) -> str:
    """Return HTML of this package with the declarations in each element, in the place of its classes."""
    return _START.sub(_styled, html)


def _styled(start: re.Match[str]) -> str:
    name, classes = start[1], start[2] or ""
    found = [_INLINE[key] for key in (name, *classes.split()) if key in _INLINE and (key != name or name in _ELEMENTS)]
    # A double quote would end the attribute; the font names have single ones.
    return f'<{name} style="{";".join(found)}"' if found else f"<{name}"
