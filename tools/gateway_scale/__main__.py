"""Have many tenants chat with one gateway over HTTP, and judge whether they notice each other.

    python -m tools.gateway_scale                               50 tenants, 5,000 chats, a file of SQLite
    python -m tools.gateway_scale --chats 500 --tenants 10      a short one; memory is not judged
    python -m tools.gateway_scale --postgres postgresql://...   an empty database, or one that a gateway has already
    python -m tools.gateway_scale --workers 2                   two processes that serve

The gateway is the command `xmcp gateway` with a file of its own. Each tenant has a key in the database and credentials
of its own at the tool server; every fifth has a quota that its chats exceed. Chats are in one piece and as streams, on
`/chat` and `/v1`, with tools and without, in sessions; some clients leave, some are cut off and retry, some ask for
what others have. Model, tool server and database are read afterwards (verdicts.py). Each demand has a line with its
verdict; the exit code is 1 if one is not met.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time

from tools.bench import open_files
from tools.gateway_scale.run import run
from tools.gateway_scale.verdicts import judge


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.gateway_scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chats", type=int, default=5_000, help="default: 5000")
    parser.add_argument("--tenants", type=int, default=50, help="default: 50")
    parser.add_argument("--workers", type=int, default=1, help="processes that serve; default: 1")
    parser.add_argument("--postgres", metavar="URL", help="the database, in place of a file of SQLite")
    parser.add_argument("--seed", type=int, default=1, help="decides who chats how; default: 1")
    arguments = parser.parse_args()
    if arguments.tenants < 2 or arguments.chats < 20 * arguments.tenants:
        parser.error("give at least 2 tenants, and 20 chats for each: a quota needs some to be used up")
    open_files.raise_limit()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes end, too
    begun = time.monotonic()
    measured = run(
        arguments.chats,
        arguments.tenants,
        arguments.workers,
        arguments.postgres,
        arguments.seed,
        lambda text: print(f"{time.monotonic() - begun:6.0f} s  {text}", flush=True),
    )
    verdicts = judge(measured)
    width = max(len(verdict.demand) for verdict in verdicts)
    print("\n" + "\n".join(f"{one.state:<11}{one.demand:<{width}}  {one.figures}" for one in verdicts))
    sys.exit(any(verdict.state == "FAILED" for verdict in verdicts))


if __name__ == "__main__":
    main()
