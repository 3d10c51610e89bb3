"""From a payload to its content: one reader for each display type (spec section 3.2).

The shapes are the generated models, so that the schema stays the only definition of a valid payload. Charts are read in
vega_lite_charts.py, groups in fallback_ladder.py, because their members are envelopes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, TypeGuard, cast

from pydantic import TypeAdapter, ValidationError

from xmcp.render.view import content
from xmcp.render.view.content import CannotShow
from xmcp_models import display_envelope as models

_OBJECT_ROWS: TypeAdapter[models.Table | list[dict[str, Any]]] = TypeAdapter(models.Table | list[dict[str, Any]])
_IMAGE: TypeAdapter[models.ImageUri | models.Image] = TypeAdapter(models.ImageUri | models.Image)
_NOTIFICATION: TypeAdapter[str | models.Notification] = TypeAdapter(str | models.Notification)
_CODE: TypeAdapter[str | models.Code] = TypeAdapter(str | models.Code)
_FACTS: TypeAdapter[dict[str, models.Scalar] | list[models.Fact]] = TypeAdapter(
    dict[str, models.Scalar] | list[models.Fact]
)
_METRICS: TypeAdapter[models.Metric | list[models.Metric]] = TypeAdapter(models.Metric | list[models.Metric])
_FILE: TypeAdapter[models.File] = TypeAdapter(models.File)
_STRING: TypeAdapter[str] = TypeAdapter(str)
_JSON: TypeAdapter[dict[str, Any] | list[Any] | str] = TypeAdapter(dict[str, Any] | list[Any] | str)


def _shaped(adapter: TypeAdapter[Any], payload: object) -> Any:
    try:
        return adapter.validate_python(payload, strict=True)
    except (ValidationError, RecursionError):
        raise CannotShow("the payload does not have the shape of this type") from None


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether `value` is a JSON number, which a boolean is not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(payload: object) -> content.Content:
    return content.Text(_shaped(_STRING, payload))


def _markdown(payload: object) -> content.Content:
    return content.Markdown(_shaped(_STRING, payload))


def _html(payload: object) -> content.Content:
    return content.Html(_shaped(_STRING, payload))


def _json(payload: object) -> content.Content:
    return content.Json(_shaped(_JSON, payload))


def _table(payload: object) -> content.Content:
    shape = _shaped(_OBJECT_ROWS, payload)
    if isinstance(shape, list):
        keys = list(dict.fromkeys(key for row in shape for key in row))
        return _grid([models.Column(key=key) for key in keys], [[row.get(key) for key in keys] for row in shape])
    columns = [models.Column(key=column) if isinstance(column, str) else column for column in shape.columns]
    rows = [
        [row.get(column.key) for column in columns] if isinstance(row, Mapping) else list(row) for row in shape.rows
    ]
    width = max(map(len, rows), default=0)
    columns += [models.Column(key="")] * (width - len(columns))
    return _grid(columns, rows, shape)


def _grid(columns: list[models.Column], rows: list[list[Any]], shape: models.Table | None = None) -> content.Table:
    rows = [row + [None] * (len(columns) - len(row)) for row in rows]
    return content.Table(
        columns=tuple(
            content.Column(
                title=column.title if column.title is not None else column.key,
                align=column.align or ("right" if _all_numbers(row[i] for row in rows) else "left"),
                grouped=column.type == "number",
                header=shape is not None and shape.row_header == column.key,
            )
            for i, column in enumerate(columns)
        ),
        rows=tuple(map(tuple, rows)),
        caption=shape.caption if shape else None,
        total_rows=shape.total_rows if shape else None,
        truncated=bool(shape and shape.truncated),
    )


def _all_numbers(values: Iterable[object]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(map(is_number, present))


def _image(payload: object) -> content.Content:
    shape = _shaped(_IMAGE, payload)
    if isinstance(shape, models.ImageUri):
        return content.Image(src=shape.root)
    size = (shape.width, shape.height) if shape.width and shape.height else None
    return content.Image(src=shape.src.root, alt=shape.alt, mime=shape.mime, size=size)


def _notification(payload: object) -> content.Content:
    shape = _shaped(_NOTIFICATION, payload)
    if isinstance(shape, str):
        return content.Notification(shape)
    level: Literal["info", "success", "warning", "error"] = shape.level or "info"
    return content.Notification(shape.message, level)


def _code(payload: object) -> content.Content:
    shape = _shaped(_CODE, payload)
    return content.Code(shape) if isinstance(shape, str) else content.Code(shape.code, shape.language, shape.filename)


def _facts(payload: object) -> content.Content:
    _shaped(_FACTS, payload)
    if isinstance(payload, dict):
        return content.Facts(tuple(payload.items()))
    return content.Facts(tuple((fact["label"], fact["value"]) for fact in cast("list[dict[str, Any]]", payload)))


def _metrics(payload: object) -> content.Content:
    shape = _shaped(_METRICS, payload)
    return content.Metrics(
        tuple(
            content.Metric(metric.label, metric.value, metric.unit, metric.delta)
            for metric in (shape if isinstance(shape, list) else [shape])
        )
    )


def _file(payload: object) -> content.Content:
    shape = _shaped(_FILE, payload)
    return content.File(shape.uri, shape.name, shape.mime, shape.size)


Reader: TypeAlias = Callable[[object], content.Content]

READERS: Mapping[str, Reader] = {
    "text": _text,
    "markdown": _markdown,
    "html": _html,
    "json": _json,
    "table": _table,
    "image": _image,
    "notification": _notification,
    "code": _code,
    "facts": _facts,
    "metric": _metrics,
    "file": _file,
}
"""The reader of each display type. It raises `CannotShow` if the payload does not fit."""
