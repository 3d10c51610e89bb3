"""The registry of implementations that are wrong in exactly one way, by the requirements that each of them breaks.

The suite is right when a run against such an implementation finds those requirements broken, and no other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from xmcp_conformance.core.checks import Profile

T = TypeVar("T")

_MODULES: dict[Profile, tuple[str, ...]] = {
    "server": ("servers.binding", "servers.display", "servers.document", "servers.errors", "servers.negotiated"),
    "fixture": ("servers.fixture",),
    "codec": ("codecs.wrong_codecs",),
    "client": (
        "clients.calls",
        "clients.chat_endings",
        "clients.declarations",
        "clients.displays",
        "clients.errors_of_the_client",
        "clients.events",
        "clients.failed_calls",
        "clients.kept_parts",
        "clients.kept_turns",
        "clients.miniature",
        "clients.told_displays",
        "clients.told_meanwhile",
        "clients.tool_names",
        "clients.usage",
    ),
    "gateway": ("gateways.chunks", "gateways.native_streams", "gateways.runs"),
}


@dataclass(frozen=True, slots=True)
class Wrong:
    """A wrong implementation: a class of server, codec or gateway, or a function that returns the trace of a client."""

    requirements: tuple[str, ...]
    profile: Profile
    implementation: Any


_REGISTERED: list[Wrong] = []


def breaks(*requirements: str, profile: Profile) -> Callable[[T], T]:
    """Register an implementation under the requirements that it breaks; only a codec breaks more than one."""

    def register(implementation: T) -> T:
        _REGISTERED.append(Wrong(requirements, profile, implementation))
        return implementation

    return register


def registered(profile: Profile) -> list[Wrong]:
    """Return the wrong implementations of a profile, in the order in which they were defined."""
    for module in _MODULES.get(profile, ()):
        import_module(f"xmcp_conformance.wrong.{module}")
    return [entry for entry in _REGISTERED if entry.profile == profile]


def wrong_implementations(profile: Profile) -> dict[str, list[Any]]:
    """Return the wrong implementations of a profile by the requirement that they break."""
    found: dict[str, list[Any]] = {}
    for entry in registered(profile):
        for requirement in entry.requirements:
            found.setdefault(requirement, []).append(entry.implementation)
    return dict(sorted(found.items()))


def server_mutants() -> dict[str, Any]:
    """Return the wrong servers by the requirement that they break.

    Raises:
        ValueError: two servers break the same requirement.
    """
    return {requirement: only for requirement, (only,) in wrong_implementations("server").items()}
