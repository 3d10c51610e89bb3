"""How long a server that was told to end may take: the grace of its calls, and the end of a process that cannot end.

A thread cannot be stopped. While a synchronous tool blocks one, neither the event loop nor the interpreter can end, so
a process that was told to end (a signal, the end of its input) would stay for as long as the tool likes.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from typing import Final

GRACE: Final = 8.0
"""Default seconds that calls may take to finish; container runtimes kill ten seconds after they ask to end."""
CLEANUP: Final = 5.0
"""Seconds for everything after the grace: open streams, the lifespan, the last answers."""
AT_ONCE: Final = 1.0
"""Seconds for everything after a second signal."""
_STEP: Final = 0.05  # seconds between two looks at the clock
_FINALIZING: Final = 0.5  # seconds that an interpreter without blocked threads needs to end


class Ending:
    """Ends the process if it has not ended by itself in time.

    Nothing happens before `within` is called, nor to a program that goes on after its server has returned. Its methods
    may be called from a signal handler.
    """

    def __init__(self) -> None:
        self._at = math.inf
        self._returned = False
        self._watch: threading.Thread | None = None

    def within(self, seconds: float) -> None:
        """End the process after `seconds` unless the server has returned by then; an earlier end stays."""
        self._at = min(self._at, time.monotonic() + seconds)
        if self._watch is None:
            # A daemon without locks: a signal handler may start it at any point of the program.
            self._watch = threading.Thread(target=self._wait, name="xmcp ending", daemon=True)
            self._watch.start()

    def returned(self) -> None:
        """The server has returned: from now on the process is only ended where a blocked thread would keep it."""
        self._returned = True

    def _wait(self) -> None:
        while not self._returned:
            time.sleep(_STEP)
            if time.monotonic() >= self._at:
                _leave()
        while threading.main_thread().is_alive():  # ends when the program does, before its threads are waited for
            if not _blocked():
                return
            time.sleep(_STEP)
        time.sleep(_FINALIZING)
        _leave()


def _blocked() -> bool:
    return any(thread.name == "AnyIO worker thread" for thread in threading.enumerate())


def _leave() -> None:
    """End the process at once, with success: it was told to end."""
    sentence = "The server ends although a tool still runs in a thread, which cannot be stopped."
    # In a thread: nobody may read stderr any more.
    saying = threading.Thread(target=print, args=(sentence,), kwargs={"file": sys.stderr, "flush": True}, daemon=True)
    saying.start()
    saying.join(_STEP)
    os._exit(0)
