"""The queue: it never waits, it is bounded in records and bytes, and text is left out first."""

from __future__ import annotations

import threading
import time
from typing import Any

from xmcp.gateway.audit.record_queue import RecordQueue


def test_text_has_room_in_the_first_half_only_and_what_has_none_is_counted() -> None:
    queue: RecordQueue[int] = RecordQueue(10, 10_000, 500)
    assert [queue.put(n, 1, text=True) for n in range(8)] == [True] * 5 + [False] * 3
    assert [queue.put(n, 1) for n in range(7)] == [True] * 5 + [False] * 2
    assert queue.records == 10
    records, losses = queue.take()
    assert records == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
    assert {reason: loss.dropped for reason, loss in losses.items()} == {"text": 3, "queue_full": 2}
    assert queue.take() == ([], {})
    assert queue.put(1, 1, text=True)


def test_bytes_are_bounded_too() -> None:
    queue: RecordQueue[int] = RecordQueue(1000, 100, 500)
    assert queue.put(0, 60)
    assert not queue.put(0, 1, text=True)
    assert not queue.put(0, 41)
    assert queue.put(0, 40)
    assert queue.bytes == 100
    queue.take()
    assert queue.bytes == 0


def test_a_window_ends_when_it_is_over_when_a_batch_is_full_and_with_a_mark() -> None:
    queue: RecordQueue[int] = RecordQueue(1000, 10_000, 5)

    def seconds_of(*puts: int, mark: bool = False) -> float:
        def put() -> None:
            for number in puts:
                queue.put(number, 1, mark=mark)

        begun = time.monotonic()
        threading.Timer(0.05, put).start()
        queue.wait(0.4, 10)
        assert queue.take()[0] == [*puts]
        return time.monotonic() - begun

    assert 0.4 < seconds_of(1) < 2
    assert seconds_of(1, 2, 3, 4, 5) < 0.3
    assert seconds_of(1, mark=True) < 0.3
    begun = time.monotonic()
    threading.Timer(0.05, lambda: queue.put(7, 0, mark=True)).start()
    queue.wait(5, 10)
    assert time.monotonic() - begun < 2
    assert queue.take()[0] == [7]
    begun = time.monotonic()
    queue.wait(0.4, 0.1)
    assert time.monotonic() - begun < 0.4


def test_a_taker_sleeps_when_nothing_has_come_for_long_and_is_woken_by_a_record(monkeypatch: Any) -> None:
    monkeypatch.setattr("xmcp.gateway.audit.record_queue.PARK_SECONDS", 0.0)
    queue: RecordQueue[int] = RecordQueue(10, 100, 500)
    waits: list[float | None] = []
    wait = queue._wake.wait
    monkeypatch.setattr(queue._wake, "wait", lambda seconds: (waits.append(seconds), wait(seconds))[1])
    threading.Timer(0.2, lambda: queue.put(1, 1)).start()
    begun = time.monotonic()
    queue.wait(0.02, 30)
    assert time.monotonic() - begun < 10
    assert waits[0] == 30
    assert queue.take()[0] == [1]


def test_many_threads_put_and_nothing_is_lost_or_taken_twice() -> None:
    queue: RecordQueue[tuple[int, int]] = RecordQueue(1_000_000, 1_000_000, 500)
    threads = [
        threading.Thread(target=lambda name=name: [queue.put((name, n), 1) for n in range(5000)]) for name in range(4)
    ]
    for thread in threads:
        thread.start()
    taken: list[tuple[int, int]] = []
    while any(thread.is_alive() for thread in threads):
        queue.wait(0.001, 0.001)
        taken += queue.take()[0]
    taken += queue.take()[0]
    assert sorted(taken) == [(name, n) for name in range(4) for n in range(5000)]
    # Of each thread in its order.
    assert [n for name, n in taken if name == 2] == [*range(5000)]
