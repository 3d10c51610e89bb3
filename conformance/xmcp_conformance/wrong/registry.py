"""The registry of implementations that are wrong in exactly one way, by the requirement that each of them breaks.

The suite is right when it finds that requirement broken in a run against the implementation, and no other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from xmcp_conformance.core.checks import Profile

T = TypeVar("T")

_MODULES = {
    "server": ("binding", "display", "document", "errors", "negotiated"),
    "client": ("calls", "chats", "failing", "miniature", "offers", "showing"),
}


@dataclass(frozen=True, slots=True)
class Wrong:
    """An implementation that breaks one requirement.

    `implementation` is a class of server, or a function that returns the trace of a client.
    """

    requirement: str
    profile: Profile
    implementation: Any


_REGISTERED: list[Wrong] = []


def breaks(requirement: str, *, profile: Profile) -> Callable[[T], T]:
    """Register an implementation under the requirement that it breaks."""

    def register(implementation: T) -> T:
        _REGISTERED.append(Wrong(requirement, profile, implementation))
        return implementation

    return register


def wrong_implementations(profile: Profile) -> dict[str, list[Any]]:
    """Return the wrong implementations of a profile by the requirement that they break."""
    for module in _MODULES.get(profile, ()):
        import_module(f"xmcp_conformance.wrong.{profile}s.{module}")
    found: dict[str, list[Any]] = {}
    for entry in _REGISTERED:
        if entry.profile == profile:
            found.setdefault(entry.requirement, []).append(entry.implementation)
    return dict(sorted(found.items()))


def server_mutants() -> dict[str, Any]:
    """Return the wrong servers by the requirement that they break; each requirement has one."""
    return {requirement: only for requirement, (only,) in wrong_implementations("server").items()}
