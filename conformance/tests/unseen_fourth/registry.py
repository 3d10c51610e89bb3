"""The fourth set of unseen servers: an airport."""

from __future__ import annotations

from unseen.registry import UnseenSet

_FOURTH = UnseenSet(
    "unseen_fourth", ("texts", "json_values", "displays", "errors", "tools", "binding", "plain_results", "odd")
)
breaks, permitted, unseen_fourth = _FOURTH.breaks, _FOURTH.permitted, _FOURTH.servers
