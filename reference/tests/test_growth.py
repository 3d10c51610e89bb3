"""What tells linear work from quadratic work: it fails no test of a busy machine, and misses no square."""

from __future__ import annotations

from collections.abc import Callable

from support.growth import is_linear


def looped(number: int) -> Callable[[], None]:
    def work() -> None:
        for _ in range(number):
            pass

    return work


def test_work_in_proportion_to_its_size_is_linear_and_its_square_is_not() -> None:
    assert is_linear(lambda times: looped(times * 200_000))
    assert not is_linear(lambda times: looped(times * times * 200_000))
