"""Ctrl-C and SIGTERM, seen at once whatever the main thread is doing.

Python runs signal handlers in the main thread, between two instructions. A signal that arrives when the event loop has
looked for signals and begins to wait does not wake it, and a second one is then taken for the first.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_signals(*, first: Callable[[], None], second: Callable[[], None]) -> Iterator[None]:
    """Call `first` and `second` when the first and the second stop signal arrive.

    From the second on they interrupt the main thread, unless Python has taken two for one while it was busy.

    Both may be called twice, and by a thread: a thread reads the pipe that Python tells every signal to, the handler
    does the same in the main thread, and the earlier of them counts. A child process made by a fork has neither.
    """
    calls = (first, second)
    calls_of_handler = iter(calls)
    told, tell = os.pipe()
    os.set_blocking(tell, False)

    def read() -> None:
        calls_of_thread = iter(calls)
        while number := os.read(told, 1):
            if number[0] in STOP_SIGNALS:
                next(calls_of_thread, second)()
        os.close(told)

    def handle(sig: int, frame: Any) -> None:
        call = next(calls_of_handler, second)
        call()
        if call is second:
            signal.default_int_handler(sig, frame)

    before: dict[signal.Signals, Any] = {}
    wakeup = -1

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)

    threading.Thread(target=read, name="xmcp signals", daemon=True).start()
    with _restored_in_forks(restore):
        try:
            wakeup = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
            for number in STOP_SIGNALS:
                before[number] = signal.signal(number, handle)
            yield
        finally:
            restore()
            os.close(tell)


@contextmanager
def _restored_in_forks(restore: Callable[[], None]) -> Iterator[None]:
    """Call `restore` in a forked process before a stop signal can arrive there: it shares the pipe of its parent."""
    active = True
    mask = threading.local()

    def block() -> None:
        mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)

    def unblock() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask.before)

    def restore_and_unblock() -> None:
        if active:
            restore()
        unblock()

    if not hasattr(os, "register_at_fork"):  # Windows has no forks
        yield
        return
    # What is registered stays registered: after the context, a fork does no more than hold its signals back.
    os.register_at_fork(before=block, after_in_parent=unblock, after_in_child=restore_and_unblock)
    try:
        yield
    finally:
        active = False
