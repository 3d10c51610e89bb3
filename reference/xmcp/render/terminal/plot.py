"""Line, area and point charts as text.

The y axis stands at the left, the names and last values of several series at the right, the x axis below. In a terminal
that only knows ASCII the marks are ASCII. Lines are dots of braille where a terminal shows them, and else blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement

from xmcp.render.terminal.canvas import BLOCKS, BRAILLE, NARROWEST, Canvas, Dot, Grain, color_of, fitted, line, marks
from xmcp.render.view import content
from xmcp.render.view.charts import Axis, is_scatter, rule_label, series_label, x_axis, y_ticks
from xmcp.render.view.numerals import aligned, quantity
from xmcp.render.view.untrusted import label

Lines: TypeAlias = Literal["braille", "blocks"]
"""What lines are drawn with: braille is finer, blocks are in line in every font."""

_MARKS, _ASCII_MARKS = "●▲■◆✚✖○△□◇★▽", "ox+*#@%&=~$^"
_EDGES, _ASCII_EDGES = "│┤└─┬", "|++-+"
_HEIGHT = 12


@dataclass(frozen=True, slots=True)
class PlotChart:
    """Draws a plot in the full width of the terminal.

    Attributes:
        plot: What is drawn.
        lines: What its lines are drawn with. `None`: braille on a terminal, blocks in a file, whose font nobody knows.
    """

    plot: content.Plot
    lines: Lines | None = None

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(NARROWEST, options.max_width), options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        plot = self.plot
        scatter = is_scatter(plot)
        signs = _ASCII_MARKS if options.ascii_only else _MARKS if scatter else ""
        upright, tick, corner, floor, notch = tuple(_ASCII_EDGES if options.ascii_only else _EDGES)
        y_values = y_ticks(plot)
        vertical = Axis(y_values[0], y_values[-1])
        steps = len(y_values) - 1
        heights = max(2, _HEIGHT // steps, -(-len(plot.series) // steps))
        last_row = heights * steps
        y_names = aligned([quantity(value) for value in y_values])
        names = self._names(options.max_width // 3, signs)
        legend, names = (names, {}) if scatter else ({}, names)
        room = max(map(cell_len, names.values()), default=0)
        columns = max(options.max_width - len(y_names[0]) - 2 - room, 8)

        horizontal, places = x_axis(plot)
        canvas = Canvas(columns, last_row + 1, marks(signs) if signs else self._grain(console))
        for nth, series in enumerate(plot.series):
            dots = [canvas.place(horizontal.share(x), vertical.share(y)) for x, y in series.points]
            self._draw(canvas, list(dict.fromkeys(dots)), canvas.place(0, vertical.share(0))[1], nth)
        for rule in plot.rules:
            across, share = rule.axis == "y", (vertical if rule.axis == "y" else horizontal).share(rule.value)
            ends_of_rule = [canvas.place(*((side, share) if across else (share, side))) for side in (0.0, 1.0)]
            for dot in canvas.between(*ends_of_rule)[::3]:
                canvas.dot(dot, len(plot.series))
        ends = spread([round((1 - vertical.share(s.points[-1][1])) * last_row) for s in plot.series], last_row)

        margin = " " * len(y_names[0])
        yield line((label(plot.y_title, 40), "dim"), *[(f"  {name}", color_of(nth)) for nth, name in legend.items()])
        for row in range(last_row + 1):
            at_tick, below = divmod(last_row - row, heights)
            edge = f"{margin} {upright}" if below else f"{y_names[at_tick]} {tick}"
            end = [(names[nth], color_of(nth)) for nth, at in enumerate(ends) if at == row and nth in names]
            yield line((edge, "dim"), *canvas.row(row), *end)
        notches, labels = x_labels([(horizontal.share(x), name) for x, name in places], columns)
        foot = "".join(notch if column in notches else floor for column in range(columns))
        yield line((f"{margin} {corner}{foot}", "dim"))
        yield line((f"{margin}  {labels}", "dim"))
        if title := label(plot.x_title, 40):
            yield line((f"{margin}  {title.center(columns).rstrip()}", "dim"))
        for rule in plot.rules:
            yield line((f"rule: {rule_label(rule)}", "dim"))

    def _grain(self, console: Console) -> Grain:
        lines = self.lines or ("braille" if console.is_terminal and not console.legacy_windows else "blocks")
        return BRAILLE if lines == "braille" else BLOCKS

    def _names(self, limit: int, signs: str) -> dict[int, str]:
        """Return what stands at the end of each named series: its mark, its name, the last value of a line."""
        names = {}
        for nth, series in enumerate(self.plot.series):
            if series.name is not None:
                mark = signs[nth % len(signs)] if signs else ""
                words = " ".join(filter(None, (mark, series_label(series))))
                names[nth] = " " + fitted(words, limit).rstrip()
        return names

    def _draw(self, canvas: Canvas, dots: Sequence[Dot], ground: int, series: int) -> None:
        plot = self.plot
        if plot.series[series].mark == "point" or len(dots) == 1:
            for dot in dots:
                canvas.dot(dot, series)
            return
        filled = plot.series[series].mark == "area" and len(plot.series) == 1  # several would hide each other: lines
        for start, end in pairwise(dots):
            for x, y in canvas.line(start, end, series):
                if filled:
                    canvas.line((x, y), (x, ground), series)


def spread(wanted: Sequence[int], last_row: int) -> list[int]:
    """Return a different row from 0 to `last_row` for each series, near the wanted one and in the same order."""
    order = sorted(range(len(wanted)), key=lambda nth: (wanted[nth], nth))
    rows = [0] * len(wanted)
    taken = -1
    for place, nth in enumerate(order):
        taken = max(min(wanted[nth], last_row - (len(order) - 1 - place)), taken + 1)
        rows[nth] = taken
    return rows


def x_labels(places: Sequence[tuple[float, str]], columns: int) -> tuple[set[int], str]:
    """Return the columns that have a label on the x axis, and the line of labels.

    The labels are every first, second, third … place, as many as fit; the first place always has one.
    """
    step = 1
    while True:
        notches: set[int] = set()
        text, end = "", 0
        for share, name in places[::step]:
            middle = round(share * (columns - 1))
            start = max(min(middle - cell_len(name) // 2, columns - cell_len(name)), 0)
            if notches and start <= end:
                break
            notches.add(middle)
            text += " " * (start - end) + name
            end = start + cell_len(name)
        else:
            return notches, text
        step += max(1, len(places) // 200)
