"""The fourteenth set of unseen servers: a harbour office."""

from __future__ import annotations

from unseen.registry import UnseenSet

_FOURTEENTH = UnseenSet(
    "unseen_fourteenth",
    ("texts", "json_values", "displays", "errors", "metadata", "binding", "plain_results", "parameters", "odd"),
)
breaks, permitted, unseen_fourteenth = _FOURTEENTH.breaks, _FOURTEENTH.permitted, _FOURTEENTH.servers
