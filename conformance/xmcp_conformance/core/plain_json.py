"""JSON values of a peer as JSON that every program reads: a number beyond a double is none there."""

from __future__ import annotations

import math
from typing import Any


def plain(value: Any) -> Any:
    """Return a value with `Infinity`, `-Infinity` and `NaN` as texts: JSON has no such numbers."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
    return value
