"""The third set of unseen servers: a freight yard, after a desk and a clinic."""

from __future__ import annotations

from unseen.registry import UnseenSet

_THIRD = UnseenSet(
    "unseen_third",
    ("texts", "json_values", "displays", "errors", "metadata", "binding", "plain_results", "odd_forms", "odd_manners"),
)
breaks, permitted, unseen_third = _THIRD.breaks, _THIRD.permitted, _THIRD.servers
