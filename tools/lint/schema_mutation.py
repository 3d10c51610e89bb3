"""A mutation: a schema with one rule altered, and the function that judges examples by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Judge = Callable[[Any], bool]
"""Return True if a parsed example is valid."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A schema with one rule altered. `judge` compiles it, which takes time."""

    name: str
    judge: Callable[[], Judge]
