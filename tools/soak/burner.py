"""Use a share of one processor: `python -m tools.soak.burner`. Each line of standard input is a new share, 0 to 1.

It stands for the work of the hostile peers while there are none, so that honest chats have the same load beside them.
"""

from __future__ import annotations

import os
import sys
import threading
import time

PERIOD = 0.02
"""Seconds; in each period the burner works for its share and sleeps for the rest."""


def main() -> None:
    """Work until the standard input ends."""
    share = 0.0

    def read() -> None:
        nonlocal share
        for line in sys.stdin:
            share = float(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        begun, worked = time.monotonic(), time.thread_time()
        while time.thread_time() - worked < share * PERIOD:
            sum(range(500))
        # What another process took from the period is not made up for: a burner never asks for more than its share.
        time.sleep(max(0.001, PERIOD - (time.monotonic() - begun)))


if __name__ == "__main__":
    main()
