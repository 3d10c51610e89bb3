"""Numbers for a person: from numbers to short strings, and the choice of axis ticks.

English conventions (`,` groups, `.` decimals), because an envelope carries no locale.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

_BINARY_UNITS = ("B", "KiB", "MiB", "GiB")


def as_sent(value: float) -> str:
    """Return a number as JSON: the digits that were sent, neither grouped nor rounded."""
    try:
        return json.dumps(value)
    except ValueError:
        return "(a number of more than 4300 digits)"


def quantity(value: float) -> str:
    """Return an amount: grouped in thousands, at most four decimals (two from 100 on), without trailing zeros."""
    if isinstance(value, int) and abs(value) < 10**15:
        return f"{value:,}"
    try:
        number = float(value)
    except OverflowError:
        return as_sent(value)
    if not math.isfinite(number):
        return str(number)
    if number and not 1e-4 <= abs(number) < 1e15:
        return f"{number:.4g}"
    return trimmed(f"{number:,.{4 if abs(number) < 100 else 2}f}")


def trimmed(digits: str) -> str:
    """Return decimal `digits` without trailing zeros, and zero without a sign."""
    short = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return "0" if short == "-0" else short


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
    step = next(step for factor in (1, 2, 2.5, 5, 10) if (step := factor * 10.0**exponent) >= raw * (1 - 1e-9))
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(i * step, max(0, 1 - exponent)) for i in range(first, last + 1)]


def byte_size(size: int) -> str:
    """Return a number of bytes as a person reads it, in binary units."""
    power = min(max(size.bit_length() - 1, 0) // 10, len(_BINARY_UNITS) - 1)
    return f"{quantity(round(min(size, 2**60) / 1024**power, 1))} {_BINARY_UNITS[power]}"
