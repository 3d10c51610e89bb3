"""The kill matrix: its processes judge equal answers once, for as long as they live."""

from __future__ import annotations

import subprocess
import sys

from tools import ROOT
from tools.matrix.__main__ import PAGE
from xmcp_conformance.wrong.registry import server_mutants

LOOKS = """
import gc
from tools.matrix.run import _remember
from xmcp_conformance.profiles.server import run
judged = run.exchange_observations
_remember()
gc.collect()
print(run.exchange_observations is not judged)
"""


def test_a_process_of_the_matrix_remembers_until_it_ends() -> None:
    done = subprocess.run([sys.executable, "-c", LOOKS], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_the_page_has_a_row_for_each_mutant() -> None:
    """The whole matrix is no part of CI; this shows that it was run since the newest mutant was written."""
    page = PAGE.read_text(encoding="utf-8")
    assert [requirement for requirement in server_mutants() if f"| {requirement} |" not in page] == []
