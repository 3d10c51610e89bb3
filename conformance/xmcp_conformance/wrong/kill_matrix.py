"""Which wrong servers the suite finds: each mutant under each condition, and what a run reports of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal, TypeAlias
from unittest.mock import patch

from xmcp_conformance.core.events import Event, Observed
from xmcp_conformance.profiles.server import arguments, blackbox, run
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.profiles.server.peers import InMemoryPeer, Peer

from .registry import server_mutants
from .servers.conditional import CONDITIONS, Condition, Conditional, Watched, WrongAnswers
from .servers.direct_session import direct_connect
from .servers.miniature import Miniature

Verdict: TypeAlias = Literal["killed", "survived", "collateral", "not reached"]


@dataclass(frozen=True, slots=True)
class Tried:
    """A mutant under a condition, and what the suite made of it: `reported` are the requirements found broken."""

    requirement: str
    condition: str
    verdict: Verdict
    reported: tuple[str, ...] = ()


async def reported(server: Miniature, options: Options, *, direct: bool = False) -> tuple[str, ...]:
    """Return the requirements that the suite finds broken by a server. `direct`: without the SDK of MCP between."""
    red: set[str] = set()

    def add(event: Event) -> None:
        if isinstance(event, Observed) and not event.observation.ok:
            red.add(event.observation.requirement)

    peers: list[Peer] = [InMemoryPeer(server.server())]
    with patch.object(blackbox, "connect", direct_connect(server)) if direct else nullcontext():
        await blackbox.check(peers, options, add)
    return tuple(sorted(red))


async def try_mutant(requirement: str, options: Options) -> list[Tried]:
    """Try the mutant of a requirement under every condition.

    Conditions under which the mutant gives the same wrong answers are one run of the suite, if that finds it: the suite
    makes calls again whose answer was wrong, and one of the conditions can hold then and the other one not. Those under
    which it gives no wrong answer need no run: the right server has been judged. Where some tools give all of the wrong
    answers, they are called alone first, as with `--include`, which is nearly always enough to find it.
    """
    mutant = server_mutants()[requirement]
    reached = await _wrong_answers(mutant, options)
    known: dict[frozenset[int], tuple[tuple[str, ...], bool]] = {}
    tried = []
    for name, condition in CONDITIONS.items():
        wrong = reached[name]
        if not wrong.answers:
            tried.append(Tried(requirement, name, "not reached"))
            continue
        key = frozenset(wrong.answers)
        if key not in known or not known[key][0]:
            known[key] = await _found(mutant, condition, options, wrong.tools)
            if wrong.tools and known[key] != ((requirement,), True):
                known[key] = await _found(mutant, condition, options, ())
        found, was_wrong = known[key]
        verdict: Verdict = "killed" if found == (requirement,) else "collateral" if found else "survived"
        if not was_wrong:  # a mutant that remembers would have been wrong after other answers than it gave
            verdict = "not reached"
        tried.append(Tried(requirement, name, verdict, found))
    return tried


async def _found(
    mutant: type[Miniature], condition: Condition, options: Options, tools: Iterable[str]
) -> tuple[tuple[str, ...], bool]:
    """Return what a run reports that calls some tools, or all if none is named, and whether an answer was wrong."""
    server = Conditional(mutant(), condition)
    found = await reported(server, replace(options, include=tuple(sorted(tools))), direct=True)
    return found, bool(server.differed)


async def _wrong_answers(mutant: type[Miniature], options: Options) -> dict[str, WrongAnswers]:
    """Return for each condition which answers of a run would be wrong, were the run that of the right server."""
    found = {name: WrongAnswers() for name in CONDITIONS}
    server = Watched(mutant(), found)
    await reported(server, options, direct=True)
    return found


@contextmanager
def remembered() -> Iterator[None]:
    """Judge equal answers to equal calls once; the verdicts are the same.

    A run of a conditional mutant is nearly that of the right server, so nearly all of its work was done before.
    """
    with ExitStack() as stack:
        stack.enter_context(patch.object(arguments, "PATIENCE", 300.0))
        for name in ("exchange_observations", "catalogue_observations"):
            stack.enter_context(patch.object(run, name, _remembering(getattr(run, name))))
        yield


def _remembering(function: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    known: dict[bytes, tuple[list[Any], Any]] = {}

    def generate(subject: Any, *others: Any, **named: Any) -> Iterator[Any]:
        key = blake2b(pickle.dumps((subject, others, named))).digest()
        if key not in known:
            values = list(function(subject, *others, **named))
            known[key] = values, getattr(subject, "reading", None)
        values, reading = known[key]
        if reading is not None:
            subject.reading = reading
        yield from values

    return generate
