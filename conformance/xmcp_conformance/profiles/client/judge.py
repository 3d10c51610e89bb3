"""Judge a client by traces of its behaviour, against the requirements for clients (mostly chapter 11).

The checks are written from the specification alone. They recompute from the setup and the records
what the client had to do: which call depends on which, which values are injected, which calls the client answers
itself, and when a chat ends. What the specification leaves open, or a trace does not show, is not judged: a client
may be slower, may retry less often, and may give any of several reasons that apply.
"""

from __future__ import annotations

from collections.abc import Mapping

from xmcp_conformance.core import judge as core_judge
from xmcp_conformance.core.checks import run_all
from xmcp_conformance.core.events import Emit, Event, Observed, RunEnded, RunStarted, SuiteStarted
from xmcp_conformance.core.judge import Judgement
from xmcp_conformance.core.observation import Observation
from xmcp_conformance.core.requirements import registry

from . import checks  # noqa: F401 - the import registers them
from .trace import Trace
from .trace_index import TraceIndex

PROFILE = "client"


def observations(trace: Trace) -> list[Observation]:
    """Return an observation for each time that a requirement applied in a trace, ordered by requirement and record.

    Raises:
        KeyError: a record names a chat, a request or a call that never began.
    """
    found = run_all("client", TraceIndex(trace))
    return sorted(found, key=lambda one: (one.requirement, one.where if isinstance(one.where, int) else -1))


def violations(trace: Trace) -> list[Observation]:
    """Return the observations of requirements that were broken, a broken SHOULD included.

    Raises:
        KeyError: a record names a chat, a request or a call that never began.
    """
    return [observation for observation in observations(trace) if not observation.ok]


def examined(trace: Trace) -> set[str]:
    """Return the ids of the requirements that applied at least once in a trace; the others were not observed.

    Raises:
        KeyError: a record names a chat, a request or a call that never began.
    """
    return {observation.requirement for observation in observations(trace)}


def check(traces: Mapping[str, Trace], emit: Emit) -> None:
    """Judge a client by its traces.

    Args:
        traces: what the client did, by the name of the trace.
        emit: gets each event.

    Raises:
        KeyError: a record names a chat, a request or a call that never began.
    """
    emit(SuiteStarted(PROFILE, registry().version))
    for name, trace in traces.items():
        check_one(name, trace, emit)


def check_one(name: str, trace: Trace, emit: Emit) -> None:
    """Judge a client by one trace.

    Args:
        name: the name of the trace.
        trace: what the client did.
        emit: gets each event of the run.

    Raises:
        KeyError: a record names a chat, a request or a call that never began.
    """
    emit(RunStarted(name))
    for observation in observations(trace):
        emit(Observed(observation, name))
    emit(RunEnded(name))


def judge(trace: Trace, *, strict: bool = False) -> list[Judgement]:
    """Return one judgement for each requirement that checks of clients verify.

    Args:
        trace: what the client did.
        strict: a broken SHOULD counts as a broken MUST.

    Raises:
        KeyError: a record names a chat, a request or a call that never began.
    """
    events: list[Event] = []
    check({"": trace}, events.append)
    observed = [event for event in events if isinstance(event, Observed)]
    return core_judge.judge(observed, registry().verified_by("client"), strict=strict)
