"""The oracle of clients: what a trace shows of each sentence for clients, mostly of chapter 11.

The checks are written from the sentences alone. They recompute what was due from the setup and the records: which call
depends on which, what is handed on, what a client answers itself, when a chat ends. What a sentence leaves open, and
what a trace does not show, is not judged: a client may be slower, may try less often, and may answer for any of several
reasons that apply. One file has the checks of one subject.
"""

from __future__ import annotations

from xmcp_conformance.client_trace import Trace

from . import (  # noqa: F401 - each registers its checks
    arguments,
    breaker,
    caches,
    displays,
    documents,
    endings,
    failures,
    gates,
    history,
    interruptions,
    names,
    tenants,
    turns,
    values,
)
from .finding import CHECKS, Check, Finding, Violation
from .story import Story

__all__ = ["CHECKS", "Check", "Violation", "examined", "findings", "judge"]


def findings(trace: Trace) -> list[Finding]:
    """Each occasion that a trace gave to a sentence, obeyed or broken, in the order of the sentences.

    Raises:
        KeyError: a record speaks of a chat, a request or a call that never began.
    """
    story = Story(trace)
    found = [finding for check in dict.fromkeys(CHECKS.values()) for finding in check(story)]
    return sorted(found, key=lambda finding: (finding.id, finding.index))


def judge(trace: Trace) -> list[Violation]:
    """What a client did wrong, a broken SHOULD included.

    Raises:
        KeyError: a record speaks of a chat, a request or a call that never began.
    """
    return [Violation(f.id, f.index, f.seen, f.expected) for f in findings(trace) if not f.ok]


def examined(trace: Trace) -> set[str]:
    """The sentences for which a trace gave an occasion: what was not observed was not obeyed either.

    Raises:
        KeyError: a record speaks of a chat, a request or a call that never began.
    """
    return {finding.id for finding in findings(trace)}
