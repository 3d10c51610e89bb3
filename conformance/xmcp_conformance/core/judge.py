"""The judge of all profiles: turns observations into a verdict on each requirement. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Final

from .events import Observed
from .requirements import Requirement, registry


class Status(StrEnum):
    """The verdict on one requirement. Only PASS is green; KNOWN is a failure that a baseline names."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    KNOWN = "known"
    WARN = "warn"
    NOT_OBSERVED = "not observed"


class ExitCode(IntEnum):
    """The exit codes of `xmcp check`."""

    CONFORMS = 0
    DOES_NOT_CONFORM = 1
    USAGE = 2
    SUITE_FAILED = 3


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one requirement: how often it was observed and broken.

    `faults` has the first fault of each tool of a server, or of each case: a trace, a scenario, a vector.
    """

    requirement: Requirement
    status: Status
    occasions: int = 0
    broken: int = 0
    faults: tuple[Observed, ...] = ()

    @property
    def first(self) -> Observed | None:
        """The first fault."""
        return self.faults[0] if self.faults else None

    @property
    def only_warns(self) -> str:
        """Why the faults of a mandatory sentence are warnings; empty where they are none."""
        return self.requirement.only_warns if self.status is Status.WARN else ""


@dataclass(slots=True)
class Tally:
    """What was observed of one requirement: how often it applied and was broken, and the first faults."""

    occasions: int = 0
    broken: int = 0
    faults: dict[str, Observed] = field(default_factory=dict)
    """The first fault of each tool, or of each case."""

    def add(self, observed: Observed, of: str = "") -> None:
        """Count one observation more; it is kept only if it is the first fault `of` a tool or a case."""
        self.occasions += 1
        if not observed.observation.ok:
            self.broken += 1
            self.faults.setdefault(of, observed)

    def judgement(self, requirement: Requirement, *, strict: bool = False) -> Judgement:
        """Return the verdict. `strict`: a broken SHOULD counts as a broken MUST."""
        faults = tuple(self.faults.values())
        status = Status.PASS if self.occasions else Status.NOT_OBSERVED
        if faults:
            status = status_of(faults[0], strict=strict)
        return Judgement(requirement, status, self.occasions, self.broken, faults)


def judge(
    observed: Iterable[Observed], requirements: Iterable[Requirement], *, strict: bool = False
) -> list[Judgement]:
    """Return one judgement for each requirement, in their order.

    Args:
        observed: everything that was observed, in order.
        requirements: the requirements to judge by.
        strict: a broken SHOULD counts as a broken MUST.

    Raises:
        KeyError: an observation is of a requirement that is not among `requirements`.
    """
    by_id = {one.id: (one, Tally()) for one in requirements}
    for item in observed:
        by_id[item.observation.requirement][1].add(item)
    return [tally.judgement(requirement, strict=strict) for requirement, tally in by_id.values()]


def status_of(observed: Observed, *, strict: bool = False) -> Status:
    """Return the verdict on one observation: a fault of a SHOULD is a warning, any other fault a failure.

    So is a fault of a sentence that had no check when this version was released: a new check turns no green job red.

    Args:
        observed: the observation. A fault that stopped the suite is always a failure, even of a SHOULD.
        strict: every fault is a failure.
    """
    if observed.observation.ok:
        return Status.PASS
    requirement = registry().requirements.get(observed.observation.requirement)
    counts = requirement is None or (requirement.mandatory and not requirement.later)
    fails = strict or observed.unread or counts
    return Status.FAIL if fails else Status.WARN


class LevelStatus(StrEnum):
    """The verdict on one level of conformance (section 1.6)."""

    HOLDS = "holds"
    DOES_NOT_HOLD = "does not hold"
    NOT_CLAIMED = "not claimed"


LEVELS: Final = (1, 2)


def level_status(judgements: Sequence[Judgement], level: int) -> LevelStatus:
    """Return the verdict on a level. One above the first is claimed by doing what its own sentences are about."""
    own = [one for one in judgements if one.requirement.from_level == level]
    if level > LEVELS[0] and not any(one.occasions for one in own):
        return LevelStatus.NOT_CLAIMED
    up_to = (one for one in judgements if (one.requirement.from_level or LEVELS[0]) <= level)
    fails = any(one.status in (Status.FAIL, Status.KNOWN) for one in up_to)
    return LevelStatus.DOES_NOT_HOLD if fails else LevelStatus.HOLDS
