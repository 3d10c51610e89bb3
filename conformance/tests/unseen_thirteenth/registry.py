"""The thirteenth set of unseen servers: a print shop."""

from __future__ import annotations

from unseen.registry import UnseenSet

_THIRTEENTH = UnseenSet(
    "unseen_thirteenth",
    ("texts", "json_values", "displays", "errors", "metadata", "binding", "plain_results", "odd"),
)
breaks, permitted, unseen_thirteenth = _THIRTEENTH.breaks, _THIRTEENTH.permitted, _THIRTEENTH.servers
