"""The codec, the server and the client in TypeScript, which were written from the text alone, conform."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.checked import check

from tools import ROOT
from tools.node_packages import NODE_FOLDER, Packages
from xmcp_conformance.profiles.client.drawn_themes import ABOUT
from xmcp_conformance.profiles.client.scenarios import SCENARIOS
from xmcp_conformance.profiles.codec.check_command import check_command
from xmcp_conformance.profiles.codec.vectors import load, shipped
from xmcp_conformance.reports.case_report import VECTORS, CaseReport

FOLDER = ROOT / "conformance" / "adapters" / "typescript"
NODE = str(NODE_FOLDER / "node")
DRAWN = len(ABOUT)
OVER_HTTP = DRAWN + sum(
    all(act.kind != "down" for acts in one.acts.values() for act in acts) for one in SCENARIOS.values()
)
"""The number of scenarios that are run over HTTP, with those that are drawn."""
WHOLE = ("--strict", "--allow-writes", "--require", "100%", "--calls", "24")

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def packages() -> None:
    Packages(FOLDER, "The codec and the server in TypeScript are judged by the suite.").install()


@contextmanager
def served_over_http() -> Iterator[str]:
    """Provide the URL of the server in TypeScript, at a free port."""
    command = [NODE, str(FOLDER / "server.ts"), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield next(found[0] for line in process.stderr if (found := re.search(r"http://\S+", line)))
        finally:
            process.terminate()


def test_the_server_in_typescript_conforms_over_stdio() -> None:
    done = check("server", "--stdio", shlex.join([NODE, str(FOLDER / "server.ts")]), *WHOLE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Level 2: holds" in done.stdout


def test_the_server_in_typescript_conforms_over_http() -> None:
    with served_over_http() as url:
        done = check("server", "--url", url, *WHOLE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_client_in_typescript_conforms() -> None:
    done = check("client", shlex.join([NODE, str(FOLDER / "client_adapter.ts")]), "--strict", "--start-timeout", "120")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"of {OVER_HTTP} scenarios" in done.stdout, "it lacks a feature"


def test_the_codec_in_typescript_conforms() -> None:
    report = CaseReport(VECTORS)
    command = [NODE, str(FOLDER / "adapter.ts")]
    check_command(command, load(shipped()), report.add, examples=100, start_timeout=120, answer_timeout=60)
    faults = [f"{name}: {fault.observation}" for name, case in report.seen.items() for fault in case.faults]
    assert (faults, report.not_judged) == ([], [])
    assert len(report.seen) > 600
    assert not any("the direction" in note for note in report.notes)
