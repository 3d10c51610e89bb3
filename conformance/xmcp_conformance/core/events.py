"""The events of a run of the suite, in order: what a profile writes and what each report is folded from."""

from __future__ import annotations

from dataclasses import dataclass

from .observation import Observation


@dataclass(frozen=True, slots=True)
class Observed:
    """A requirement applied. `run` is the peer, file, codec or trace; `call` is the call or vector in it, if any."""

    observation: Observation
    run: str = ""
    call: str = ""
