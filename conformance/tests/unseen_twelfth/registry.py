"""The twelfth set of unseen servers: a theatre."""

from __future__ import annotations

from unseen.registry import UnseenSet

_TWELFTH = UnseenSet(
    "unseen_twelfth",
    ("texts", "json_values", "displays", "errors", "metadata", "binding", "plain_results", "odd"),
)
breaks, permitted, unseen_twelfth = _TWELFTH.breaks, _TWELFTH.permitted, _TWELFTH.servers
