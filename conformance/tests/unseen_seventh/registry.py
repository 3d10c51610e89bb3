"""The seventh set of unseen servers: a bakery."""

from __future__ import annotations

from unseen.registry import UnseenSet

_SEVENTH = UnseenSet(
    "unseen_seventh",
    ("texts", "json_values", "displays", "errors", "parameters", "binding", "plain_results", "odd"),
)
breaks, permitted, unseen_seventh = _SEVENTH.breaks, _SEVENTH.permitted, _SEVENTH.servers
