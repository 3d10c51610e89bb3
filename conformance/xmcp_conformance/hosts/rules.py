"""The rules of hosts as typed values, read from `hosts.json`. What each member means, `hosts.schema.json` says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

FILE: Final = Path(__file__).with_name("hosts.json")
SCHEMA: Final = Path(__file__).with_name("hosts.schema.json")

Structured: TypeAlias = Literal[
    "ignored",
    "replaces_text",
    "replaces_text_alone",
    "replaces_content",
    "if_no_content",
    "if_no_text",
    "beside_content",
]
"""What becomes of `structuredContent` before the model."""

SEEN: Final = "seen"
DROPPED: Final = "dropped"
UNKNOWN: Final = "unknown"
FAILS: Final = "fails"
SEEN_WITH: Final = "seen+"


@dataclass(frozen=True, slots=True)
class ModelRule:
    """What of a result the model gets."""

    structured: Structured
    blocks: Mapping[str, str]
    join: str = "\n"
    parts: bool = False
    before: str = ""
    json: Literal["compact", "spaced", "indented"] = "compact"
    user_only: Literal["given", "kept_from_model", "unknown"] = "given"
    to_person: Sequence[str] = ()
    shown_note: Mapping[str, str] = field(default_factory=dict)
    result: str = "{content}"
    error: str = "{content}"
    error_structured: Structured | None = None
    error_blocks: Literal["all", "first"] = "all"
    error_marked: bool | Literal["unknown"] = False
    reads_errors: bool = False
    empty: str = ""
    error_empty: str | None = None
    escape: Literal["none", "xml"] = "none"
    meta: bool = False
    most_characters: int | None = None
    preview: int | None = None
    documents: bool = False


@dataclass(frozen=True, slots=True)
class Host:
    """A host: whose rule it is, how sure it is, and what model and person get."""

    name: str
    title: str
    version: str
    date: str
    status: Literal["verified", "reported"]
    evidence: tuple[str, ...]
    model: ModelRule
    person: frozenset[str]
    declares_xmcp: bool = False
    note: str = ""


@cache
def hosts() -> tuple[Host, ...]:
    """Return every host of the data file, in its order."""
    return tuple(host_of(entry) for entry in json.loads(FILE.read_text(encoding="utf-8"))["hosts"])


def host_of(entry: Mapping[str, Any]) -> Host:
    """Return a host from an entry that is valid under `hosts.schema.json`."""
    members = {**entry, "evidence": tuple(entry["evidence"]), "person": frozenset(entry["person"])}
    return Host(**{**members, "model": ModelRule(**entry["model"])})
