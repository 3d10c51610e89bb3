"""Checks that no answer of a gateway has a credential (section 10.6)."""

from __future__ import annotations

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.profiles.gateway.seen import Answered, Seen


@check("XMCP-REC-045", profile="gateway")
def _has_no_credential(seen: Seen) -> Observations:
    """Judge an answer; the report does not say the credential."""
    if isinstance(seen, Answered) and seen.credentials:
        answer = seen.answer
        found = any(one.encode() in answer.raw or one in answer.headers for one in seen.credentials)
        seen_ = "a key that the suite sent, or that the gateway sent to the model"
        yield either("XMCP-REC-045", not found, seen_, "an answer without it")
