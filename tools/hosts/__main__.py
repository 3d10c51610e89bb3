"""Run the hosts that can run here, and compare what their model gets with the data: `python -m tools.hosts [HOST …]`.

A difference is printed with its case, and the exit code is 1. `--show` prints what each model got, to write the data
from.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.hosts.cases import CASES
from tools.hosts.comparison import differences
from tools.hosts.environments import ROOT, RUN_HERE, Installed
from tools.hosts.fixture_server import fixture_server
from tools.hosts.stand_in_model import Heard, stand_in_model
from xmcp_conformance.hosts.rules import hosts

SECONDS: Final = 600.0
"""Time limit for all chats of a host."""

MOST_SHOWN: Final = 1_000
"""Characters of a text above which `--show` prints only their number."""


def measure(installed: Installed) -> dict[str, Heard]:
    """Run a host with every case; return what its model heard after each tool.

    Raises:
        SystemExit: the driver failed; the message holds its output.
    """
    with fixture_server() as server, stand_in_model() as model:
        given = [json.dumps(server), json.dumps(model.url), json.dumps(list(CASES))]
        done = subprocess.run(
            [*installed.command, *given, *installed.last_arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": "" if installed.command[0] != sys.executable else str(ROOT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{installed.command[-1]} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return model.heard


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hosts", nargs="*", metavar="HOST", help=f"one of {', '.join(RUN_HERE)}; default: all")
    parser.add_argument("--folder", type=Path, default=ROOT / ".nox" / "hosts", help="for the environments")
    parser.add_argument("--show", action="store_true", help="print what each model got")
    options = parser.parse_args()
    unknown = set(options.hosts) - set(RUN_HERE)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))} cannot run here; these can: {', '.join(RUN_HERE)}")
    data = {host.name: host for host in hosts()}
    wrong = 0
    for name in options.hosts or RUN_HERE:
        installed = RUN_HERE[name].install(options.folder.resolve() / name)
        heard = measure(installed)
        lines = differences(data[name], installed.version, heard)
        print(
            f"{name} {installed.version}: {'as the data says' if not lines else f'{len(lines)} differences'}",
            flush=True,
        )
        for line in lines:
            print(f"  {line}")
        if options.show:
            for case, got in heard.items():
                text = got.texts if len(got.text) < MOST_SHOWN else f"{len(got.text)} characters"
                print(f"  {case}: {text}, {got.images} images, {got.other}")
        wrong += len(lines)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
