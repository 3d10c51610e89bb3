"""Have clients chat through the gateway, and suites judge it: `python -m tools.front_ends [FRONT END …]`.

A table shows what became of each; then every difference from what must be, those with an exception in exceptions.json
with their reason. The exit code is 1 for a difference without one, and for an exception that did not occur.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Final

from tools.front_ends.chatting import cases_for, chats
from tools.front_ends.clients import CLIENTS
from tools.front_ends.judge import Difference, exceptions, judged, table
from tools.front_ends.suites import SUITES

ROOT: Final = Path(__file__).parents[2]
EXCEPTIONS: Final = Path(__file__).with_name("exceptions.json")

Run = tuple[list[Difference], list[tuple[str, str]]]
"""What was found, and the pairs of front end and case that were tried."""


async def run_client(name: str, folder: Path, *, newest: bool) -> Run:
    """Install a client and have it chat in every case."""
    client = CLIENTS[name]
    installed = await asyncio.to_thread(client.install, folder / name, newest=newest)
    print(f"{name} {installed.version}", flush=True)
    wanted = [*cases_for(client.can, client.at_once)]
    found, tried = await chats(name, installed.command, wanted, folder / name)
    return found, [(name, case) for case in tried]


async def run_suite(name: str, folder: Path) -> Run:
    """Install a suite and have it judge a gateway."""
    suite = SUITES[name]
    print(f"{name} {suite.version}", flush=True)
    found, tests = await suite.run(name, folder / name)
    return found, [(name, test) for test in tests]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    every = [*CLIENTS, *SUITES]
    parser.add_argument("front_ends", nargs="*", metavar="FRONT_END", help=f"one of {', '.join(every)}; default: all")
    parser.add_argument("--folder", type=Path, default=ROOT / ".nox" / "gateway_clients", help="for the environments")
    parser.add_argument("--newest", action="store_true", help="the newest versions of the clients from PyPI")
    options = parser.parse_args()
    if unknown := sorted(set(options.front_ends) - set(every)):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(every)}")
    sys.exit(report(options.front_ends or every, options.folder.resolve(), newest=options.newest))


def report(names: list[str], folder: Path, *, newest: bool) -> int:
    """Run the front ends one after the other and print what became of them; return the exit code."""
    found: list[Difference] = []
    ran: list[tuple[str, str]] = []
    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True)
        running = run_client(name, folder, newest=newest) if name in CLIENTS else run_suite(name, folder)
        more, tried = asyncio.run(running)
        found += more
        ran += tried
    judgement = judged(found, exceptions(EXCEPTIONS.read_text(encoding="utf-8")), ran)
    print()
    for some in (CLIENTS, SUITES):
        if lines := table(judgement, [one for one in ran if one[0] in some]):
            print("\n".join(lines), end="\n\n")
    for difference, known in judgement.excused:
        print(f"known: {difference.front_end}, {difference.case}: {difference.words}\n  {known.reason}")
    for difference in judgement.unexpected:
        print(f"WRONG: {difference.front_end}, {difference.case}, {difference.part}: {difference.words}")
    for one in judgement.outdated:
        print(f"WRONG: the exception of {one.front_end} in {one.case}, {one.part} did not occur: take it out")
    return 1 if judgement.unexpected or judgement.outdated else 0


if __name__ == "__main__":
    main()
