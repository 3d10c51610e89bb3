"""Run the command line of the MCP Inspector against the sample server: it lists the tools and calls them.

It runs over HTTP and stdio, and in both eras of the protocol. The servers are processes of
`xmcp serve xmcp.samples.sales:mcp`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

from tools.node_packages import NODE_FOLDER, Packages, node
from xmcp.samples.sales import mcp
from xmcp.samples.sales_figures import REGIONS
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY

NODE_PACKAGES: Final = Packages(
    Path(__file__).parent / "npm", "They compare servers with the programs of the MCP project."
)
INSPECTOR: Final = NODE_PACKAGES.script("@modelcontextprotocol/inspector/clients/launcher/build/index.js")
SERVE: Final = ["-m", "xmcp", "serve", "xmcp.samples.sales:mcp"]
ERAS: Final = ("legacy", "modern")
SECONDS: Final = 60.0  # for one run of the Inspector, or for the start of the server
RUNS_AT_ONCE: Final = 2
TOOL_FAILED: Final = 5  # the Inspector's exit code for a result with isError


class Case(NamedTuple):
    """A run of the Inspector, and the value that `look` must find in its result."""

    arguments: list[str]
    exit_code: int
    look: Callable[[dict[str, Any]], object]
    expected: object


def _display_type(result: dict[str, Any]) -> object:
    return result["_meta"][DISPLAY_META_KEY]["type"]


def _error_code(result: dict[str, Any]) -> object:
    return result["_meta"][ERROR_META_KEY]["code"]


CASES: Final[list[Case]] = [
    Case(
        ["--method", "tools/list"],
        0,
        lambda result: sorted(tool["name"] for tool in result["tools"]),
        sorted(tool.name for tool in asyncio.run(mcp.list_tools())),
    ),
    Case(
        ["--method", "tools/call", "--tool-name", "list_regions"],
        0,
        lambda result: result["structuredContent"]["result"],
        list(REGIONS),
    ),
    Case(
        ["--method", "tools/call", "--tool-name", "sales_summary", "--tool-arg", "region=EMEA", "show_user=true"],
        0,
        _display_type,
        "table",
    ),
    Case(
        ["--method", "tools/call", "--tool-name", "sales_summary", "--tool-arg", "region=Atlantis"],
        TOOL_FAILED,
        _error_code,
        "VALIDATION_FAIL",
    ),
]


def complaints() -> list[str]:
    """Return a message for each run of the Inspector that fails."""
    with tempfile.TemporaryDirectory() as folder, _served() as url:
        config = Path(folder) / "servers.json"
        stdio = {"command": sys.executable, "args": [*SERVE, "--transport", "stdio"]}
        config.write_text(json.dumps({"mcpServers": {"sales": stdio}}), encoding="utf-8")
        targets = {"http": [url], "stdio": ["--config", str(config), "--server", "sales"]}

        def complaint(transport: str, era: str, case: Case) -> str | None:
            run = [*targets[transport], *case.arguments, "--format", "json", "--protocol-era", era]
            fault = _fault(run, case, Path(folder))
            return fault and f"Inspector, {transport}, {era}, {' '.join(case.arguments)}: {fault}"

        runs = [*product(["http"], ERAS, CASES), *product(["stdio"], ERAS, CASES[:2])]
        with ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
            faults = [fault for fault in pool.map(lambda run: complaint(*run), runs) if fault]
    print(f"Inspector: {len(runs)} runs, {len(faults)} failed")
    return faults


def _fault(run: list[str], case: Case, folder: Path) -> str | None:
    environment = {
        **os.environ,
        "PATH": f"{NODE_FOLDER}{os.pathsep}{os.environ.get('PATH', '')}",
        "MCP_INSPECTOR_SECRET_STORE": "memory",  # otherwise it looks for a keychain, and prints a message
        "MCP_STORAGE_DIR": str(folder),
    }
    try:
        done = node(INSPECTOR, "--cli", *run, cwd=folder, env=environment, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"not finished after {SECONDS:.0f} s"
    try:
        found = case.look(json.loads(done.stdout)["result"])
    except (ValueError, LookupError) as error:
        output = done.stdout[-1000:] + done.stderr[-1000:]
        return f"unreadable result ({error!r}), exit code {done.returncode}:\n{output}"
    if (found, done.returncode) == (case.expected, case.exit_code):
        return None
    return f"{found} with exit code {done.returncode}; expected {case.expected} with {case.exit_code}"


@contextlib.contextmanager
def _served() -> Iterator[str]:
    command = [sys.executable, *SERVE, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8") as server:
        timer = threading.Timer(SECONDS, server.kill)
        timer.start()
        try:
            assert server.stderr is not None
            line = server.stderr.readline()
            timer.cancel()
            if " is served on " not in line:
                sys.exit(f"`xmcp serve xmcp.samples.sales:mcp` did not start: {line}")
            yield line.split()[-1]
        finally:
            timer.cancel()
            server.kill()


def main() -> None:
    """Run the command line."""
    NODE_PACKAGES.install()
    if faults := complaints():
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
