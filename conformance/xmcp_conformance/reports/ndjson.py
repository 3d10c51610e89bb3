"""The events themselves, one JSON object a line, for a program that makes its own report."""

from __future__ import annotations

import json

from xmcp_conformance.core.events import Event


def line(event: Event) -> str:
    """Return the event as one line of JSON, without the line end. It is ASCII: text of a peer cannot end the line."""
    return json.dumps(event.to_json())
