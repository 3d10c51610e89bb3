"""The second set of unseen servers: a clinic, where the first is a desk."""

from __future__ import annotations

from unseen.registry import UnseenSet

_SECOND = UnseenSet(
    "unseen_second", ("texts", "json_values", "displays", "errors", "tools", "binding", "plain_results", "odd")
)
breaks, permitted, unseen_second = _SECOND.breaks, _SECOND.permitted, _SECOND.servers
