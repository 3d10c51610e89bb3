"""What the reader makes of a text: the document, and the observations on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xmcp_conformance.core.observation import Observation

from .errors import ErrorElement


@dataclass(slots=True)
class Document:
    """A tool response. Absent parts are `None`, as are parts that cannot be read; `lossy` has names of elements."""

    tool_name: str = ""
    version: str | None = "1.0"
    llm_output: str | None = None
    display: Any = None
    has_display: bool = False
    error: ErrorElement | None = None
    server_populated: Any = None
    lossy: frozenset[str] = frozenset()


@dataclass(slots=True)
class Reading:
    """A text that was read: the document, `None` where it cannot be read, and what was observed on the way.

    A document is one occasion for a requirement, however often it applies in it: so the observations stay few.
    """

    document: Document | None = None
    observations: list[Observation] = field(default_factory=list)

    @property
    def faultless(self) -> bool:
        """True where no requirement was broken."""
        return all(observation.ok for observation in self.observations)
