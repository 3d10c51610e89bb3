"""The words of the simple displays: which facts are written, in which order, how long, and made safe to show.

Pure functions from content to strings. Colours, signs and layout are the renderer's. Text of several lines (`text`,
`code`, the message of a notification) is not here: a renderer passes it through `untrusted` itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from xmcp.render.view import content
from xmcp.render.view.numerals import byte_size, quantity
from xmcp.render.view.outline import outline
from xmcp.render.view.payloads import is_number
from xmcp.render.view.untrusted import label, revealed, visible

NOTHING: Final = "(nothing to show)"
NO_DESCRIPTION: Final = "(no description)"
NO_LINK: Final = "(link not shown)"
NO_VALUE: Final = "–"
"""What stands for `null`."""
JSON_IS_CUT: Final = "the value is long; not all of it is shown"
LEVELS: Final[Mapping[content.Level, str]] = {
    "info": "Info",
    "success": "Success",
    "warning": "Warning",
    "error": "Error",
}
"""The name of each notification level."""

_MAX_CELL: Final = 1000

Direction: TypeAlias = Literal["up", "down"]
_DIRECTIONS: Final[Mapping[str, Direction]] = {"+": "up", "-": "down", "−": "down"}


def scalar(value: object) -> str | None:
    """Return the text of one JSON value in a cell, cut at 1,000 characters; None for `null`."""
    if value is None:
        return None
    words = value if isinstance(value, str) else outline(value, indent=None)[0]
    if len(words) > _MAX_CELL:
        words = f"{words[:_MAX_CELL]}… ({len(words) - _MAX_CELL} more characters)"
    return visible(words)


def code_heading(code: content.Code) -> str:
    """Return the line above source text: file name and language; empty if neither is known."""
    return label(_joined(code.filename, code.language), 80)


def json_text(json: content.Json) -> tuple[str, str | None]:
    """Return the value as indented JSON, and a notice if not all of it is there."""
    text, cut = outline(json.value)
    return text, JSON_IS_CUT if cut else None


def is_inline(image: content.Image) -> bool:
    """Tell whether the bytes of the picture are in its address (a `data:` URI)."""
    return image.src.startswith("data:")


def image_description(image: content.Image) -> str | None:
    """Return the description of the picture; None if it has none."""
    return revealed(image.alt) if image.alt else None


def image_facts(image: content.Image) -> str:
    """Return media type, size in pixels and, of an inline picture, size in bytes; empty if none is known."""
    inline = is_inline(image)
    mime = image.mime or (image.src[5:].partition(";")[0].partition(",")[0] if inline else None)
    pixels = "{} × {} px".format(*map(quantity, image.size)) if image.size else None
    return label(_joined(mime, pixels, f"{byte_size(len(image.src) * 3 // 4)} inside the message" if inline else None))


def file_name(file: content.File) -> str:
    """Return the name of a file, or words that say that it has none."""
    return label(file.name or "(no name)")


def file_facts(file: content.File) -> str:
    """Return media type and size of a file; empty if neither is known."""
    return label(_joined(file.mime, None if file.size is None else byte_size(file.size)))


def amount(metric: content.Metric) -> tuple[str, str]:
    """Return the value of a metric and its unit; the unit is empty if there is none."""
    value = metric.value
    return quantity(value) if is_number(value) else label(str(value), 80), label(metric.unit or "", 24)


def change(metric: content.Metric) -> tuple[str, Direction | None]:
    """Return the delta of a metric, a number with its sign, and its direction; empty if there is none."""
    delta = metric.delta
    if delta is None:
        return "", None
    words = f"{'+' if delta > 0 else ''}{quantity(delta)}" if is_number(delta) else label(str(delta), 40)
    return words, _DIRECTIONS.get(words[:1])


def _joined(*facts: str | None) -> str:
    return " · ".join(filter(None, facts))
