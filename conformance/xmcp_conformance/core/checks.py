"""The registry of checks: which function judges which requirement, for which profiles.

A check is a generator of observations. It declares the requirements that it can judge; if it yields an observation of
any other requirement, it raises `UndeclaredRequirement`, so a declaration cannot become wrong unnoticed. This registry
is the only evidence of what the suite verifies: an id in a comment or in a message does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeAlias

from .observation import Observation

Profile: TypeAlias = Literal["server", "fixture", "document", "codec", "client", "gateway"]
P = ParamSpec("P")
Observations: TypeAlias = Iterator[Observation]
OF_DOCUMENTS: tuple[Profile, ...] = ("server", "document")
"""The profiles that judge documents: both run the checks of the reader."""


class UndeclaredRequirement(Exception):
    """A check yielded an observation of a requirement that it did not declare."""


@dataclass(frozen=True, slots=True)
class Check:
    """A registered check. `run` calls its function, and raises `UndeclaredRequirement` for an undeclared id."""

    name: str
    requirements: tuple[str, ...]
    profiles: tuple[Profile, ...]
    run: Callable[..., Observations]


_CHECKS: list[Check] = []


def check(
    *requirements: str, profile: Profile | Sequence[Profile]
) -> Callable[[Callable[P, Observations]], Callable[P, Observations]]:
    """Register a check under the requirements that it judges.

    Args:
        requirements: the ids of the requirements that the check may yield observations of.
        profile: the profile or profiles that run the check.

    Raises:
        ValueError: there is no requirement, or the same requirement twice.
    """
    declared = frozenset(requirements)
    if not declared or len(declared) < len(requirements):
        raise ValueError(f"a check must declare at least one requirement, and each only once, not {requirements}")

    def register(function: Callable[P, Observations]) -> Callable[P, Observations]:
        name = f"{function.__module__}.{function.__qualname__}"

        @wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> Observations:
            for observation in function(*args, **kwargs):
                if observation.requirement not in declared:
                    raise UndeclaredRequirement(f"{name} yields {observation.requirement}; it declares {requirements}")
                yield observation

        profiles: tuple[Profile, ...] = (profile,) if isinstance(profile, str) else tuple(profile)
        _CHECKS.append(Check(name, requirements, profiles, guarded))
        return guarded

    return register


def registered(profile: Profile) -> list[Check]:
    """Return the checks of a profile, in order of definition."""
    return [entry for entry in _CHECKS if profile in entry.profiles]


def checks_by_requirement(profile: Profile) -> dict[str, list[Check]]:
    """Return the checks of a profile by the id of the requirement that they judge."""
    found: dict[str, list[Check]] = {}
    for entry in registered(profile):
        for requirement in entry.requirements:
            found.setdefault(requirement, []).append(entry)
    return found


def run_all(profile: Profile, subject: Any) -> Observations:
    """Run every check of a profile with `subject` as the only argument: of `client` or `gateway`."""
    for entry in registered(profile):
        yield from entry.run(subject)
