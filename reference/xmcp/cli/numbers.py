"""Numbers on a command line."""

from __future__ import annotations

import math
from typing import Any

import click


class Number(click.FloatRange):
    """A number in a range, which `nan` is not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number.

        Raises:
            click.BadParameter: it is none, or out of the range.
        """
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is no number.", param, ctx)
        return number
