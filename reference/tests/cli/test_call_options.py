"""Which calls a check makes, how fast and for how long: known arguments, a rate, times."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from support.checked import FEW, check

pytestmark = pytest.mark.slow

SERVER = """
import time
from xmcp import XMCP, XMCPError
mcp = XMCP("orders")
calls = open("calls.txt", "a", buffering=1)

@mcp.tool(annotations={"readOnlyHint": True})
def order(number: str, note: str = "") -> str:
    print(time.time(), ascii(number), ascii(note), file=calls)
    if number != "A-17":
        raise XMCPError(code="NOT_FOUND", detail="There is no such order.")
    return f"The order {number}: {note}"

@mcp.tool(annotations={"readOnlyHint": True})
def slow(text: str) -> str:
    time.sleep(0.7)
    return text
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "server.py").write_text(SERVER)
    return tmp_path


def test_a_tool_that_knows_few_arguments_is_at_work_with_those_of_a_file(folder: Path) -> None:
    report, known = folder / "report.json", folder / "known.json"
    options = ("--exclude", "slow", "--calls", "30", "--era", "newest", "--json", str(report))
    done = check("server", "server.py", *options, cwd=folder)
    assert "Never succeeded: `order` (NOT_FOUND)" in done.stdout
    known.write_text(json.dumps({"order": {"number": "A-17", "show_user": True}}))
    done = check("server", "server.py", "--arguments", str(known), *options, "--require", "order", cwd=folder)
    assert (done.returncode, "Never succeeded" in done.stdout) == (0, False), done.stdout + done.stderr
    # Others are made from them: hostile texts in the note of that order.
    assert json.loads(report.read_text())["coverage"]["tools"]["order"]["succeeded"] > 3
    judged = {one["id"]: one["status"] for one in json.loads(report.read_text())["requirements"]}
    assert judged["XMCP-RSP-022"] == "pass"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"order": [{"number": "A-17"}, {"number": 17}]}, "at `/number`: this is not of type"),
        ({"order": {"nummer": "A-17"}}, "do not fit its input schema"),
        ({"oder": {"number": "A-17"}}, "No tool is called `oder`"),
    ],
)
def test_arguments_that_no_tool_takes_end_the_check_before_anything_is_called(
    folder: Path, given: dict[str, Any], words: str
) -> None:
    known = folder / "known.json"
    known.write_text(json.dumps(given))
    done = check("server", "server.py", "--arguments", str(known), *FEW, cwd=folder)
    assert (done.returncode, words in " ".join(done.stderr.split())) == (3, True), done.stderr
    assert (folder / "calls.txt").read_text() == ""


def test_a_required_tool_that_is_not_there_ends_the_check_before_anything_is_called(folder: Path) -> None:
    done = check("server", "server.py", "--require", "oder", *FEW, cwd=folder)
    assert (done.returncode, "No tool is called `oder`" in done.stderr) == (3, True), done.stderr
    assert (folder / "calls.txt").read_text() == ""


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("[]", "is no object; write"),
        ('{"order": []}', "has something else than arguments for `order`"),
        ('{"order": ["A-17"]}', "has something else than arguments for `order`"),
        ("{", "is not JSON"),
    ],
)
def test_a_file_that_has_no_arguments_is_wrong_usage(folder: Path, written: str, said: str) -> None:
    (folder / "known.json").write_text(written)
    done = check("server", "server.py", "--arguments", "known.json", cwd=folder)
    assert (done.returncode, said in " ".join(done.stderr.split())) == (2, True), done.stderr


def test_calls_come_no_faster_than_the_rate(folder: Path) -> None:
    (folder / "known.json").write_text(json.dumps({"order": {"number": "A-17"}}))
    options = ("--exclude", "slow", "--calls", "8", "--era", "newest", "--rate", "10", "--arguments", "known.json")
    assert check("server", "server.py", *options, cwd=folder).returncode == 0
    times = [float(line.split()[0]) for line in (folder / "calls.txt").read_text().splitlines()]
    assert len(times) >= 4
    assert (times[-1] - times[0]) / (len(times) - 1) > 0.09


def test_a_check_whose_time_is_over_says_so_and_is_not_green(folder: Path) -> None:
    report = folder / "report.json"
    begun = time.monotonic()
    options = ("--max-time", "4", "--rate", "5", "--calls", "300", "--json", str(report), "--events", "events")
    done = check("server", "server.py", *options, cwd=folder)
    assert time.monotonic() - begun < 60
    assert done.returncode == 1, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert re.search("NOT SHOWN TO CONFORM: .*the time allowed, 4 s, was over before all calls were made", said), said
    written = json.loads(report.read_text())
    assert any("the time allowed, 4 s" in one for one in written["shortcomings"])
    assert '"time_over"' in (folder / "events").read_text().splitlines()[-1]
    assert sum(run["calls"] for run in written["runs"]) < 40


def test_a_check_whose_time_is_over_before_the_first_answer_does_not_say_that_calls_failed(folder: Path) -> None:
    (folder / "server.py").write_text(f"import time\ntime.sleep(2)\n{SERVER}")
    done = check("server", "server.py", "--max-time", "1", cwd=folder)
    said = " ".join(done.stdout.split())
    assert (done.returncode, "--max-time allows more" in said, "Every call failed" in said) == (1, True, False), said


def test_one_tool_can_have_more_time_than_the_others(folder: Path) -> None:
    options = ("--include", "slow", "--calls", "3", "--era", "newest", "--call-timeout", "0.2")
    done = check("server", "server.py", *options, cwd=folder)
    assert (done.returncode, "no answer within 0.2 s" in " ".join(done.stdout.split())) == (1, True), done.stdout
    done = check("server", "server.py", *options, "--call-timeout", "sl*=20", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    done = check("server", "server.py", *options, "--call-timeout", "none=20", cwd=folder)
    assert (done.returncode, "No tool is called `none`" in done.stderr) == (3, True)
    for wrong in ("=3", "slow=", "slow=x", "0"):
        assert check("server", "server.py", "--call-timeout", wrong, cwd=folder).returncode == 2, wrong


@pytest.mark.parametrize("option", [("--exclude", "sl*"), ("--include", "quick")])
def test_what_is_required_and_left_out_is_wrong_usage(folder: Path, option: tuple[str, str]) -> None:
    done = check("server", "server.py", "--require", "slow", *option, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--require wants `slow` seen at work" in " ".join(done.stderr.split())
