"""The client broken on purpose: each mutant breaks one sentence of the specification, and its check sees it.

A mutant is a function that patches the client (`pytest.MonkeyPatch`) so that it does what its docstring says.
`test_mutants.py` runs the suite's scenarios with it: the checks of the conformance suite find that sentence
broken, and no other. Not a test module.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

import pytest

Mutant: TypeAlias = Callable[[pytest.MonkeyPatch], None]

MUTANTS: dict[str, Mutant] = {}
"""Id of the sentence to the mutant that breaks it."""


def breaks(id_: str) -> Callable[[Mutant], Mutant]:
    """Register a mutant under the sentence that it breaks.

    Raises:
        ValueError: the sentence has one already.
    """

    def register(mutant: Mutant) -> Mutant:
        if id_ in MUTANTS:
            raise ValueError(f"{id_} has a mutant already: {MUTANTS[id_].__name__}")
        MUTANTS[id_] = mutant
        return mutant

    return register


def all_mutants() -> dict[str, Mutant]:
    """Every mutant, by the sentence that it breaks."""
    for module in ("mutants_calls", "mutants_chat", "mutants_policy"):
        import_module(module)
    return dict(sorted(MUTANTS.items()))
