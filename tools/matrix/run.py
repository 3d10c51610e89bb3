"""Try mutants in parallel processes."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import Final

import anyio

from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.wrong.kill_matrix import Tried, remembered, try_mutant

OPTIONS: Final = Options(examples=2, calls=75)
_REMEMBERED: Final = remembered()
"""Held for as long as the process lives: a context that nobody holds is left at once."""


def _try(requirement: str) -> list[Tried]:
    return anyio.run(try_mutant, requirement, OPTIONS)


def _remember() -> None:
    # What is remembered is never garbage; with the usual threshold, a third of the time would go into looking at it.
    gc.set_threshold(200_000, 20, 100)
    _REMEMBERED.__enter__()  # until the process ends


def run(requirements: Iterable[str]) -> list[Tried]:
    """Try mutants in a process for each processor, and say on standard error which are done."""
    tried: list[Tried] = []
    begun = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(os.cpu_count(), _remember) as pool:
        for done in pool.imap_unordered(_try, requirements):
            tried += done
            print(f"{time.monotonic() - begun:6.0f} s  {_line(done)}", file=sys.stderr, flush=True)
    return sorted(tried, key=lambda one: one.requirement)


def _line(done: list[Tried]) -> str:
    counts = Counter(one.verdict for one in done)
    return f"{done[0].requirement}  {', '.join(f'{count} {verdict}' for verdict, count in sorted(counts.items()))}"
