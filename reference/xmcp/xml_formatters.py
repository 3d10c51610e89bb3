"""Formatters: functions `(data, indent_level) -> str` that write data as the text a model reads in `llm_output`.

Without one, a model reads the JSON that FastMCP writes, which costs it the fewest tokens. `NAMED_FORMATTERS` has those
that every server knows by name. A formatter can have an attribute `media_type`; without one it writes XML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

__all__ = [
    "NAMED_FORMATTERS",
    "DataFormatter",
    "DeclarativeXMLFormatter",
    "Field",
    "XMLFormatter",
    "default_formatter",
]


class XMLFormatter(Protocol):
    """Any callable that writes data as the text that a model reads.

    `data` is the result of the tool as JSON (dicts, lists, strings, numbers); `indent_level` is the depth of the
    outermost element, two spaces each.
    """

    def __call__(self, data: Any, indent_level: int, /) -> str:
        """Return the text; XML without a declaration."""


Field = str | Mapping[str, "Sequence[Field]"]
"""A member to keep: `"name"`, a member of a member `"customer.name"`, or several `{"customer": ["name", "city"]}`."""

_Selection = dict[str, "_Selection | None"]
"""Names of members to keep, in their order; `None` keeps all of a member."""

ROOT: Final = "result"
ENTRY: Final = "item"
INDENT: Final = "  "

# Any other key could change the structure, so it becomes the value of an attribute.
_SAFE_NAME: Final = re.compile(r"(?!xml)[A-Za-z_][A-Za-z0-9_.-]*", re.IGNORECASE | re.ASCII)

# A bare carriage return would reach the reader as a line feed (XML 1.0, 2.11).
_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
)


def default_formatter(data: Any, indent_level: int = 0) -> str:
    """Write every key and value of `data` as nested elements, in their order, under one `<result>`.

    `data` is anything that pydantic can convert to JSON (mappings, sequences, models, dataclasses, scalars); other
    objects are written as `str(object)`. A list entry is an `<item>`; a key that is not a safe element name (`a b`,
    `1`, `xml…`, `a:b`) becomes `<item key="…">`. Booleans, numbers and None are written as JSON literals, NaN and the
    infinities as `null`.
    `indent_level` is the depth of the root, two spaces each.

    Characters that XML 1.0 cannot carry are kept in the text: the encoder of `xmcp.wire` replaces them and marks the
    response as lossy.

    Raises:
        ValueError: `data` contains itself, or is nested too deep to be serialised (about 250 levels).
    """
    return "\n".join(_lines(ROOT, ROOT, _as_json(data), indent_level))


class DeclarativeXMLFormatter:
    """Writes only the selected members of the data, in the order of the selection.

    Select them in a subclass, or in the constructor:

    - `top_level_fields`: the members of the data to keep; of a list, those of each entry. Default: all.
    - `results_list_field`: the member that holds the list of results; it is always kept.
    - `result_item_fields`: the members to keep of each result in that list. Default: all.
    - `root`: the name of the outermost element.

    A `Field` can select inside a member, at every level, also through lists. A member that the data does not have is
    left out. Names that are not safe element names are written as by `default_formatter`.
    """

    root: str = ROOT
    top_level_fields: Sequence[Field] | None = None
    results_list_field: str | None = None
    result_item_fields: Sequence[Field] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse an attribute that looks like a selection but is unknown: a typing error would keep everything.

        Raises:
            TypeError: An attribute `…_field` or `…_fields` has another name than those above.
        """
        super().__init_subclass__(**options)
        known = ("top_level_fields", "results_list_field", "result_item_fields")
        for name in vars(cls):
            if name.endswith(("_field", "_fields")) and not name.startswith("_") and name not in known:
                raise TypeError(f"{cls.__name__} declares {name!r}; the attributes are {', '.join(known)}.")

    def __init__(
        self,
        *,
        top_level_fields: Sequence[Field] | None = None,
        results_list_field: str | None = None,
        result_item_fields: Sequence[Field] | None = None,
        root: str | None = None,
    ) -> None:
        """Create a formatter; an argument overrides the attribute of the class.

        Raises:
            TypeError: Fields are not a list of `Field`, or `results_list_field` is not a name.
            ValueError: `root` is not an element name, or `result_item_fields` is given without `results_list_field`.
        """
        top = self.top_level_fields if top_level_fields is None else top_level_fields
        items = self.result_item_fields if result_item_fields is None else result_item_fields
        results = self.results_list_field if results_list_field is None else results_list_field
        self.root = self.root if root is None else root
        if not _SAFE_NAME.fullmatch(self.root):
            raise ValueError(f"root must be the name of an element, not {self.root!r}.")
        if results is not None and not isinstance(results, str):
            raise TypeError(f"results_list_field must be the name of one member, not {results!r}.")
        if items is not None and results is None:
            raise ValueError("result_item_fields needs results_list_field: the member that holds the list of results.")
        selection = None if top is None else _selection("top_level_fields", top)
        of_items = None if items is None else _selection("result_item_fields", items)
        self._results, self._of_items = results, of_items
        if results is not None and selection is not None:
            selection[results] = of_items
        self._selection = selection

    def keeps(self, data: Any) -> bool:
        """Tell whether the selection keeps anything of `data`, or nothing is there to select from."""
        value = _as_json(data)
        objects = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, Mapping) and one]
        return not objects or any(_kept(one, self._selection) for one in objects)

    def __call__(self, data: Any, indent_level: int = 0) -> str:
        """Return the XML of the selected members of `data`."""
        kept = _kept(_as_json(data), self._selection)
        if self._selection is None and self._results is not None and isinstance(kept, Mapping):
            kept = {name: _kept(part, self._of_items) if name == self._results else part for name, part in kept.items()}
        return "\n".join(_lines(self.root, self.root, kept, indent_level))


def _json_text(data: Any) -> str:
    return _JSONText(_json(_as_json(data)))


def _table_text(data: Any) -> str:
    """Return rows as a Markdown table, so that the names of the columns stand there once.

    Rows are a list of objects, also as members of an object, whose other members stand before them as `name: value`. A
    member that a row does not have is an empty cell; an object or a list in a cell is JSON. Other data, and rows that
    have few columns in common, are written as JSON.
    """
    value = _as_json(data)
    if (table := _table(value)) is not None:
        return table
    tables = {name: _table(part) for name, part in value.items()} if isinstance(value, Mapping) else {}
    if not any(tables.values()):
        return _JSONText(_json(value))
    lines = [f"{_cell(name)}: {_cell(part)}" for name, part in value.items() if tables[name] is None]
    return "\n\n".join(
        ["\n".join(lines)] * bool(lines) + [f"{_cell(name)}:\n\n{table}" for name, table in tables.items() if table]
    )


class _JSONText(str):
    """A text that is JSON, whatever else its formatter writes."""

    media_type: Final = "application/json"


class DataFormatter:
    """A formatter of objects and lists only: a text, a number or a display stays what it is without a formatter."""

    def __init__(self, write: Callable[[Any], str], media_type: str) -> None:
        self._write = write
        self.media_type = media_type

    def __call__(self, data: Any, indent_level: int = 0) -> str:  # noqa: ARG002 - its text is outermost
        """Return the text of `data`."""
        return self._write(data)


NAMED_FORMATTERS: Final[Mapping[str, DataFormatter]] = {
    "json": DataFormatter(_json_text, "application/json"),
    "table": DataFormatter(_table_text, "text/markdown"),
    "xml": DataFormatter(default_formatter, "application/xml"),
}
"""Those that every server knows. A formatter of your own with the same name comes first."""

MOST_EMPTY: Final = 4
"""Maximum number of cells for each value of a table: more would be mostly empty, and cost more than its size."""


def _table(rows: Any) -> str | None:
    """Return rows as a Markdown table; None if they are not rows, or have few columns in common."""
    if not _are_rows(rows):
        return None
    columns = [*dict.fromkeys(name for row in rows for name in row)]
    if not columns or len(columns) * len(rows) > MOST_EMPTY * sum(map(len, rows)):
        return None
    lines = [[_cell(name) for name in columns], ["---"] * len(columns)]
    lines += [[_cell(row[name]) if name in row else "" for name in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else _json(value)
    return _END_OF_LINE.sub("<br>", text.replace("|", "\\|"))


_END_OF_LINE: Final = re.compile(r"\r\n|\r|\n")


def _json(value: Any) -> str:
    try:
        return to_json(value, inf_nan_mode="null", fallback=str).decode()
    except PydanticSerializationError:  # a lone surrogate
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _as_json(data: Any) -> Any:
    with suppress(UnicodeEncodeError):  # a key with a lone surrogate, which pydantic cannot convert
        return to_jsonable_python(data, fallback=str, inf_nan_mode="null")
    return data


def _selection(where: str, fields: Any) -> _Selection:
    if isinstance(fields, str | Mapping) or not isinstance(fields, Sequence):
        raise TypeError(f'{where} must be a list of names, such as ["city", "customer.name"], not {fields!r}.')
    selection: _Selection = {}
    for field in fields:
        if isinstance(field, str):
            _keep(selection, field.split("."))
        elif isinstance(field, Mapping):
            for name, inner in field.items():
                selection[name] = _merged(selection.get(name, {}), _selection(where, inner))
        else:
            raise TypeError(f"{where} must hold names, or mappings of a name to fields, not {field!r}.")
    return selection


def _keep(selection: _Selection, path: Sequence[str]) -> None:
    name, *rest = path
    if not rest:
        selection[name] = None
        return
    inner = selection.setdefault(name, {})
    if inner is not None:  # None: all of it is kept already
        _keep(inner, rest)


def _merged(one: _Selection | None, other: _Selection) -> _Selection | None:
    return None if one is None else {**one, **other}


def _kept(value: Any, selection: _Selection | None) -> Any:
    if selection is None:
        return value
    match value:
        case Mapping():
            return {name: _kept(value[name], inner) for name, inner in selection.items() if name in value}
        case Sequence() if not isinstance(value, str):
            return [_kept(entry, selection) for entry in value]
        case _:
            return value


def _lines(opening: str, name: str, value: Any, level: int) -> Iterator[str]:
    indent = INDENT * level
    match value:
        case Mapping() if value:
            yield f"{indent}<{opening}>"
            for key, entry in value.items():
                yield from _lines(*_tag(str(key)), entry, level + 1)
            yield f"{indent}</{name}>"
        case Sequence() if value and not isinstance(value, str):
            yield f"{indent}<{opening}>"
            for entry in value:
                yield from _lines(ENTRY, ENTRY, entry, level + 1)
            yield f"{indent}</{name}>"
        case _:
            yield f"{indent}<{opening}>{_leaf(value)}</{name}>"


def _tag(key: str) -> tuple[str, str]:
    """Return the content of the opening and of the closing tag of an entry under `key`."""
    if _SAFE_NAME.fullmatch(key):
        return key, key
    return f'{ENTRY} key="{key.translate(_ATTRIBUTE)}"', ENTRY


def _leaf(value: Any) -> str:
    if isinstance(value, str):
        return value.translate(_TEXT)
    if isinstance(value, Mapping | Sequence):
        return ""  # an empty mapping or list is an empty element
    return json.dumps(value, default=str)
