"""The client broken on purpose: each mutant breaks one sentence of the specification, and its check sees it.

A mutant is a function that patches the client (`pytest.MonkeyPatch`) so that it does what its docstring says.
`test_mutants.py` runs the suite's scenarios with it: the checks of the conformance suite find that sentence
broken, and no other. Not a test module.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from importlib import import_module
from typing import Any, TypeAlias

import pytest

from xmcp.client.calls import pipeline
from xmcp.client.calls.active_call import ActiveCall, AnyStage, Stage

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


def put_first(patch: pytest.MonkeyPatch, stage: Stage) -> None:
    """Run `stage` before all others of a call's pipeline."""
    stages_of = pipeline.stages_of
    patch.setattr(pipeline, "stages_of", lambda settings: (stage, *stages_of(settings)))


def put_around(patch: pytest.MonkeyPatch, room: Any, stage: Callable[[Any, ActiveCall, Any], Awaitable[Any]]) -> None:
    """Put `stage` in the place of the one that the module `room` makes, which it gets as its first argument."""
    build = room.stage

    def built(*args: Any, **options: Any) -> AnyStage | None:
        own = build(*args, **options)

        async def instead(call: ActiveCall, proceed: Any) -> Any:
            return await stage(own, call, proceed)

        return None if own is None else instead

    patch.setattr(room, "stage", built)


def rewrite_events(patch: pytest.MonkeyPatch, source: Any, rewrite: Callable[[Any, Any], Iterable[Any]]) -> None:
    """Put what `rewrite(source, event)` returns in the place of each event of a `Chat` or a `ToolTurn`."""
    run = source.run

    async def rewritten(own: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(run(own)) as events:
            async for event in events:
                for instead in rewrite(own, event):
                    yield instead

    patch.setattr(source, "run", rewritten)


def all_mutants() -> dict[str, Mutant]:
    """Every mutant, by the sentence that it breaks."""
    for module in ("mutants_calls", "mutants_chat", "mutants_declarations", "mutants_policy"):
        import_module(module)
    return dict(sorted(MUTANTS.items()))
