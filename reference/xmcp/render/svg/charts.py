"""A chart as an `svg` element, as a file of its own, and as a PNG picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from xmcp.render.envelopes import AnyEnvelope, view_of
from xmcp.render.markup import Markup, element, joined
from xmcp.render.svg.bars import draw_bars
from xmcp.render.svg.drawing import FONT_SIZE, LINE, WIDTH, Drawing, fitted, picture
from xmcp.render.svg.heat import draw_heat
from xmcp.render.svg.pie import draw_pie
from xmcp.render.svg.plot import draw_plot
from xmcp.render.view import content
from xmcp.render.view.untrusted import label, revealed
from xmcp.render.view.wording import chart_description

_MARGIN: Final = 16
_INK: Final = "#1f2328"
_STYLE: Final = Markup(f"<style>svg{{color:{_INK}}}@media(prefers-color-scheme:dark){{svg{{color:#e6edf3}}}}</style>")

_DRAWERS: Final[Mapping[type[Any], Callable[[Any], Drawing]]] = {
    content.Bars: draw_bars,
    content.Plot: draw_plot,
    content.Pie: draw_pie,
    content.Heat: draw_heat,
}


class NoChart(ValueError):
    """The display is not shown as a chart; the message says as what it is shown, and why."""


def chart(shown: content.Chart, alt: str | None = None) -> Markup:
    """Return a chart as an `svg` element for a page: it takes the colour of the text around it."""
    parts, height = _DRAWERS[type(shown)](shown)
    return picture(parts, (WIDTH, height), _described(shown, alt))


def _described(shown: content.Chart, alt: str | None) -> str:
    return revealed(alt) if alt else chart_description(shown)


def to_svg(envelope: AnyEnvelope) -> str:
    """Return the chart of a display as an SVG file, which loads nothing; readable in light and dark.

    Raises:
        NoChart: The display is not shown as a chart.
    """
    return _file(envelope, _STYLE)


def to_png(envelope: AnyEnvelope, *, scale: float = 2.0) -> bytes:
    """Return the chart of a display as a PNG picture: dark on white, `scale` times 592 pixels wide.

    It is the picture of `to_svg`, so nothing of the specification is run.

    Args:
        envelope: A display of any origin.
        scale: Pixels for each unit of the drawing, from 0.5 to 8.

    Raises:
        NoChart: The display is not shown as a chart.
        ValueError: `scale` is not from 0.5 to 8.
        ModuleNotFoundError: resvg-py is not installed: `pip install 'xmcp[png]'`.
    """
    if not 0.5 <= scale <= 8:
        raise ValueError(f"scale must be 0.5 to 8, not {scale}")
    file = _file(envelope, None)
    try:
        import resvg_py
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError("to_png needs the package resvg-py: pip install 'xmcp[png]'") from missing
    return bytes(resvg_py.svg_to_bytes(svg_string=file, background="#ffffff", zoom=scale))


def _file(envelope: AnyEnvelope, style: Markup | None) -> str:
    view = view_of(envelope)
    shown = view.content
    if not isinstance(shown, content.Chart):
        because = "".join(f" ({label(notice)})" for notice in view.notices)
        raise NoChart(f"only a chart is drawn as a picture; this display is shown as {view.rendered_as}{because}")
    title = fitted(label(view.title or "", 120), WIDTH * 0.8)
    head = FONT_SIZE + LINE if title else 0
    parts, height = _DRAWERS[type(shown)](shown)
    moved = element("g", joined(parts), transform=f"translate({_MARGIN} {_MARGIN + head})")
    name = element("text", title, x=_MARGIN, y=_MARGIN + 14, font_size=FONT_SIZE + 3, font_weight=600)
    size = WIDTH + 2 * _MARGIN, height + 2 * _MARGIN + head
    return picture([style or Markup(), name if title else Markup(), moved], size, _described(shown, view.alt), _INK)
