"""Hypothesis as a generator of values: what it draws depends on the strategy and the seed, and on nothing else."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider

_T = TypeVar("_T")
_BACKEND: Final = "xmcp-conformance"


class WithoutConstants(HypothesisProvider):
    """Draws no constants, also none from the source of the modules that happen to be loaded.

    Hypothesis mixes those in, which is good for tests of those modules. Here they are those of the suite, or of what
    loads it: the same seed would make other calls in a clone than from a wheel, and reading them takes half a second.
    The texts and numbers that break programs, the suite puts in by itself.
    """

    def _maybe_draw_constant(self, *_: Any, **__: Any) -> None:
        return None


AVAILABLE_PROVIDERS[_BACKEND] = f"{__name__}.{WithoutConstants.__name__}"


def drawn(strategy: st.SearchStrategy[_T], examples: int, seed_: int) -> list[_T]:
    """Return up to so many values of a strategy, the same for the same seed; some come more than once.

    Raises:
        HypothesisException: the strategy is wrong, or yields nothing.
    """
    values: list[_T] = []

    @settings(
        max_examples=max(examples, 1),
        backend=_BACKEND,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @seed(seed_)
    @given(strategy)
    def collect(value: _T) -> None:
        values.append(value)

    collect()
    return values
