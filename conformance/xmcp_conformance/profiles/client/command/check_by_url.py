"""Judge a test client that was written for MCP's own conformance suite, unchanged: what it declares to servers.

Such a client gets the address of a server as its last argument, and in `MCP_CONFORMANCE_SCENARIO` what to do there. It
has no model that could be scripted, so that of all sentences only those apply that a server alone can see.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from xmcp_conformance.core.command_environment import OURS, CommandEnvironment
from xmcp_conformance.core.events import Emit, Noted, NotReached, Observed, RunEnded, RunStarted, SuiteStarted
from xmcp_conformance.core.last_words import LastWords
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.shown_command import shown_command
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.client.judge import PROFILE, observations
from xmcp_conformance.profiles.client.observer import ObservedServer, Recorder, described
from xmcp_conformance.profiles.client.scenario import Act, Scenario
from xmcp_conformance.profiles.client.trace import Called, Declared, Server, Setup, Tool, Trace

from .check_command import PRECISION
from .hosting import Host
from .server_host import server_app

_VARIABLE: Final = "MCP_CONFORMANCE_"
_LISTS_AND_CALLS: Final = "tools_call"
"""The scenario of MCP's suite in which a client lists the tools and calls one."""
_VERSIONS: Final = {"2025-11-25": True, "2026-07-28": False}
"""The versions of MCP in which it does that, each with whether the server knows the handshake alone."""
_NUMBERS: Final = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
_SCENARIO: Final = Scenario(
    Setup(servers=[Server()], tools=[Tool(server=0, name="add_numbers", input_schema=_NUMBERS, read_only=True)]),
    {0: [Act(text="The sum is known.")]},
)
_END_SECONDS: Final = 5.0


async def check_by_url(
    command: Sequence[str], emit: Emit, *, seconds: float, environment: CommandEnvironment = OURS, strict: bool = False
) -> dict[str, Trace]:
    """Judge a test client in both eras; return what was seen, by the name of the run.

    Args:
        command: its words, without the address.
        emit: gets each event; a client that reaches no server is one, `NotReached`.
        seconds: the time that it has for each run.
        environment: what it runs in.
        strict: whether a broken SHOULD counts as a broken MUST.
    """
    name = shown_command(command)
    emit(SuiteStarted(PROFILE, registry().version, {"strict": strict}))
    emit(RunStarted(name, name))
    traces: dict[str, Trace] = {}
    for version, handshake in _VERSIONS.items():
        run = f"{_LISTS_AND_CALLS} in {version}"
        trace, fault = await _run(command, version, seconds, environment, handshake=handshake)
        traces[run] = trace
        for observation in observations(trace):
            emit(Observed(observation, name, run))
        if not any(isinstance(record, Declared) for record in trace.records):
            emit(NotReached(run, "", fault or "it neither listed the tools nor called one"))
        elif fault or not any(isinstance(one, Called) for one in trace.records):
            emit(Noted(name, f"`{run}`: {fault or 'no tool was called'}."))
    emit(Noted(name, "a client without a scripted model shows only what it declares; an adapter shows the rest."))
    emit(RunEnded(name))
    return traces


async def _run(
    command: Sequence[str], version: str, seconds: float, environment: CommandEnvironment, *, handshake: bool
) -> tuple[Trace, str]:
    """Run the client once; return what its server saw, and what a person should know of its end, if anything."""
    recorder, host, words = Recorder(asyncio.get_running_loop().time()), Host(), LastWords(environment.log)
    server = ObservedServer(recorder, _SCENARIO, 0, one_connection=False)
    variables = {"SCENARIO": _LISTS_AND_CALLS, "PROTOCOL_VERSION": version, "CONTEXT": "{}"}
    try:
        await host.serve(server_app("server", server, host.cut, lambda _: None, wire="negotiated", handshake=handshake))
        process = await asyncio.create_subprocess_exec(
            *(*command, f"{host.url}/mcp"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=words,
            cwd=environment.cwd,
            env={**environment.variables(), **{f"{_VARIABLE}{one}": value for one, value in variables.items()}},
            start_new_session=True,  # so that whatever it starts ends with it
        )
        fault = await _end_of(process, seconds)
    except OSError as error:
        fault = f"the command cannot be run: {error.strerror}"
    finally:
        words.close()
        await host.close()
    said = quoted(words.telling_line())
    return Trace(
        described(_SCENARIO.setup), recorder.records, PRECISION
    ), f"{fault}: {said}" if fault and said else fault


async def _end_of(process: asyncio.subprocess.Process, seconds: float) -> str:
    """Wait for a process, and end it with all that it started; return what was wrong with its end."""
    try:
        status = await asyncio.wait_for(process.wait(), seconds)
        return f"the client ended with the status {status}" if status else ""
    except TimeoutError:
        return f"the client did not end within {seconds:g} s"
    finally:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _END_SECONDS)
