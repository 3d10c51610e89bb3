"""The fixture `xmcp_check`, used by tests in a folder of their own, as an adopter has it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TESTS = """
import sys
import pytest
from xmcp import XMCP

mcp = XMCP("mine")

@mcp.tool(annotations={{"readOnlyHint": True}})
def echo(text: str) -> str:
    return text

def mutant(requirement):
    return [sys.executable, "-m", "xmcp_conformance.mutants", requirement]

FEW = {{"examples": 1, "calls": 8, "connect_timeout": 120.0}}

{test}
"""


def outcome(folder: Path, test: str) -> tuple[dict[str, int], str]:
    """Run tests in a process of their own; return how many ended how, and what was printed."""
    (folder / "test_mine.py").write_text(TESTS.format(test=test))
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", ".", "-q", "test_mine.py"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600)
    last = done.stdout.strip().splitlines()[-1].strip("= ").split(" in ")[0]
    counts = dict(reversed(part.split()) for part in last.split(", "))
    return {word: int(number) for word, number in counts.items()}, done.stdout


def test_a_server_object_and_a_command_that_conform_pass_and_the_report_says_more(tmp_path: Path) -> None:
    counts, said = outcome(
        tmp_path,
        """
def test_object(xmcp_check):
    report = xmcp_check(mcp, require=["100%", "XMCP-RSP-022"], strict=True, **FEW)
    assert report.coverage.at_work == 1

async def test_in_a_coroutine(xmcp_check):
    xmcp_check(mcp, eras=("newest",), **FEW)

test_in_a_coroutine = pytest.mark.asyncio(test_in_a_coroutine)
""",
    )
    assert counts == {"passed": 2}, said


def test_a_broken_sentence_fails_the_test_with_what_was_seen_and_no_traceback(tmp_path: Path) -> None:
    counts, said = outcome(
        tmp_path,
        """
def test_broken(xmcp_check):
    xmcp_check(mutant("XMCP-RSP-023"), **FEW)

def test_not_seen(xmcp_check):
    xmcp_check(mcp, require=["other"], **FEW)

def test_not_there(xmcp_check):
    xmcp_check([sys.executable, "-c", "0"], **FEW)

def test_no_server(xmcp_check):
    with pytest.raises(TypeError, match="is no server"):
        xmcp_check(7)
    with pytest.raises(TypeError, match="needs a server"):
        xmcp_check()
""",
    )
    assert counts == {"failed": 3, "passed": 1}, said
    assert "✗ XMCP-RSP-023 (section 2.3)" in said
    assert "DOES NOT CONFORM" in said
    assert "NOT SHOWN TO CONFORM: required: " in said
    assert "ended before it answered" in said
    assert "pytest_plugin.py" not in said


def test_pytest_loads_nothing_of_the_suite_before_the_fixture_is_used() -> None:
    program = (
        "import sys, xmcp_conformance.pytest_plugin;"
        "print([one for one in ('mcp', 'rich', 'hypothesis', 'xmcp_models', 'fastmcp') if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.strip("[]\n").replace("'", "").split(", ")) - {""}
    assert loaded <= {"rich"}, "pytest itself may have loaded it"
