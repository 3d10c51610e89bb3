"""Wrong clients, each as a trace that breaks one sentence, with a twin that differs in the fault only and is right.

What the checks of `client_checks` are tested with. A fault is a function of one flag: with it the client is wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from xmcp_conformance.client_trace import Trace

Fault = Callable[[bool], Trace]

FAULTS: dict[str, list[Fault]] = {}
"""The faults by the sentence that they break."""


def breaks(id_: str) -> Callable[[Fault], Fault]:
    """Registers a fault under the sentence that it breaks."""

    def register(fault: Fault) -> Fault:
        FAULTS.setdefault(id_, []).append(fault)
        return fault

    return register


def all_faults() -> dict[str, list[Fault]]:
    """Every fault, by the sentence that it breaks."""
    from . import calls, chats, failing, offers, showing  # each registers its faults

    del calls, chats, failing, offers, showing
    return FAULTS
