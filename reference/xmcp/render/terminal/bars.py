"""Bar charts as text: one line for each bar, with its category, its series, its value and the bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement

from xmcp.render.terminal.canvas import NARROWEST, color_of, fitted, line
from xmcp.render.view import content
from xmcp.render.view.charts import bars_of, rule_label
from xmcp.render.view.numerals import aligned, quantity
from xmcp.render.view.untrusted import label
from xmcp.render.view.wording import categories_missing

_EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True, slots=True)
class BarChart:
    """Draws bars: one line each, with the category, the series, the value and the bar."""

    bars: content.Bars

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(NARROWEST, options.max_width), options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        bars, width = self.bars, options.max_width
        shown, left_out = bars_of(bars)
        columns = [_column([bar.category for bar in shown], bars.category_title, width // 3)]
        if any(one.name is not None for one in (*bars.series, *bars.lines)):
            columns.append(_column([bar.name or "" for bar in shown], "", width // 4))
        values = [bar.value for bar in shown]
        columns.append(_column(aligned([quantity(value) for value in values]), bars.value_title, width // 3, "right"))
        heads = [head for head, _ in columns]
        room = max(width - sum(map(cell_len, heads)) - 2 * len(heads), 4)
        draw = _bar_drawer(values, room, options.ascii_only)
        yield line(("  ".join(heads).rstrip(), "dim"))
        for at, bar in enumerate(shown):
            yield line("  ".join(cells[at] for _, cells in columns), "  ", (draw(bar.value), color_of(bar.series)))
        if left_out:
            yield line((f"… {left_out} more bars not shown", "dim"))
        if words := categories_missing(bars):
            yield line((f"note: {words}", "dim italic"))
        for rule in bars.rules:
            yield line((f"rule: {rule_label(rule)}", "dim"))


def _column(cells: Iterable[str], title: str, limit: int, align: str = "left") -> tuple[str, list[str]]:
    """Return the head and the cells of a text column, all of the same width."""
    texts = [cell if align == "right" else label(cell) for cell in cells]
    head = label(title, 40)
    width = min(max(map(cell_len, [head, *texts]), default=0), max(limit, 4))
    if align == "right":
        width = max(width, *map(len, texts)) if texts else width
        return fitted(head, width) if cell_len(head) >= width else head.rjust(width), [t.rjust(width) for t in texts]
    return fitted(head, width), [fitted(text, width) for text in texts]


def _bar_drawer(numbers: Sequence[float], room: int, ascii_only: bool) -> Callable[[float], str]:
    """Return a function that draws the bar of a number; all bars share one scale and one zero."""
    low, high = min(0.0, *numbers, 0.0), max(0.0, *numbers, 0.0)
    span = (high - low) or 1.0
    zero = round(-low / span * room)

    def draw(number: float) -> str:
        if ascii_only:
            cells = round(abs(number) / span * room)
            bar = "#" * (cells or (number != 0))
        elif number < 0:
            bar = "█" * max(round(-number / span * room), 1)
        else:
            eighths = round(number / span * room * 8)
            whole, rest = divmod(max(eighths, int(number != 0)), 8)
            bar = "█" * whole + (_EIGHTHS[rest] if rest else "")
        return " " * max(zero - len(bar), 0) + bar if number < 0 else " " * zero + bar

    return draw
