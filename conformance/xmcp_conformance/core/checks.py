"""The registry of checks: which function judges which requirement, for which profiles.

A check is a generator of observations that declares the requirements it can judge. Nobody has to remember to keep the
declaration true: a check that yields an observation of any other requirement raises. Whoever wants to know what the
suite verifies asks this registry; an id in a comment or in a message is no evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeAlias

from .observation import Observation

Profile: TypeAlias = Literal["server", "document", "codec", "client"]
P = ParamSpec("P")
Observations: TypeAlias = Iterator[Observation]
OF_DOCUMENTS: tuple[Profile, ...] = ("server", "document")
"""The profiles that judge documents: both run the checks of the reader."""


class UndeclaredRequirement(Exception):
    """A check yielded an observation of a requirement that it did not declare."""


@dataclass(frozen=True, slots=True)
class Check:
    """A registered check. `run` is the function, guarded: it raises `UndeclaredRequirement`."""

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
        requirements: the ids; an observation of any other raises `UndeclaredRequirement`.
        profile: the profile that runs the check, or all of them.

    Raises:
        ValueError: no requirement is given, or one is given twice.
    """
    declared = frozenset(requirements)
    if not declared or len(declared) < len(requirements):
        raise ValueError(f"a check needs the ids of its requirements, each once, not {requirements}")

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
    """Return the checks of a profile, in the order in which they were defined."""
    return [entry for entry in _CHECKS if profile in entry.profiles]


def checked(profile: Profile) -> dict[str, list[Check]]:
    """Return the checks of a profile by the requirements that they judge."""
    found: dict[str, list[Check]] = {}
    for entry in registered(profile):
        for requirement in entry.requirements:
            found.setdefault(requirement, []).append(entry)
    return found


def run_all(profile: Profile, subject: Any) -> Observations:
    """Run every check of a profile whose checks take one argument, such as `client`."""
    for entry in registered(profile):
        yield from entry.run(subject)
