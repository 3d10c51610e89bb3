"""When a worker is started again, and how its end is told."""

from __future__ import annotations

import signal
from itertools import accumulate

from xmcp.gateway.workers.restarts import LONG_LIFE, next_delay, way_of_ending


def test_delays_double_up_to_half_a_minute_and_begin_anew_after_a_minute_of_serving() -> None:
    delays = list(accumulate([0.0] * 8, next_delay))
    assert delays == [0, 1, 2, 4, 8, 16, 30, 30]
    assert next_delay(30, LONG_LIFE - 1) == 30
    assert next_delay(30, LONG_LIFE) == 1


def test_an_end_is_told_by_its_code_or_by_the_name_of_its_signal() -> None:
    assert way_of_ending(3) == "exit code 3"
    assert way_of_ending(-signal.SIGKILL) == "signal SIGKILL"
    assert way_of_ending(-200) == "signal 200"
