"""Judge a client by traces in files: each is read, and what is no trace is said in one sentence."""

from __future__ import annotations

import json
from typing import Final, NoReturn

from xmcp_conformance.core.events import Emit, NotReached, SuiteStarted
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.untrusted_text import quoted

from .judge import PROFILE, check_one, observations
from .trace import NoTrace, Trace

MOST_READ: Final = 64 * 1024 * 1024
"""Maximum number of bytes of a trace."""


def start(*, strict: bool, emit: Emit) -> None:
    """Say that traces are judged, and whether a broken SHOULD counts as a broken MUST."""
    emit(SuiteStarted(PROFILE, registry().version, {"strict": strict}))


def check_trace(name: str, data: bytes, emit: Emit) -> None:
    """Judge the trace in a file.

    Args:
        name: the name of the file.
        data: its content; more than `MOST_READ` bytes are not judged.
        emit: gets each event; a file that is no trace is one, `NotReached`.
    """
    try:
        trace = _read(data)
    except NoTrace as fault:
        not_judged(name, str(fault), emit)
        return
    try:
        observations(trace)
    except Exception as error:  # a message or a result of the client can have any form
        not_judged(name, f"a message, a call or a result in it has another form ({type(error).__name__})", emit)
    else:
        check_one(name, trace, emit)


def not_judged(name: str, reason: str, emit: Emit) -> None:
    """Say that a file cannot be judged, and why."""
    emit(NotReached(name, "file", reason))


def _read(data: bytes) -> Trace:
    if len(data) > MOST_READ:
        raise NoTrace(f"more than {MOST_READ:,} bytes; record shorter chats, each in a file of its own")
    try:
        return Trace.of(json.loads(data.decode("utf-8-sig"), parse_constant=_refuse))
    except UnicodeDecodeError as error:
        raise NoTrace(f"no UTF-8, from byte {error.start} on") from error
    except json.JSONDecodeError as error:
        raise NoTrace(f"no JSON: {error.msg.lower()}, in line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise NoTrace("JSON that is nested too deeply") from error


def _refuse(word: str) -> NoReturn:
    raise NoTrace(f"no JSON: it has no `{quoted(word)}`")
