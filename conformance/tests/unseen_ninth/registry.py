"""The ninth set of unseen servers: a workshop."""

from __future__ import annotations

from unseen.registry import UnseenSet

_NINTH = UnseenSet(
    "unseen_ninth",
    ("texts", "json_values", "displays", "errors", "metadata", "binding", "plain_results", "odd"),
)
breaks, permitted, unseen_ninth = _NINTH.breaks, _NINTH.permitted, _NINTH.servers
