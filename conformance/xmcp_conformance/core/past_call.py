"""A call of an earlier run, as its report keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PastCall:
    """The name and the arguments of the call, and the kind of client that made it."""

    name: str
    arguments: dict[str, Any]
    protocol_version: str
    client: str
