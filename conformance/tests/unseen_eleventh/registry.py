"""The eleventh set of unseen servers: a garden."""

from __future__ import annotations

from unseen.registry import UnseenSet

_ELEVENTH = UnseenSet(
    "unseen_eleventh",
    ("texts", "json_values", "displays", "errors", "metadata", "binding", "plain_results", "odd"),
)
breaks, permitted, unseen_eleventh = _ELEVENTH.breaks, _ELEVENTH.permitted, _ELEVENTH.servers
