"""Run the conformance package of the MCP project against XMCP and bare FastMCP, with the same fixtures.

The differences between the two are the effects of XMCP on a plain MCP client. Every check of the package is compared,
its status and its details, and so are the results of a few calls that the package never makes. No check that passes on
FastMCP may fail on XMCP with wire="negotiated". expected_differences.json must explain every other difference, and
each of its entries must occur.
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
from pathlib import Path
from typing import Any, Final, Literal

import uvicorn
from fastmcp import Client, FastMCP
from fastmcp.server.event_store import EventStore
from mcp import MCPDeprecationWarning

from tools.interop import mcp_inspector
from tools.interop.mcp_comparison import (
    Expected,
    Place,
    Run,
    complaints,
    differences,
    expected_differences,
    failures,
    flattened,
    regressions,
)
from tools.interop.mcp_fixture_content import CONTENT
from tools.interop.mcp_fixtures import register
from tools.interop.mcp_inspector import NODE_PACKAGES
from tools.node_packages import node
from xmcp import XMCP

EXPECTED: Final = Path(__file__).with_name("expected_differences.json")
SUITE: Final = NODE_PACKAGES.script("@modelcontextprotocol/conformance/dist/index.js")
VERSIONS: Final[dict[str, Literal["legacy", "auto"]]] = {"2025-11-25": "legacy", "2026-07-28": "auto"}
"""The revisions of MCP that are checked, and the mode in which FastMCP's client speaks each."""

# Neither server resolves `$ref` in schemas: a scenario expects them unresolved, which FastMCP's default fails.
OPTIONS: Final[dict[str, Any]] = {"version": "1", "dereference_schemas": False}
SERVERS: Final[dict[str, Callable[[], FastMCP[Any]]]] = {
    "FastMCP": lambda: FastMCP("fixtures", **OPTIONS),
    "negotiated": lambda: XMCP("fixtures", wire="negotiated", **OPTIONS),
    "always": lambda: XMCP("fixtures", wire="always", **OPTIONS),
    "FastMCP again": lambda: FastMCP("fixtures", **OPTIONS),
}
"""Differences between the first and the last are chance, such as the id of a session or a port."""

SUITE_SECONDS: Final = 120.0
START_SECONDS: Final = 30.0
RUNS_AT_ONCE: Final = 2  # a run spends most of its time waiting
CALLS: Final[dict[str, dict[str, Any]]] = {
    **{name: {} for name in CONTENT},
    **{name: {} for name in ("test_simple_text", "test_error_handling")},
    **{name: {} for name in ("more_data", "more_null", "more_unexpected_error", "no_such_tool")},
    "test_header_mirroring": {"region": 1, "surplus": 2},
}
"""Tools that are called in addition, with their arguments, because the package rarely reports a whole result."""


# ---- servers ----


@contextlib.contextmanager
def served() -> Iterator[dict[str, str]]:
    """Serve every server of `SERVERS` on a free port of this machine; yield their addresses.

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
    # A scenario of 2025-11-25 needs sessions and a store of events that a client can request again.
    app = mcp.http_app(
        stateless_http=False, event_store=EventStore(), retry_interval=500, host_origin_protection="auto"
    )
    return uvicorn.Config(app, log_level="critical", lifespan="on", ws="none", timeout_graceful_shutdown=2)


def _until_started(running: dict[str, uvicorn.Server]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not all(server.started for server in running.values()):  # uvicorn has no event for it
        if time.monotonic() > deadline:
            sys.exit(f"not every server of mcp_conformance.py started within {START_SECONDS:.0f} s")
        time.sleep(0.05)


# ---- runs ----


def run_of(url: str) -> Run:
    """Return everything that is observed of the server at `url`."""
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
            sys.exit(f"the conformance package did not finish {version} within {SUITE_SECONDS:.0f} s")
        reports = sorted(out.glob("*/checks.json"))
        if not reports or "=== SUMMARY ===" not in done.stdout:
            sys.exit(f"the conformance package failed on {version}:\n{done.stdout[-2000:]}{done.stderr}")
        for report in reports:
            scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\dZ-]+$", "", report.parent.name)
            yield from _parts(scenario, json.loads(report.read_text(encoding="utf-8")))


def _parts(scenario: str, checks: list[dict[str, Any]]) -> Iterator[tuple[tuple[str, str, str], Any]]:
    times: dict[str, int] = {}
    for check in checks:
        if check["status"] == "INFO":  # a log without a verdict, such as the events of a stream
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
    """Run the command line."""
    NODE_PACKAGES.install()
    logging.disable(logging.CRITICAL)  # some fixtures fail on purpose
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    with served() as urls, ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
        runs = dict(zip(urls, pool.map(run_of, urls.values()), strict=True))
    faults = judged(runs, expected_differences(EXPECTED.read_text(encoding="utf-8")))
    if faults:
        faults.append(f"If a new difference is right, add it to {EXPECTED.name}, with its reason.")
    faults += mcp_inspector.complaints()
    if faults:
        sys.exit("\n".join(faults))


def judged(runs: dict[str, Run], expected: dict[str, list[Expected]]) -> list[str]:
    """Print a row for each server, and return a message for each fault."""
    plain, again = runs["FastMCP"], runs["FastMCP again"]
    faults = [f"FastMCP: {line}" for line in complaints(failures(plain), expected["FastMCP"])]
    _print_row("server", "passed", "failed", "worse", "differences")
    _print_row("FastMCP", *_verdicts(plain), "", "")
    for wire in ("negotiated", "always"):
        found = differences(plain, again, runs[wire])
        worse = regressions(found)
        _print_row(f'XMCP wire="{wire}"', *_verdicts(runs[wire]), len(worse), len(found))
        if wire == "negotiated":
            faults += [f'a check that passes on FastMCP fails with wire="negotiated": {one}' for one in worse]
            found = [one for one in found if one not in worse]
        faults += [f'wire="{wire}": {line}' for line in complaints(found, expected["XMCP"] + expected[wire])]
    return faults


def _verdicts(run: Run) -> tuple[int, int]:
    verdicts = [value for place, value in run.items() if place.part == "status"]
    return verdicts.count("SUCCESS"), len(failures(run))


def _print_row(server: str, *cells: object) -> None:
    print(f"{server:24}" + "".join(f"{cell!s:>13}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
