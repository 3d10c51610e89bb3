"""Judge the programs of the guide "Level 1 in one file": they use nothing of XMCP, and the suite finds no fault.

    python -m tools.interop.level1 --go PATH     PATH is the `go` command

Then each program is judged with a fault in it, which the suite has to find: a check that never fails shows nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

from tools import ROOT
from tools.generate.typescript import NODE_PACKAGES as TYPESCRIPT
from tools.node_packages import NODE_FOLDER, Packages
from xmcp_conformance.core.requirements import registry

EXAMPLES: Final = ROOT / "examples" / "level1"
GUIDE: Final = ROOT / "docs" / "guides" / "level-1.md"
CONNECT: Final = "await server.connect("
NODE_PACKAGES: Final = Packages(EXAMPLES / "typescript", "They are what the TypeScript server of the guide runs on.")
NODE: Final = str(NODE_FOLDER / "node")
GO: Final = "go"  # stands for the program that `go build` writes
HANDSHAKE: Final = "2025-11-25"
STATELESS: Final = "2026-07-28"
ROUNDS_AT_ONCE: Final = 2

OBSERVED: Final = (
    "XMCP-CNF-002",
    "XMCP-DSP-022",
    "XMCP-DSP-024",
    "XMCP-ERR-021",
    "XMCP-ERR-022",
    "XMCP-MCP-042",
    "XMCP-MCP-047",
)
"""What each program has to show: without a display tool, for example, it would conform and be no example."""


class Fault(NamedTuple):
    """A change of a program, by which it breaks the requirement `breaks`."""

    breaks: str
    file: str
    old: str
    new: str


class Program(NamedTuple):
    """A program of the guide, and the versions of MCP in which it has to be judged."""

    folder: str
    command: tuple[str, ...]
    versions: set[str]
    faults: tuple[Fault, ...] = ()
    with_tool: bool = False
    """Whether it has the tool of the suite too, as the guide adds it."""


PROGRAMS: Final = (
    Program(
        "python",
        (sys.executable, "server.py"),
        {HANDSHAKE, STATELESS},
        (
            Fault("XMCP-MCP-042", "server.py", '"form": "plain"', '"kind": "plain"'),
            Fault("XMCP-ERR-032", "server.py", 'f"The log has the reason: {error_id}"', "str(cause)"),
            Fault("XMCP-ERR-021", "server.py", '"fields": fields, ', ""),
        ),
    ),
    Program(
        "typescript",
        (NODE, "server.ts"),
        {HANDSHAKE},
        (
            Fault("XMCP-MCP-042", "xmcp.ts", 'form: "plain"', 'kind: "plain"'),
            Fault("XMCP-ERR-032", "xmcp.ts", "`The log has the reason: ${error_id}`", "cause.message"),
            Fault("XMCP-ERR-021", "xmcp.ts", "meta: { fields, ", "meta: { "),
        ),
    ),
    Program("typescript", (NODE, "server.js"), {HANDSHAKE, STATELESS}),
    Program("typescript", ("env", "XMCP_CONFORMANCE=1", NODE, "server.ts"), {HANDSHAKE}, with_tool=True),
    Program(
        "go",
        (GO,),
        {HANDSHAKE, STATELESS},
        (
            Fault("XMCP-MCP-042", "xmcp.go", '"form": "plain"', '"kind": "plain"'),
            Fault("XMCP-ERR-032", "xmcp.go", '"The log has the reason: " + id', "fmt.Sprint(cause)"),
            Fault("XMCP-ERR-021", "xmcp.go", '"fields": fields, ', ""),
        ),
    ),
)


class Round(NamedTuple):
    """One run of the suite: a program, whole or with a fault."""

    program: Program
    fault: Fault | None = None

    def __str__(self) -> str:
        name = f"{self.program.folder} {Path(self.program.command[-1]).name}"
        name += " with the tool of the suite" if self.program.with_tool else ""
        return f"{name} that breaks {self.fault.breaks}" if self.fault else name


def complaint(judged: Round, go: str) -> str | None:
    """Return what is wrong with the outcome of a round, if anything is."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "program")
        shutil.copytree(EXAMPLES / judged.program.folder, folder, ignore=shutil.ignore_patterns("node_modules"))
        if (packages := EXAMPLES / judged.program.folder / "node_modules").exists():
            (folder / "node_modules").symlink_to(packages, target_is_directory=True)
        if judged.fault is not None:
            _break(folder / judged.fault.file, judged.fault)
        if judged.program.with_tool:
            _break(folder / "server.ts", Fault("", "server.ts", CONNECT, f"{_tool_of_the_guide()}\n{CONNECT}"))
        if judged.program.command == (GO,) and (refused := _built(folder, go)):
            return refused
        report, printed = _report(judged, folder)
    return "\n".join([*_faults(judged, report), printed]) if any(_faults(judged, report)) else None


def _faults(judged: Round, report: dict[str, Any]) -> Iterator[str]:
    statuses = {row["id"]: row["status"] for row in report["requirements"]}
    if judged.fault is not None:
        if statuses.get(judged.fault.breaks) not in {"fail", "warn"} or report["exit_code"] != 1:
            yield f"the suite did not find {judged.fault.breaks} broken"
        return
    if report["exit_code"] != 0:
        yield "it does not conform"
    spoken = {run["protocol_version"] for run in report["runs"]}
    if spoken != judged.program.versions:
        yield f"it was judged in {sorted(spoken)}; the guide says {sorted(judged.program.versions)}"
    of_tool = tuple(one.id for one in registry().verified_by("fixture") if one.from_level == 1)
    for requirement in (*OBSERVED, *(of_tool if judged.program.with_tool else ())):
        if statuses.get(requirement) != "pass":
            yield f"{requirement} was never observed: the program does not show it"


def _tool_of_the_guide() -> str:
    """Return the code of the guide that adds the tool of the suite to the server in TypeScript."""
    (code,) = re.findall(
        r"```typescript\n(if \(process.env.XMCP_CONFORMANCE.+?)```", GUIDE.read_text("utf-8"), re.DOTALL
    )
    return str(code)


def _break(path: Path, fault: Fault) -> None:
    text = path.read_text(encoding="utf-8")
    if text.count(fault.old) != 1:
        sys.exit(f"{path.name} does not have {fault.old!r} exactly once; change the fault in {__file__}")
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")


def _built(folder: Path, go: str) -> str | None:
    """Build a program in Go; return what the compiler says if it refuses."""
    # Offline: the program has no dependency, and `go` would look for a newer toolchain.
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOPROXY": "off"}
    done = subprocess.run([go, "build", "-o", GO, "."], cwd=folder, env=environment, capture_output=True, text=True)
    return f"it cannot be built:\n{done.stdout}{done.stderr}" if done.returncode else None


def _report(judged: Round, folder: Path) -> tuple[dict[str, Any], str]:
    """Run the suite; return its report, and the same for people."""
    words = [str(folder / GO)] if judged.program.command == (GO,) else list(judged.program.command)
    era = ["--era", "both" if judged.fault is None else "handshake", "--examples", "3" if judged.fault is None else "1"]
    path = folder / "report.json"
    suite = [sys.executable, "-m", "xmcp", "check", "server", "--strict", *era, "--json", str(path)]
    done = subprocess.run([*suite, "--stdio", " ".join(words)], cwd=folder, capture_output=True, text=True)
    if not path.exists():
        sys.exit(f"{judged}: the suite ended without a report:\n{done.stdout}{done.stderr}")
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report, done.stdout


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.interop.level1")
    parser.add_argument("--go", required=True, help="the `go` command")
    go = parser.parse_args().go
    NODE_PACKAGES.install()
    TYPESCRIPT.install()
    compiled = TYPESCRIPT.run("typescript/bin/tsc", "--project", ".", cwd=EXAMPLES / "typescript")
    if compiled.returncode:
        sys.exit(f"tsc --strict does not accept examples/level1/typescript:\n{compiled.stdout}{compiled.stderr}")
    rounds = [Round(program) for program in PROGRAMS]
    rounds += [Round(program, fault) for program in PROGRAMS for fault in program.faults]
    with ThreadPoolExecutor(ROUNDS_AT_ONCE) as pool:
        found = list(pool.map(lambda judged: (judged, complaint(judged, go)), rounds))
    for judged, wrong in found:
        print(f"{'✗' if wrong else '✓'} {judged}{f': {wrong}' if wrong else ''}")
    if any(wrong for _, wrong in found):
        sys.exit(1)


if __name__ == "__main__":
    main()
