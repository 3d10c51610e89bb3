"""A figure of the bench: a ratio to a floor, with the bar that it must not miss."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """A measured value and its bar: the maximum, or the minimum if `at_least`. `rest` holds further figures."""

    name: str
    value: float
    bar: float | None
    rest: str
    at_least: bool = False
