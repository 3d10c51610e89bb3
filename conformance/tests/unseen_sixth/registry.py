"""The sixth set of unseen servers: a theatre."""

from __future__ import annotations

from unseen.registry import UnseenSet

_SIXTH = UnseenSet(
    "unseen_sixth",
    ("texts", "json_values", "displays", "errors", "parameters", "binding", "plain_results", "odd"),
)
breaks, permitted, unseen_sixth = _SIXTH.breaks, _SIXTH.permitted, _SIXTH.servers
