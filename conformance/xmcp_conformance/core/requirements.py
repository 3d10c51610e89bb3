"""The registry of requirements: every normative sentence of the specification, by its id. Data only, no checks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from xmcp_models import DATA


@dataclass(frozen=True, slots=True)
class Requirement:
    """One normative sentence.

    `from_level` is the level of conformance from which it holds (section 1.6), `None` where there are no levels.
    `verified_by` names the means that can find it broken: `server`, `fixture`, `vectors`, `document`, `client` or
    `gateway`. Where it is empty, `excluded` says why, or `status` is `pending`: it is specified, and nothing
    implements it yet.
    `later`: its first check came after the release of this version, and so a fault is a warning until the next one.
    """

    id: str
    level: str
    role: str
    section: str
    quote: str
    from_level: int | None = None
    verified_by: tuple[str, ...] = ()
    excluded: str | None = None
    status: str | None = None
    later: bool = False

    @property
    def mandatory(self) -> bool:
        """True for MUST and MUST NOT, false for SHOULD, SHOULD NOT and MAY."""
        return self.level.startswith("MUST")

    @property
    def only_warns(self) -> str:
        """Why a fault of it counts as a warning, although it is mandatory; empty for any other requirement."""
        is_later = self.later and self.mandatory
        return f"its check came after the release of {registry().version}" if is_later else ""


@dataclass(frozen=True, slots=True)
class Registry:
    """The requirements of one version of the specification, in the order of the text."""

    version: str
    requirements: dict[str, Requirement]

    def verified_by(self, means: str) -> list[Requirement]:
        """Return the requirements that `means`, such as `server` or `fixture`, can find broken."""
        return [requirement for requirement in self.requirements.values() if means in requirement.verified_by]


@cache
def registry() -> Registry:
    """Return the registry that this suite was built with."""
    raw = json.loads((DATA / "requirements.json").read_text(encoding="utf-8"))
    rows = [Requirement(**{**row, "verified_by": tuple(row.get("verified_by", ()))}) for row in raw["requirements"]]
    return Registry(raw["version"], {row.id: row for row in rows})
