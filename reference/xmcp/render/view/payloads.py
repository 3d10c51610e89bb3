"""From a payload to its content: one reader for each display type (spec section 3.2).

The schema stays the only definition of a valid payload: a reader gets what has the shape of payload_shapes.py. Charts
are read in vega_lite_charts.py, groups in fallback_ladder.py, because their members are envelopes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias, overload

from xmcp.render.view import content
from xmcp.render.view.content import CannotShow
from xmcp.render.view.limits import IMAGE_SIDE, INLINE_IMAGE, ITEMS, TABLE_COLUMNS, TABLE_ROWS_ALIGNED, TABLE_ROWS_READ
from xmcp.render.view.numerals import are_numbers, byte_size
from xmcp.render.view.payload_shapes import SHAPES
from xmcp.render.view.picture_size import picture_size
from xmcp.render.view.shapes import fault


def read(kind: str, payload: object) -> content.Content:
    """Return the content of a payload of one of the types in `READERS`.

    Raises:
        CannotShow: The payload does not have the shape of this type, or is too large.
    """
    if fault(SHAPES, kind, payload):
        raise CannotShow("the payload does not have the shape of this type")
    return READERS[kind](payload)


def _table(payload: Any) -> content.Content:
    if isinstance(payload, list):
        keys = dict.fromkeys(key for row in payload[:TABLE_ROWS_READ] for key in row)
        return _grid([{"key": key} for key in keys], payload, {})
    columns = [{"key": column} if isinstance(column, str) else column for column in payload["columns"]]
    width = max((len(row) for row in payload["rows"][:TABLE_ROWS_READ] if isinstance(row, list)), default=0)
    columns += [{"key": ""}] * (width - len(columns))
    return _grid(columns, payload["rows"], payload)


def _grid(
    all_columns: Sequence[Mapping[str, Any]], written: Sequence[list[Any] | dict[str, Any]], table: Mapping[str, Any]
) -> content.Table:
    columns = all_columns[:TABLE_COLUMNS]
    rows = _Rows(written, [column["key"] for column in columns])
    first = rows[:TABLE_ROWS_ALIGNED]
    total_rows = table.get("total_rows")
    return content.Table(
        columns=tuple(
            content.Column(
                title=column.get("title", column["key"]),
                align=column.get("align") or ("right" if are_numbers(row[i] for row in first) else "left"),
                grouped=column.get("type") == "number",
                header=table.get("row_header") == column["key"],
            )
            for i, column in enumerate(columns)
        ),
        rows=rows,
        caption=table.get("caption"),
        total_rows=None if total_rows is None else int(total_rows),
        truncated=table.get("truncated", False),
        further=tuple(column.get("title", column["key"]) for column in all_columns[TABLE_COLUMNS:]),
    )


class _Rows(Sequence[tuple[object, ...]]):
    """The rows of a table, each made when it is asked for: a renderer shows a few of perhaps 400,000."""

    def __init__(self, written: Sequence[list[Any] | dict[str, Any]], keys: Sequence[str]) -> None:
        self._written, self._keys = written, keys

    def __len__(self) -> int:
        return len(self._written)

    @overload
    def __getitem__(self, at: int) -> tuple[object, ...]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[tuple[object, ...]]: ...
    def __getitem__(self, at: int | slice) -> tuple[object, ...] | Sequence[tuple[object, ...]]:
        if isinstance(at, slice):
            return tuple(map(self._cells, self._written[at]))
        return self._cells(self._written[at])

    def _cells(self, row: list[Any] | dict[str, Any]) -> tuple[object, ...]:
        if isinstance(row, dict):
            return tuple(row.get(key) for key in self._keys)
        return (*row[: len(self._keys)], *[None] * (len(self._keys) - len(row)))


def _image(payload: Any) -> content.Content:
    image: Mapping[str, Any] = {"src": payload} if isinstance(payload, str) else payload
    src, width, height = image["src"], image.get("width"), image.get("height")
    if src.startswith("data:"):
        if len(src) * 3 // 4 > INLINE_IMAGE:
            raise CannotShow(f"the picture is longer than {byte_size(INLINE_IMAGE)}")
        across, down = picture_size(src) or (0, 0)
        if max(across, down) > IMAGE_SIDE:
            raise CannotShow(
                f"the picture has {across:,} × {down:,} pixels; at most {IMAGE_SIDE:,} × {IMAGE_SIDE:,} are shown"
            )
    size = None if width is None or height is None else (width, height)
    return content.Image(src, image.get("alt"), image.get("mime"), size)


def _notification(payload: Any) -> content.Content:
    if isinstance(payload, str):
        return content.Notification(payload)
    return content.Notification(payload["message"], payload.get("level", "info"))


def _code(payload: Any) -> content.Content:
    if isinstance(payload, str):
        return content.Code(payload)
    return content.Code(payload["code"], payload.get("language"), payload.get("filename"))


def _facts(payload: Any) -> content.Content:
    if isinstance(payload, dict):
        return content.Facts(tuple(islice(payload.items(), ITEMS)), len(payload))
    return content.Facts(tuple((fact["label"], fact["value"]) for fact in payload[:ITEMS]), len(payload))


def _metrics(payload: Any) -> content.Content:
    metrics = payload if isinstance(payload, list) else [payload]
    return content.Metrics(
        tuple(content.Metric(one["label"], one["value"], one.get("unit"), one.get("delta")) for one in metrics[:ITEMS]),
        len(metrics),
    )


def _file(payload: Any) -> content.Content:
    size = payload.get("size")
    return content.File(payload["uri"], payload.get("name"), payload.get("mime"), None if size is None else int(size))


def _reference(payload: Any) -> content.Content:
    note = (("note", payload["note"]),) if "note" in payload else ()
    return content.Facts((("type", payload["type"]), ("size", byte_size(int(payload["bytes"]))), *note), 2 + len(note))


Reader: TypeAlias = Callable[[Any], content.Content]

READERS: Final[Mapping[str, Reader]] = {
    "text": content.Text,
    "markdown": content.Markdown,
    "html": content.Html,
    "json": content.Json,
    "table": _table,
    "image": _image,
    "notification": _notification,
    "code": _code,
    "facts": _facts,
    "metric": _metrics,
    "file": _file,
    "x-xmcp-reference": _reference,
}
"""The reader of each display type."""
