"""The tenth set of unseen servers: a harbour."""

from __future__ import annotations

from unseen.registry import UnseenSet

_TENTH = UnseenSet(
    "unseen_tenth",
    ("texts", "json_values", "displays", "errors", "metadata", "binding", "plain_results", "odd"),
)
breaks, permitted, unseen_tenth = _TENTH.breaks, _TENTH.permitted, _TENTH.servers
