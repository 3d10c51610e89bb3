"""HTML and SVG as text that is safe by construction: what is not `Markup` is escaped.

Every string that becomes markup goes through `text` or through an attribute of `element`, and so through
`view/untrusted.py`: a drawer cannot forget it. Elements are closed because they are written as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from xmcp.render.view.untrusted import visible

_VOID: Final = frozenset({"br", "hr", "img", "meta"})
_ESCAPES: Final = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;"))


class Markup(str):
    """Text that is HTML or SVG already. Only this module, and constants, make it."""

    __slots__ = ()


Child: TypeAlias = Markup | str | None
Attribute: TypeAlias = str | float | None


def escaped(words: str) -> str:
    """Return untrusted `words` as the text of an element or attribute; control characters are visible signs."""
    shown = visible(words)
    for sign, name in _ESCAPES:
        shown = shown.replace(sign, name)
    return shown


def text(words: str) -> Markup:
    """Return untrusted `words` as the text of an element."""
    return Markup(escaped(words))


def joined(children: Iterable[Child]) -> Markup:
    """Return the children one after the other: strings that are not `Markup` are escaped, None is left out."""
    return Markup("".join([child if isinstance(child, Markup) else escaped(child) for child in children if child]))


def element(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """Return an element.

    Args:
        name: The name of the element.
        children: What it holds; a string that is not `Markup` is escaped, None is left out.
        attributes: `_` stands for `-`, and None is left out. `class_` is written first, where `with_inline_styles` of
            html/style_sheet.py looks for it.
    """
    classes = attributes.pop("class_", None)
    written = f' class="{classes}"' if classes else ""
    for key, value in attributes.items():
        if value is not None:
            known = number(value) if isinstance(value, (int, float)) else escaped(value)
            written += f' {key.replace("_", "-")}="{known}"'
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def number(value: float) -> str:
    """Return a number of an attribute, with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
