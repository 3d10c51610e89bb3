"""The fifth set of unseen servers: an observatory."""

from __future__ import annotations

from unseen.registry import UnseenSet

_FIFTH = UnseenSet(
    "unseen_fifth", ("texts", "json_values", "displays", "errors", "tools", "binding", "plain_results", "odd")
)
breaks, permitted, unseen_fifth = _FIFTH.breaks, _FIFTH.permitted, _FIFTH.servers
