"""Run the tests in FastMCP's sdist with `XMCP` in place of `FastMCP`.

Runs in an environment that has requirements.txt beside this file: `nox -s fastmcp_tests` makes one. The tests are
those of the installed version of FastMCP; the ordinary client of the package index downloads them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from tools.interop.fastmcp_tests.comparison import (
    Outcomes,
    expected_failures,
    failed,
    outdated,
    table,
    unexpected,
)

EXPECTED: Final = Path(__file__).with_name("expected_failures.json")
REPOSITORY: Final = Path(__file__).parents[3]
ABOUT_OTHER_THINGS: Final = ("tests/conformance", "tests/docs", "tests/downstream", "tests/scripts")
"""FastMCP's repository, its manual, and what needs Node or other packages."""
MOST_AGAIN: Final = 40
"""Maximum number of unexpected failures that run again alone; more of them are a fault, not chance."""
RUN_SECONDS: Final = 5400.0
TEST_SECONDS: Final = 60  # FastMCP's own limit is 5 s, too short for a machine that does other things as well


def source(folder: Path) -> Path:
    """Download the sdist of the installed FastMCP into `folder`, unless it is there; return its root.

    Raises:
        SystemExit: pip failed; the message says why.
    """
    name = f"fastmcp-{version('fastmcp')}"
    root = folder / name
    if root.is_dir():
        return root
    pinned = name.replace("-", "==")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        pinned,
        "--no-deps",
        "--no-binary",
        "fastmcp",
        "--dest",
        str(folder),
    ]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"pip could not download the source of {pinned}:\n{done.stdout}{done.stderr}")
    with tempfile.TemporaryDirectory(dir=folder) as unpacked:  # renamed only when it is whole
        with tarfile.open(folder / f"{name}.tar.gz") as archive:
            archive.extractall(unpacked, filter="data")
        (Path(unpacked) / name).rename(root)
    return root


def run(root: Path, tests: Sequence[str], *, replaced: bool = True, processes: int = 0) -> Outcomes:
    """Run `tests` below `root` and return their outcomes; with `replaced`, on XMCP.

    Raises:
        SystemExit: pytest failed to run, or took too long.
    """
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder, "outcomes.json")
        room = __package__ or ""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--tb=short",
            "-m",
            "not integration",
            "-p",
            "no:cacheprovider",
        ]
        command += ["-p", f"{room}.outcomes", "--write-outcomes", str(outcomes)]
        command += ["-p", f"{room}.replaced_class"] if replaced else []
        # The installed FastMCP is tested, not the one beside the tests.
        command += ["-o", "pythonpath=.", f"--timeout={TEST_SECONDS}", "-n", str(processes)]
        command += ["--continue-on-collection-errors", *(f"--ignore={path}" for path in ABOUT_OTHER_THINGS)]
        # Tests start `python` and `fastmcp` by name.
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PATH": programs}
        try:
            done = subprocess.run([*command, *tests], cwd=root, env=environment, timeout=RUN_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            sys.exit(f"FastMCP's tests did not end within {RUN_SECONDS:.0f} s.")
        if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            sys.exit(f"pytest ended with exit code {done.returncode}, without the outcomes of the tests.")
        found: Outcomes = json.loads(outcomes.read_text(encoding="utf-8"))
        return found


def judged(root: Path, outcomes: Outcomes, *, complete: bool) -> list[str]:
    """Print the numbers, and return a message for each fault.

    An unexpected failure counts if the test fails again alone, and passes on FastMCP in the same environment.
    """
    expected = expected_failures(EXPECTED.read_text(encoding="utf-8"))
    suspects = unexpected(outcomes, expected)
    if 0 < len(suspects) <= MOST_AGAIN:
        outcomes = {**outcomes, **run(root, sorted(suspects))}
        suspects = unexpected(outcomes, expected)
    also_theirs: set[str] = set()
    if 0 < len(suspects) <= MOST_AGAIN:
        also_theirs = suspects & failed(run(root, sorted(suspects), replaced=False))
    print(table(outcomes, expected), flush=True)
    for test in sorted(also_theirs):
        print(f"{test} fails here on FastMCP as well.")
    faults = [f"{test} passes on FastMCP and fails on XMCP." for test in sorted(suspects - also_theirs)]
    return faults + outdated(outcomes, expected, complete=complete)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where the source of FastMCP is kept")
    parser.add_argument("--processes", type=int, default=2, help="processes that run tests at once (default: 2)")
    parser.add_argument("tests", nargs="*", help="files, folders or ids of tests below FastMCP's root (default: all)")
    options = parser.parse_args()
    root = source(options.folder.resolve())
    outcomes = run(root, options.tests or ["tests"], processes=options.processes)
    faults = judged(root, outcomes, complete=not options.tests)
    if faults:
        sys.exit("\n".join([*faults, f"What XMCP does otherwise on purpose is listed in {EXPECTED.name}, by reason."]))


if __name__ == "__main__":
    main()
