"""MCP's own conformance package against XMCP and against bare FastMCP, with the same fixtures.

What XMCP does to a plain MCP client is what differs between the two. Every check of the package is compared, its
status and what it saw, and so are the results of a few calls the package never makes. No check that passes on
FastMCP may fail on XMCP with wire="negotiated"; every other difference has to be one that
mcp_conformance/expected_differences.json explains, and each of those has to occur.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import mcp_inspector
import uvicorn
from fastmcp import Client, FastMCP
from fastmcp.server.event_store import EventStore
from mcp import MCPDeprecationWarning
from mcp_fixtures import CONTENT, register
from node_packages import MCP, node

from xmcp import XMCP

EXPECTED: Final = MCP.folder / "expected_differences.json"
SUITE: Final = MCP.script("@modelcontextprotocol/conformance/dist/index.js")
VERSIONS: Final[dict[str, Literal["legacy", "auto"]]] = {"2025-11-25": "legacy", "2026-07-28": "auto"}
"""The revisions of MCP that are checked, and how FastMCP's client is told to speak them."""

# Both resolve no `$ref` in schemas: one scenario wants to see them arrive. FastMCP's own default fails it.
OPTIONS: Final[dict[str, Any]] = {"version": "1", "dereference_schemas": False}
SERVERS: Final[dict[str, Callable[[], FastMCP[Any]]]] = {
    "FastMCP": lambda: FastMCP("fixtures", **OPTIONS),
    "negotiated": lambda: XMCP("fixtures", wire="negotiated", **OPTIONS),
    "always": lambda: XMCP("fixtures", wire="always", **OPTIONS),
    "FastMCP again": lambda: FastMCP("fixtures", **OPTIONS),
}
"""What differs between the first and the last is chance: a session's id, a port."""

SUITE_SECONDS: Final = 120.0
START_SECONDS: Final = 30.0
RUNS_AT_ONCE: Final = 2  # most of a run is waiting
CALLS: Final[dict[str, dict[str, Any]]] = {
    **{name: {} for name in CONTENT},
    **{name: {} for name in ("test_simple_text", "test_error_handling")},
    **{name: {} for name in ("more_data", "more_null", "more_unexpected_error", "no_such_tool")},
    "test_header_mirroring": {"region": 1, "surplus": 2},
}
"""Tools that are called besides, with their arguments: to see the whole result, which the package rarely shows."""


class Place(NamedTuple):
    """Where something was seen: in which revision, in which check of which scenario, and in what part of it."""

    version: str
    scenario: str
    check: str
    part: str


Run = dict[Place, Any]
"""All that was seen of a server: the value at each place. The part `status` is the package's verdict."""


class Difference(NamedTuple):
    """A place where a server shows something other than bare FastMCP."""

    place: Place
    before: Any
    after: Any

    def __str__(self) -> str:
        version, scenario, check, part = self.place
        return f"{version} {scenario}: {check}: {part}\n    FastMCP: {self.before}\n    XMCP:    {self.after}"


@dataclass(frozen=True)
class Expected:
    """A difference that is as it has to be, and why."""

    reason: str
    part: list[str]  # patterns, as of fnmatch
    where: list[str] = field(default_factory=lambda: ["*"])  # patterns for `scenario/check`
    after: str = ".*"  # regular expression for what XMCP shows; {before} in it is what FastMCP shows

    def explains(self, difference: Difference) -> bool:
        """Say whether the difference is this one."""
        place, before, after = difference
        wanted = self.after.replace("{before}", re.escape(str(before)))
        return (
            any(fnmatchcase(place.part, pattern) for pattern in self.part)
            and any(fnmatchcase(f"{place.scenario}/{place.check}", pattern) for pattern in self.where)
            and re.fullmatch(wanted, str(after), re.DOTALL) is not None
        )


# ---- decisions ----


def differences(plain: Run, again: Run, other: Run) -> list[Difference]:
    """Return what differs between `plain` and `other`, less what differs between two runs of the same server."""
    chance = {place for place in plain.keys() | again.keys() if plain.get(place, ...) != again.get(place, ...)}
    places = sorted((plain.keys() | other.keys()) - chance)
    found = (Difference(place, plain.get(place), other.get(place)) for place in places)
    return [difference for difference in found if difference.before != difference.after]


def regressions(found: list[Difference]) -> list[Difference]:
    """Return the checks that pass on FastMCP and not on the other server."""
    return [one for one in found if one.place.part == "status" and one.before == "SUCCESS"]


def failures(run: Run) -> list[Difference]:
    """Return the checks that a server fails, as differences from passing."""
    failed = [(place, status) for place, status in run.items() if status in ("FAILURE", "WARNING")]
    return [Difference(place, "SUCCESS", status) for place, status in failed if place.part == "status"]


def complaints(found: list[Difference], expected: list[Expected]) -> list[str]:
    """Return a sentence for each difference nobody expects, and for each expected one that did not occur."""
    unexpected = [one for one in found if not any(entry.explains(one) for entry in expected)]
    idle = [entry for entry in expected if not any(entry.explains(one) for one in found)]
    return [
        *(f"nothing explains {one}" for one in unexpected),
        *(f"expected, and not there any more: {entry}" for entry in idle),
    ]


def flattened(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield path and value of every leaf, the message in an event of a stream included."""
    if path.endswith("data") and isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    if not value or not isinstance(value, dict | list):
        yield path, value
        return
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
        yield from flattened(entry, f"{path}.{key}" if path else str(key))


# ---- servers ----


@contextlib.contextmanager
def served() -> Iterator[dict[str, str]]:
    """Serve every server of `SERVERS` on a free port of this machine; gives their addresses.

    Raises:
        SystemExit: a server does not start.
    """
    running = {name: uvicorn.Server(_config(register(make()))) for name, make in SERVERS.items()}
    listeners = {name: socket.create_server(("127.0.0.1", 0)) for name in running}

    async def serve() -> None:
        await asyncio.gather(*(server.serve([listeners[name]]) for name, server in running.items()))

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    try:
        _until_started(running)
        yield {name: f"http://127.0.0.1:{listener.getsockname()[1]}/mcp" for name, listener in listeners.items()}
    finally:
        for server in running.values():
            server.should_exit = True
        thread.join(START_SECONDS)


def _config(mcp: FastMCP[Any]) -> uvicorn.Config:
    # With sessions, and with events that can be asked for again: a scenario of 2025-11-25 needs both.
    app = mcp.http_app(
        stateless_http=False, event_store=EventStore(), retry_interval=500, host_origin_protection="auto"
    )
    return uvicorn.Config(app, log_level="critical", lifespan="on", ws="none", timeout_graceful_shutdown=2)


def _until_started(running: dict[str, uvicorn.Server]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not all(server.started for server in running.values()):  # uvicorn tells nobody
        if time.monotonic() > deadline:
            sys.exit(f"after {START_SECONDS:.0f} s not every server of mcp_conformance.py is up")
        time.sleep(0.05)


# ---- runs ----


def run_of(url: str) -> Run:
    """Return all that is seen of the server at `url`."""
    run: Run = {}
    for version, mode in VERSIONS.items():
        run |= {Place(version, *where): value for where, value in _checks(url, version)}
        for name, seen in asyncio.run(_calls(url, mode)).items():
            run |= {Place(version, "calls", name, part): value for part, value in flattened(seen)}
    return run


def _checks(url: str, version: str) -> Iterator[tuple[tuple[str, str, str], Any]]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        suite = ("server", "--url", url, "--suite", "all", "--spec-version", version, "-o", folder)
        try:
            done = node(SUITE, *suite, cwd=out, timeout=SUITE_SECONDS)
        except subprocess.TimeoutExpired:
            sys.exit(f"the conformance package was not through with {version} after {SUITE_SECONDS:.0f} s")
        reports = sorted(out.glob("*/checks.json"))
        if not reports or "=== SUMMARY ===" not in done.stdout:
            sys.exit(f"the conformance package did not get through {version}:\n{done.stdout[-2000:]}{done.stderr}")
        for report in reports:
            scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\dZ-]+$", "", report.parent.name)
            yield from _parts(scenario, json.loads(report.read_text(encoding="utf-8")))


def _parts(scenario: str, checks: list[dict[str, Any]]) -> Iterator[tuple[tuple[str, str, str], Any]]:
    times: dict[str, int] = {}
    for check in checks:
        if check["status"] == "INFO":  # no verdict but a log, such as of the events that a stream was cut into
            continue
        name = f"{check['id']} {check['name']}"
        times[name] = times.get(name, 0) + 1
        if times[name] > 1:
            name = f"{name} {times[name]}"
        yield (scenario, name, "status"), check["status"]
        for part, value in flattened(check.get("details", {})):
            if not part.endswith("headers.date"):
                yield (scenario, name, f"details.{part}"), value


async def _calls(url: str, mode: Literal["legacy", "auto"]) -> dict[str, Any]:
    async with Client(url, mode=mode, timeout=START_SECONDS) as client:
        seen: dict[str, Any] = {name: await client.call_tool_mcp(name, given) for name, given in CALLS.items()}
        seen |= {f"tools/list {tool.name}": tool for tool in await client.list_tools()}
        seen |= {f"resources/list {resource.name}": resource for resource in await client.list_resources()}
        seen |= {f"prompts/list {prompt.name}": prompt for prompt in await client.list_prompts()}
    return {name: one.model_dump(mode="json", by_alias=True, exclude_none=True) for name, one in seen.items()}


# ---- report ----


def main() -> None:
    """Command line."""
    MCP.install()
    logging.disable(logging.CRITICAL)  # the fixtures fail on purpose
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    with served() as urls, ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
        runs = dict(zip(urls, pool.map(run_of, urls.values()), strict=True))
    told = judged(runs, expected_differences(EXPECTED.read_text(encoding="utf-8")))
    if told:
        told.append(f"What is right and new goes into {EXPECTED.name}, with its reason.")
    told += mcp_inspector.complaints()
    if told:
        sys.exit("\n".join(told))


def expected_differences(text: str) -> dict[str, list[Expected]]:
    """Return what the file with this text expects, by server; `XMCP` stands for both wires."""
    return {name: [Expected(**entry) for entry in entries] for name, entries in json.loads(text).items()}


def judged(runs: dict[str, Run], expected: dict[str, list[Expected]]) -> list[str]:
    """Print a row for each server, and return a sentence for each thing that is not as it has to be."""
    plain, again = runs["FastMCP"], runs["FastMCP again"]
    told = [f"FastMCP: {line}" for line in complaints(failures(plain), expected["FastMCP"])]
    _print_row("server", "passed", "failed", "worse", "differences")
    _print_row("FastMCP", *_verdicts(plain), "", "")
    for wire in ("negotiated", "always"):
        found = differences(plain, again, runs[wire])
        worse = regressions(found)
        _print_row(f'XMCP wire="{wire}"', *_verdicts(runs[wire]), len(worse), len(found))
        if wire == "negotiated":
            told += [f'a check that passes on FastMCP fails with wire="negotiated": {one}' for one in worse]
            found = [one for one in found if one not in worse]
        told += [f'wire="{wire}": {line}' for line in complaints(found, expected["XMCP"] + expected[wire])]
    return told


def _verdicts(run: Run) -> tuple[int, int]:
    verdicts = [value for place, value in run.items() if place.part == "status"]
    return verdicts.count("SUCCESS"), len(failures(run))


def _print_row(server: str, *cells: object) -> None:
    print(f"{server:24}" + "".join(f"{cell!s:>13}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
