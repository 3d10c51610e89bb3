"""How a value becomes the XML a model reads in `llm_output`.

Formatters live here: functions `(data, indent_level) -> str`. They turn data into text and nothing
else; wrapping that text into a response document is the business of `xmcp.wire`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

from pydantic_core import to_jsonable_python

__all__ = ["DeclarativeXMLFormatter", "Field", "XMLFormatter", "default_formatter"]


class XMLFormatter(Protocol):
    """Whatever turns data into the XML that a model reads.

    `data` is what the tool returned, as JSON has it (dicts, lists, strings, numbers); `indent_level` the depth
    of the outermost element, two spaces each.
    """

    def __call__(self, data: Any, indent_level: int, /) -> str:
        """Return the XML, without a declaration."""


Field = str | Mapping[str, "Sequence[Field]"]
"""A member to keep: `"name"`; `"customer.name"`, a member of a member; or `{"customer": ["name", "city"]}`, several."""

_Selection = dict[str, "_Selection | None"]
"""Names of members to keep, in their order; `None` keeps all of a member."""

ROOT: Final = "result"
ENTRY: Final = "item"
INDENT: Final = "  "

# wire.md vector 32: any other key could change the structure, so it becomes an attribute value.
_SAFE_NAME: Final = re.compile(r"(?!xml)[A-Za-z_][A-Za-z0-9_.-]*", re.IGNORECASE | re.ASCII)

# A bare carriage return would reach the reader as a line feed (XML 1.0, 2.11).
_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_ATTRIBUTE: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
)


def default_formatter(data: Any, indent_level: int = 0) -> str:
    """Write every key and value of `data` as nested elements, in their order, under one `<result>`.

    `data` is anything pydantic can turn into JSON (mappings, sequences, models, dataclasses,
    scalars); other objects appear as `str(object)`. A list entry is an `<item>`; a key that is no
    safe element name (`a b`, `1`, `xml…`, `a:b`) is `<item key="…">`. Booleans, numbers and `None`
    are written as JSON literals. `indent_level` is the depth of the root, two spaces each.

    Characters that XML 1.0 cannot carry stay in the text: the encoder of `xmcp.wire` replaces them
    and marks the response as lossy.

    Raises:
        ValueError: `data` contains itself, or is nested too deep to be serialised (about 250 levels).
    """
    return "\n".join(_lines(ROOT, ROOT, _as_json(data), indent_level))


class DeclarativeXMLFormatter:
    """Writes only the members of the data that are named, in the order in which they are named.

    Name them in a subclass, or give them to the constructor:

    - `top_level_fields`: the members of the data to keep; of a list, those of each entry. All, if not set.
    - `results_list_field`: the member that holds the list of results; it is kept in any case.
    - `result_item_fields`: the members of each result in that list to keep. All, if not set.
    - `root`: the name of the outermost element.

    A `Field` can select inside of a member, at every level; lists on the way are walked. A member that the data
    does not have is left out. Names that are no safe element names are written as by `default_formatter`.
    """

    root: str = ROOT
    top_level_fields: Sequence[Field] | None = None
    results_list_field: str | None = None
    result_item_fields: Sequence[Field] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse what looks like a declaration and is none: a typing error would keep everything.

        Raises:
            TypeError: an attribute `…_field` or `…_fields` of another name than those above.
        """
        super().__init_subclass__(**options)
        known = ("top_level_fields", "results_list_field", "result_item_fields")
        for name in vars(cls):
            if name.endswith(("_field", "_fields")) and not name.startswith("_") and name not in known:
                raise TypeError(f"{cls.__name__} declares {name!r}; there are {', '.join(known)}.")

    def __init__(
        self,
        *,
        top_level_fields: Sequence[Field] | None = None,
        results_list_field: str | None = None,
        result_item_fields: Sequence[Field] | None = None,
        root: str | None = None,
    ) -> None:
        """Take what is given instead of what the class says.

        Raises:
            TypeError: fields that are no list of `Field`, or a root or a list field that is no name.
            ValueError: `result_item_fields` without the `results_list_field` that they are about.
        """
        top = self.top_level_fields if top_level_fields is None else top_level_fields
        items = self.result_item_fields if result_item_fields is None else result_item_fields
        results = self.results_list_field if results_list_field is None else results_list_field
        self.root = self.root if root is None else root
        if not _SAFE_NAME.fullmatch(self.root):
            raise ValueError(f"root is {self.root!r}, which is no element name.")
        if results is not None and not isinstance(results, str):
            raise TypeError(f"results_list_field is {results!r}; it takes the name of one member.")
        if items is not None and results is None:
            raise ValueError("result_item_fields needs results_list_field: the member that holds the list of results.")
        selection = None if top is None else _selection("top_level_fields", top)
        of_items = None if items is None else _selection("result_item_fields", items)
        self._results, self._of_items = results, of_items
        if results is not None and selection is not None:
            selection[results] = of_items
        self._selection = selection

    def __call__(self, data: Any, indent_level: int = 0) -> str:
        """Return the XML of what is kept of `data`."""
        kept = _kept(_as_json(data), self._selection)
        if self._selection is None and self._results is not None and isinstance(kept, Mapping):
            kept = {name: _kept(part, self._of_items) if name == self._results else part for name, part in kept.items()}
        return "\n".join(_lines(self.root, self.root, kept, indent_level))


def _as_json(data: Any) -> Any:
    with suppress(UnicodeEncodeError):  # of a key with a lone surrogate, which pydantic cannot convert
        return to_jsonable_python(data, fallback=str)
    return data


def _selection(where: str, fields: Any) -> _Selection:
    if isinstance(fields, str | Mapping) or not isinstance(fields, Sequence):
        raise TypeError(f'{where} is {fields!r}; it takes a list of names, such as ["city", "customer.name"].')
    selection: _Selection = {}
    for field in fields:
        if isinstance(field, str):
            _keep(selection, field.split("."))
        elif isinstance(field, Mapping):
            for name, inner in field.items():
                selection[name] = _merged(selection.get(name, {}), _selection(where, inner))
        else:
            raise TypeError(f"{where} has {field!r}; a field is a name or a mapping of a name to fields.")
    return selection


def _keep(selection: _Selection, path: Sequence[str]) -> None:
    name, *rest = path
    if not rest:
        selection[name] = None
        return
    inner = selection.setdefault(name, {})
    if inner is not None:  # else all of it is kept already
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
    """Return what stands in the opening and in the closing tag of an entry under `key`."""
    if _SAFE_NAME.fullmatch(key):
        return key, key
    return f'{ENTRY} key="{key.translate(_ATTRIBUTE)}"', ENTRY


def _leaf(value: Any) -> str:
    if isinstance(value, str):
        return value.translate(_TEXT)
    if isinstance(value, Mapping | Sequence):
        return ""  # an empty mapping or list: the element alone says it
    return json.dumps(value, default=str)
