"""The eighth set of unseen servers: an observatory."""

from __future__ import annotations

from unseen.registry import UnseenSet

_EIGHTH = UnseenSet(
    "unseen_eighth",
    ("texts", "json_values", "displays", "errors", "metadata", "binding", "plain_results", "odd"),
)
breaks, permitted, unseen_eighth = _EIGHTH.breaks, _EIGHTH.permitted, _EIGHTH.servers
