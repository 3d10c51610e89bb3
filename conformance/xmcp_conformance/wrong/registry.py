"""Implementations that are wrong in exactly one way.

Each mutant is a miniature server with one method changed; its docstring says what it does wrong, `breaks` names the
sentence. The suite is right when it finds that sentence broken, and no other.
"""

from __future__ import annotations

from collections.abc import Callable

from xmcp_conformance.miniature import Miniature

MUTANTS: dict[str, type[Miniature]] = {}
"""Requirement id to the mutant that breaks it."""


def breaks(requirement: str) -> Callable[[type[Miniature]], type[Miniature]]:
    """Register a mutant under the sentence that it breaks."""

    def register(mutant: type[Miniature]) -> type[Miniature]:
        if requirement in MUTANTS:
            raise ValueError(f"{requirement} has a mutant already: {MUTANTS[requirement].__name__}")
        MUTANTS[requirement] = mutant
        return mutant

    return register


def all_mutants() -> dict[str, type[Miniature]]:
    """Every mutant, by the requirement that it breaks."""
    from . import binding, display, document, errors, negotiated  # noqa: F401 - they register themselves

    return dict(sorted(MUTANTS.items()))
