"""Run one client among honest and hostile peers for a while, and judge whether the honest chats notice.

    python -m tools.soak                      two minutes
    python -m tools.soak --seconds 7200       two hours
    python -m tools.soak --json soak.json     writes everything that was measured, too

Twenty tenants use one client: fifteen have honest chats with an honest server and model; the servers and models of the
other five die, flood, drip, lie, break off, storm or never end. A second client has the same honest chats at the same
time and no hostile peers, for comparison (run.py). Other programs on the same processors make both slower, and not
alike; `nice` does not help, because Linux weighs sessions before it weighs processes. As root, give the soak a session
that goes before theirs: `setsid sh -c 'echo -15 > /proc/self/autogroup; exec python -m tools.soak'`. Each demand has a
line with its verdict; the exit code is 1 if one is not met.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from tools.bench import open_files
from tools.soak.run import run
from tools.soak.verdicts import Measured, Verdict, judge


def report(measured: Measured, verdicts: list[Verdict]) -> str:
    """Return the report as text."""
    width = max(len(verdict.demand) for verdict in verdicts)
    lines = [f"{one.state:<11}{one.demand:<{width}}  {one.figures}" for one in verdicts]
    if measured.stalls:
        lines += ["", "the event loop of the client stood still, longest first:"]
        lines += [f"{seconds * 1000:8.0f} ms  {place}" for seconds, place in measured.stalls]
    used = ", ".join(f"{name} {share:.2f}" for name, share in measured.cpu.items()) or "unknown"
    lags = ", ".join(f"{name} {late * 1000:.0f} ms" for name, late in measured.lags.items()) or "unknown"
    lines += ["", f"processors in use: {used}", f"longest lag of the event loop: {lags}"]
    return "\n".join([*lines, f"the client among hostile peers was without a processor: {measured.starved:.0%}"])


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="length of the run; default: 120")
    parser.add_argument("--seed", type=int, default=1, help="decides which chats begin when; default: 1")
    parser.add_argument("--json", type=Path, metavar="PATH", help="file for everything that was measured")
    arguments = parser.parse_args()
    open_files.raise_limit()
    begun = time.monotonic()
    measured = run(
        arguments.seconds, arguments.seed, lambda text: print(f"{time.monotonic() - begun:6.0f} s  {text}", flush=True)
    )
    verdicts = judge(measured)
    if arguments.json is not None:
        value = {**measured.to_json(), "verdicts": [vars(verdict) for verdict in verdicts]}
        arguments.json.write_text(json.dumps(value, indent=1), encoding="utf-8")
    print(f"\n{report(measured, verdicts)}")
    sys.exit(any(verdict.state == "FAILED" for verdict in verdicts))


if __name__ == "__main__":
    main()
