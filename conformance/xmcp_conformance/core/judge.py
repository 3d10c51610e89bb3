"""From observations to a verdict: which requirement was obeyed, broken, or never met. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from .observation import Observation
from .requirements import Registry, Requirement


class Status(StrEnum):
    """What a run says of one requirement. Only PASS is green."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    WARN = "warn"
    NOT_OBSERVED = "not observed"


class ExitCode(IntEnum):
    """What `xmcp check` returns."""

    CONFORMS = 0
    DOES_NOT_CONFORM = 1
    USAGE = 2
    SUITE_FAILED = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """An observation with where it was made: the run (peer and era), and the call, if there was one."""

    observation: Observation
    run: str
    call: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One requirement after all runs: on how many occasions it applied, and the first that broke it."""

    requirement: Requirement
    status: Status
    occasions: int = 0
    broken: int = 0
    first: Evidence | None = None


def judge(evidence: Iterable[Evidence], registry: Registry, *, strict: bool = False) -> list[Judgement]:
    """One judgement for each requirement that a server check verifies, in the order of the text.

    Args:
        evidence: everything that was observed, in order.
        registry: the requirements.
        strict: a broken SHOULD counts as a broken MUST.

    Raises:
        KeyError: an observation names a requirement that the registry does not verify by server checks.
    """
    by_id: dict[str, list[Evidence]] = {requirement.id: [] for requirement in registry.verified_by("server")}
    for item in evidence:
        by_id[item.observation.requirement].append(item)
    judgements = []
    for id_, items in by_id.items():
        requirement = registry.requirements[id_]
        failures = [item for item in items if not item.observation.ok]
        if failures:
            status = Status.FAIL if requirement.mandatory or strict else Status.WARN
        else:
            status = Status.PASS if items else Status.NOT_OBSERVED
        judgements.append(Judgement(requirement, status, len(items), len(failures), failures[0] if failures else None))
    return judgements


def conforms(judgements: Iterable[Judgement], answers: int) -> bool:
    """True when nothing failed, and at least one of the peer's tools was seen to answer with a document."""
    return answers > 0 and all(judgement.status is not Status.FAIL for judgement in judgements)
