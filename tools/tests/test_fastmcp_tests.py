"""The run of FastMCP's own tests: what counts as a fault, and that they run on XMCP."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.interop.fastmcp_tests import __main__ as runner
from tools.interop.fastmcp_tests.comparison import Expected, expected_failures, outdated, table, unexpected

MASKED = Expected("masked", "Texts of exceptions are not sent.", frozenset({"t.py::a", "t.py::b"}))
WORDS = Expected("error_text", "The words differ.", frozenset({"t.py::c"}))
LISTED = [MASKED, WORDS]


def text_of(**tests: list[str]) -> str:
    return json.dumps({name: {"reason": "It is right.", "tests": ids} for name, ids in tests.items()})


def test_the_committed_list_is_valid_and_not_too_long():
    assert expected_failures(runner.EXPECTED.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"masked": {"reason": " ", "tests": []}}', "needs a reason"),
        (text_of(masked=["b", "a"]), "must be sorted"),
        (text_of(masked=["a", "a"]), "must be sorted"),
        (text_of(masked=["a"], http=["a"]), "Listed in two classes: a"),
        (text_of(masked=[f"{n:03}" for n in range(60)], http=[f"h{n:03}" for n in range(41)]), "101 failures"),
    ],
)
def test_a_wrong_list_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        expected_failures(text)


def test_failures_of_the_error_text_do_not_count_against_the_limit():
    assert len(expected_failures(text_of(error_text=[f"{n:03}" for n in range(300)]))) == 1


def test_a_failure_that_is_not_listed_is_unexpected():
    outcomes = {"t.py::a": "failed", "t.py::d": "failed", "t.py::e": "passed"}
    assert unexpected(outcomes, LISTED) == {"t.py::d"}


@pytest.mark.parametrize(
    ("outcome", "complete", "faults"), [("passed", False, 1), ("skipped", True, 1), (None, True, 1)]
)
def test_a_listed_test_that_does_not_fail_any_more_is_a_fault(outcome, complete, faults):
    outcomes = {"t.py::b": "failed", "t.py::c": "failed", **({"t.py::a": outcome} if outcome else {})}
    messages = outdated(outcomes, LISTED, complete=complete)
    assert len(messages) == faults
    assert messages[0].startswith("t.py::a is listed under masked")


def test_a_part_of_the_tests_says_nothing_about_the_others():
    assert outdated({"t.py::a": "failed"}, LISTED, complete=False) == []


def test_the_table_counts_failures_by_their_reason():
    rows = table({"t.py::a": "failed", "t.py::c": "failed", "t.py::d": "failed", "t.py::e": "passed"}, LISTED)
    assert [line.split() for line in rows.splitlines()] == [
        ["passed", "1"],
        ["skipped", "0"],
        ["failed", "3"],
        ["masked", "1"],
        ["error_text", "1"],
        ["unexpected", "1"],
    ]


@pytest.fixture
def later_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The runs after the first one, as (replaced, outcomes), and a list file with `LISTED`."""
    runs: list[tuple[bool, dict[str, str]]] = []
    file = tmp_path / "expected.json"
    file.write_text(text_of(masked=["t.py::a"]), encoding="utf-8")
    monkeypatch.setattr(runner, "EXPECTED", file)

    def run(_root, tests, *, replaced=True, processes=0):
        expected, outcomes = runs.pop(0)
        assert replaced is expected
        assert list(tests) == ["t.py::d"]
        return outcomes

    monkeypatch.setattr(runner, "run", run)
    return runs


FIRST = {"t.py::a": "failed", "t.py::d": "failed"}


def test_a_test_that_passes_alone_failed_by_chance(later_runs):
    later_runs += [(True, {"t.py::d": "passed"})]
    assert runner.judged(Path(), FIRST, complete=True) == []


def test_a_test_that_fails_here_on_fastmcp_as_well_is_no_fault(later_runs, capsys):
    later_runs += [(True, {"t.py::d": "failed"}), (False, {"t.py::d": "failed"})]
    assert runner.judged(Path(), FIRST, complete=True) == []
    assert "t.py::d fails here on FastMCP as well" in capsys.readouterr().out


def test_a_test_that_only_fails_on_xmcp_is_a_fault(later_runs):
    later_runs += [(True, {"t.py::d": "failed"}), (False, {"t.py::d": "passed"})]
    assert runner.judged(Path(), FIRST, complete=True) == ["t.py::d passes on FastMCP and fails on XMCP."]


EXAMPLES = """
import pytest
from fastmcp import Client, FastMCP
from fastmcp.server import FastMCP as again, create_proxy
from fastmcp.server.server import FastMCP as once_more

async def test_it_is_xmcp():
    import xmcp
    mcp = FastMCP("mine")
    assert FastMCP is again is once_more
    assert isinstance(mcp, xmcp.XMCP) and mcp.wire == "negotiated"
    assert isinstance(FastMCP[dict]("typed"), xmcp.XMCP)
    assert isinstance(create_proxy(mcp), FastMCP)
    assert not isinstance("mine", FastMCP)

def test_that_fails():
    assert False

@pytest.fixture
def broken():
    yield
    raise ValueError

def test_whose_tear_down_fails(broken):
    pass

@pytest.mark.skip
def test_that_is_skipped():
    pass
"""


@pytest.mark.slow
def test_the_plugins_replace_the_class_and_write_outcomes_in_every_process(tmp_path: Path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n", encoding="utf-8")
    (tmp_path / "test_examples.py").write_text(EXAMPLES, encoding="utf-8")
    (tmp_path / "test_broken.py").write_text("import nothing_of_that_name", encoding="utf-8")
    outcomes = runner.run(tmp_path, ["."], processes=1)
    assert outcomes == {
        "test_broken.py": "failed",
        "test_examples.py::test_it_is_xmcp": "passed",
        "test_examples.py::test_that_fails": "failed",
        "test_examples.py::test_whose_tear_down_fails": "failed",
        "test_examples.py::test_that_is_skipped": "skipped",
    }


def test_a_run_without_tests_says_so(tmp_path: Path):
    with pytest.raises(SystemExit, match="exit code 4"):
        runner.run(tmp_path, ["nowhere.py"])


def test_the_command_line_says_what_it_needs():
    done = subprocess.run(
        [sys.executable, "-m", "tools.interop.fastmcp_tests", "--help"], capture_output=True, text=True, check=False
    )
    assert "--folder" in done.stdout
