"""The result of reading a text: the document, and the observations made while reading."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xmcp_conformance.core.observation import Observation

from .checks.error_element import ErrorElement


@dataclass(slots=True)
class Document:
    """A tool response. Parts that are absent or cannot be read are `None`.

    `format` is the media type of `llm_output`. `lossy` has the names of the elements that are marked `lossy`;
    `truncated` says whether `llm_output` is marked so.
    """

    tool_name: str = ""
    version: str | None = "1.0"
    call_id: str | None = None
    llm_output: str | None = None
    format: str | None = None
    display: Any = None
    has_display: bool = False
    error: ErrorElement | None = None
    server_populated: Any = None
    lossy: frozenset[str] = frozenset()
    truncated: bool = False


@dataclass(slots=True)
class Reading:
    """A document (`None` if the text cannot be read) and the observations made while it was read.

    A requirement counts once per document, even if it applies several times; this keeps the list of observations short.
    """

    document: Document | None = None
    observations: list[Observation] = field(default_factory=list)

    @property
    def faultless(self) -> bool:
        """Whether no requirement was broken."""
        return all(observation.ok for observation in self.observations)
