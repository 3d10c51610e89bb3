"""The values of numpy, pandas, polars, pyarrow, torch and attrs as Python values that have a JSON form.

None of these libraries is imported: a type is recognised by its methods, so that other libraries with the same methods
work as well. A table becomes the list of its rows, an array a list, a missing value None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_FINE_TIMES = ("[ns]", "[ps]", "[fs]", "[as]")
"""Units of numpy times that Python's own have no room for: numpy would write them as bare integers."""
_PANDAS_SCALARS: dict[str, Callable[[Any], Any]] = {"NAType": lambda _: None, "Period": str, "Interval": str}


def library_value(value: Any) -> Any:
    """Return `value`, an object of one of these libraries, one step nearer to JSON.

    Raises:
        TypeError: It is no such object, or one that has no JSON form; the message is a sentence for its author.
    """
    kind = type(value)
    if kind.__module__.partition(".")[0] == "pandas" and kind.__name__ in _PANDAS_SCALARS:
        return _PANDAS_SCALARS[kind.__name__](value)
    for members, write in _WRITERS:
        if all(hasattr(kind, member) for member in members):
            return write(value)
    raise TypeError(f"{kind.__qualname__} has no JSON form")


def _attrs(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in type(value).__attrs_attrs__}


def _rows(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a pandas frame; an index that means something is the first column."""
    try:
        frame = frame.reset_index() if _means_something(frame.index) else frame
    except ValueError as fault:  # a column has the name of the index
        raise TypeError(f"this data frame has no JSON form: {fault}; rename the index or the column") from None
    names = [_name(column) for column in frame.columns]
    if len(set(names)) < len(names):
        raise TypeError("a data frame with two columns of the same name has no JSON form; rename one of them")
    columns = [_cells(frame.iloc[:, position]) for position in range(len(names))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] if names else []


def _series(series: Any) -> Any:
    """Return a pandas series as a list; if its index means something, as an object, or as rows if labels repeat."""
    if not _means_something(series.index):
        return _cells(series)
    if not series.index.is_unique:
        return _rows(series.to_frame("value" if series.name is None else series.name))
    return dict(zip(map(_name, series.index), _cells(series), strict=True))


def _cells(series: Any) -> list[Any]:
    missing = series.isna()
    cells: list[Any] = series.tolist()
    return [None if lacks else cell for cell, lacks in zip(cells, missing, strict=True)] if missing.any() else cells


def _means_something(index: Any) -> bool:
    """Tell whether an index is more than the numbers of the rows."""
    return any(name is not None for name in index.names) or getattr(index.dtype, "kind", "O") not in "iu"


def _name(label: Any) -> str:
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _array(value: Any) -> Any:
    """Return a numpy array or scalar, a torch tensor or a pandas index as a list or a Python scalar."""
    unit = str(value.dtype)
    if unit.endswith(_FINE_TIMES):
        value = value.astype(f"{unit.partition('[')[0]}[us]")
    listed = value.tolist()
    if type(listed) is not type(value):
        return listed
    return complex(value) if value.dtype.kind == "c" else float(value)  # numpy's longest floats stay themselves


_WRITERS: tuple[tuple[tuple[str, ...], Callable[[Any], Any]], ...] = (
    (("__attrs_attrs__",), _attrs),
    (("reset_index", "columns", "iloc"), _rows),
    (("reset_index", "to_frame", "isna"), _series),
    (("to_dicts", "columns"), lambda frame: frame.to_dicts()),  # polars
    (("to_pylist",), lambda column: column.to_pylist()),  # pyarrow
    (("as_py",), lambda scalar: scalar.as_py()),
    (("tolist", "dtype"), _array),
    (("to_list", "dtype"), lambda series: series.to_list()),
    (("tolist", "typecode"), lambda array: array.tolist()),  # array.array
)
"""The members that a type has, and how its values are written; the first match counts."""
