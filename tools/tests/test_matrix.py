"""The kill matrix: its processes judge equal answers once, for as long as they live."""

from __future__ import annotations

import subprocess
import sys

from tools import ROOT

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
