"""JSON bytes of values that came from JSON."""

from __future__ import annotations

import json
from typing import Any

import orjson


def encode_json(value: Any) -> bytes:
    """JSON bytes of what came from JSON; integers beyond 64 bits and lone surrogates take the slower, tolerant way.

    Raises:
        TypeError: `value` holds something JSON has no word for.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()
