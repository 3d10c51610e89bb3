"""Vectors of documents with JSON at the border of a schema: only an envelope beyond it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from random import Random
from typing import Any, Final

from .document_tree import Response, written
from .schema_borders import allowed, broken
from .vectors import Vector


def schemas_as_read(seed: int) -> Iterator[Vector]:
    """Yield vectors of the direction decode without end, the same for the same seed."""
    random = Random(f"as read {seed}")  # noqa: S311 - no secret
    rows = [*_rows()]
    random.shuffle(rows)
    for number, (requirement, response, refused) in enumerate(cycle(rows), 1):
        case: dict[str, Any] = {"document": str(written(response, random)), "expect": {"response": response}}
        if refused:
            case["expect"] = {"error": "BAD_ENVELOPE"}
            if random.random() < _DROPPED:
                rest = {name: value for name, value in response.items() if name != "display"}
                case |= {"bad_display": "drop", "expect": {"response": rest, "warnings": 1}}
        yield Vector(f"read-{number}", 0, "decode", (requirement,), case)


_DROPPED: Final = 0.3
_MANY: Final = 2_000
_ERROR: Final = {"code": "X", "message": "m", "retryable": False, "category": "internal"}


def _rows() -> Iterator[tuple[str, Response, bool]]:
    """Yield a sentence, a response, and whether its display is no envelope."""
    for refused, some in ((True, broken), (False, allowed)):
        for envelope in some("display_envelope"):
            yield "XMCP-DSP-008", {"tool_name": "t", "llm_output": "a", "display": envelope}, refused
        for value in some("error_meta"):
            if isinstance(value, dict):
                yield "XMCP-ERR-009", {"tool_name": "t", "error": {**_ERROR, "meta": value}}, False
        for value in some("server_populated"):
            if isinstance(value, dict):
                yield "XMCP-RSP-086", {"tool_name": "t", "llm_output": "a", "server_populated": value}, False
    many: tuple[Any, ...] = ([*range(_MANY)], {f"a{number}": number for number in range(_MANY)}, [[]] * _MANY)
    for payload in many:
        envelope = {"type": "json", "payload": payload}
        yield "XMCP-RSP-086", {"tool_name": "t", "llm_output": "a", "display": envelope}, False
        yield "XMCP-RSP-086", {"tool_name": "t", "error": {**_ERROR, "meta": {"params": {"a": payload}}}}, False
