"""Numbers for a person: from numbers to short strings, and the choice of axis ticks.

English conventions (`,` groups, `.` decimals), as the words around them, because an envelope carries no locale of its
reader. The web component, which knows it from its page, writes amounts in that locale instead. Ties are rounded away
from zero, and digits are those of JavaScript, so that every renderer shows the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final, TypeGuard

_BINARY_UNITS: Final = ("B", "KiB", "MiB", "GiB")
_FOUR_DIGITS: Final = Context(prec=4, rounding=ROUND_HALF_UP)
_EXACT: Final = Context(prec=40, rounding=ROUND_HALF_UP)


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether `value` is a JSON number, which a boolean is not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def are_numbers(values: Iterable[object]) -> bool:
    """Tell whether there is a number among `values`, and nothing else but `null`."""
    found = False
    for value in values:
        if value is not None:
            if not is_number(value):
                return False
            found = True
    return found


def as_sent(value: float) -> str:
    """Return a number with the digits that were sent, neither grouped nor rounded: as JSON.stringify writes it."""
    if isinstance(value, int):
        return str(value) if value.bit_length() < 4096 else "(a very long number)"
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if 1e-4 <= abs(value) < 1e15 or not value:  # as most numbers are; Python and JavaScript write the same digits
        return trimmed(float.__repr__(value))
    if 1e-6 <= abs(value) < 1e21:
        return trimmed(format(Decimal(repr(value)), "f"))
    digits, _, exponent = format(Decimal(repr(value)), "e").partition("e")
    return f"{digits}e{exponent}"


def quantity(value: float) -> str:
    """Return an amount: grouped in thousands, at most four decimals (two from 100 on), without trailing zeros."""
    if isinstance(value, int) and abs(value) < 10**15:
        return f"{value:,}"
    try:
        number = float(value)
    except OverflowError:
        return as_sent(value)
    if not math.isfinite(number):
        return as_sent(number)
    if number and not 1e-4 <= abs(number) < 1e15:
        digits, _, exponent = f"{_FOUR_DIGITS.create_decimal(Decimal(number)):.3e}".partition("e")
        return f"{trimmed(digits)}e{exponent}"
    return trimmed(f"{_rounded(number, '0.0001' if abs(number) < 100 else '0.01'):,}")


def _rounded(value: float, unit: str) -> Decimal:
    return Decimal(value).quantize(Decimal(unit), context=_EXACT)


def trimmed(digits: str) -> str:
    """Return decimal `digits` without trailing zeros, and zero without a sign."""
    short = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return "0" if short == "-0" else short


def total(values: Iterable[float]) -> float:
    """Return the sum, added from left to right, so that every renderer gets the same last digit."""
    found = 0.0
    for value in values:
        found += value
    return found


def tenths(value: float) -> float:
    """Return `value` with one decimal."""
    return float(_rounded(value, "0.1"))


def aligned(numbers: Sequence[str]) -> list[str]:
    """Return the numbers padded to the same width, so that their decimal points stand below each other."""
    tails = [len(number) - number.index(".") if "." in number else 0 for number in numbers]
    tail = max(tails, default=0)
    padded = [number + " " * (tail - own) for number, own in zip(numbers, tails, strict=True)]
    width = max(map(len, padded), default=0)
    return [number.rjust(width) for number in padded]


def ticks(low: float, high: float, wanted: int) -> list[float]:
    """Return about `wanted` round values in steps of 1, 2, 2.5 or 5 that enclose `low` and `high`, at least two."""
    if high - low <= max(abs(high), abs(low)) * 1e-9 or high - low < 1e-290:
        margin = max(abs(high), abs(low)) / 2 or 1.0
        low, high = low - margin, high + margin
    raw = high / wanted - low / wanted
    exponent = math.floor(math.log10(raw))
    step = next(step for factor in (1, 2, 2.5, 5, 10) if (step := factor * float(f"1e{exponent}")) >= raw * (1 - 1e-9))
    first, last = math.floor(low / step), math.ceil(high / step)
    decimals = max(0, 1 - exponent)
    return [round(i * step, decimals) if decimals <= 100 else i * step for i in range(first, last + 1)]


def byte_size(size: int) -> str:
    """Return a number of bytes as a person reads it, in binary units."""
    power = min(max(size.bit_length() - 1, 0) // 10, len(_BINARY_UNITS) - 1)
    return f"{quantity(tenths(min(size, 2**60) / 1024**power))} {_BINARY_UNITS[power]}"
