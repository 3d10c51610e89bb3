"""The room that the parts of one display share, so that a group costs no more than one long part.

Each part takes its room in the order in which they are drawn. Of one that needs more than is left the beginning is
shown, with a notice; it has at least the room of `LEAST`, so that what stands behind a giant can still be read. A chart
has no beginning: without room for it, the next step of the fallback ladder is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from xmcp.render.view import content
from xmcp.render.view.content import CannotShow
from xmcp.render.view.limits import CHARACTERS, JSON_NODES, LEAST, MESSAGE, PARTS, ROOM, TABLE_ROWS
from xmcp.render.view.markdown_size import measured
from xmcp.render.view.outline import nodes_of, outline
from xmcp.render.view.wording import JSON_IS_CUT, first_of

Fitted: TypeAlias = tuple[content.Content, tuple[str, ...]]
"""As much of a content as there is room for, and the notice about what is left out."""

_TEXTS: Final[Mapping[type[content.Content], str]] = {
    content.Text: "text",
    content.Markdown: "source",
    content.Code: "source",
    content.Html: "source",
    content.Notification: "message",
    content.Image: "alt",
}
"""The member that is a text."""
_VALUES_OF_A_FACT: Final = 2
_VALUES_OF_A_METRIC: Final = 4
_VALUES_OF_A_MARK: Final = 2


class Room:
    """What is left for the parts that are still to come."""

    def __init__(self) -> None:
        self._parts = PARTS
        self._left = dict(ROOM)

    def has_part(self) -> bool:
        """Take the room of one more part; return whether there is any."""
        self._parts -= 1
        return self._parts >= 0

    def words(self, text: str, most: int = CHARACTERS) -> tuple[str, tuple[str, ...]]:
        """Return a text, or its beginning for which there is room, and the notice about the rest.

        No more than `most` characters of it are shown in any case.
        """
        wanted = min(len(text), most)
        given = self._take("characters", wanted)
        return (text, ()) if given == wanted else _beginning(text, given)

    def fitted(self, shown: content.Content) -> Fitted:
        """Return as much of a content as there is room for.

        Raises:
            CannotShow: It is a chart, and there is no room for it.
        """
        kind = type(shown)
        if name := _TEXTS.get(kind):
            text = getattr(shown, name)
            if text is None:
                return shown, ()
            most = MESSAGE if kind in (content.Notification, content.Image) else CHARACTERS
            words, notices = self._markdown(text) if kind is content.Markdown else self.words(text, most)
            return _with(shown, name, words), notices
        match shown:
            case content.Json(value):
                return self._json(shown, value)
            case content.Table():
                return self._table(shown), ()
            case content.Facts(items) | content.Metrics(items):
                values = _VALUES_OF_A_FACT if kind is content.Facts else _VALUES_OF_A_METRIC
                return _with(shown, "items", items[: self._take("values", len(items) * values) // values]), ()
            case content.Bars() | content.Plot() | content.Pie() | content.Heat():
                self._check(shown)
        return shown, ()

    def _take(self, kind: str, wanted: int) -> int:
        """Return how much there is of what is wanted, and take it."""
        given = min(wanted, max(self._left[kind], LEAST[kind]))
        self._left[kind] -= given
        return given

    def _markdown(self, source: str) -> tuple[str, tuple[str, ...]]:
        start, notices = self.words(source)
        pieces = measured(start, ROOM["pieces"])[1]
        given = self._take("pieces", pieces)
        return (start, notices) if given == pieces else _beginning(source, measured(start, given)[0] or given)

    def _json(self, shown: content.Json, value: object) -> Fitted:
        nodes = nodes_of(value, JSON_NODES)
        given = self._take("values", nodes)
        if given == nodes:
            return shown, ()
        return content.Code(outline(value, nodes=given)[0], "json"), (JSON_IS_CUT,)

    def _table(self, shown: content.Table) -> content.Table:
        columns, rows = len(shown.columns), min(len(shown.rows), TABLE_ROWS)
        given = self._take("values", rows * columns)
        if given == rows * columns:
            return shown
        total = max(shown.total_rows or 0, len(shown.rows))
        return replace(shown, rows=shown.rows[: given // columns], total_rows=total)

    def _check(self, chart: content.Chart) -> None:
        values = _values_of(chart)
        wanted = min(values * _VALUES_OF_A_MARK, ROOM["values"])
        if wanted > max(self._left["values"], LEAST["values"]):
            raise CannotShow(f"what stands before it leaves no room for its {values:,} values")
        self._take("values", wanted)


def _with(shown: Any, member: str, value: object) -> content.Content:
    return replace(shown, **{member: value})  # type: ignore[no-any-return]


def _beginning(text: str, count: int) -> tuple[str, tuple[str, ...]]:
    return text[:count], (first_of(count, len(text), "characters"),)


def _values_of(chart: content.Chart) -> int:
    match chart:
        case content.Bars(categories, series):
            return len(categories) * len(series)
        case content.Plot(series):
            return sum(len(one.points) for one in series)
        case content.Pie(slices):
            return len(slices)
        case content.Heat(columns, rows):
            return len(columns) * len(rows)
