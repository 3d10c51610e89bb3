"""The events themselves, one JSON object a line, for a program that makes its own report.

Their shape is `events.schema.json` beside this file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from xmcp_conformance.core.events import Event

SCHEMA: Final = Path(__file__).with_name("events.schema.json")


def line(event: Event) -> str:
    """Return the event as one line of JSON, without the line end. It is ASCII: text of a peer cannot end the line."""
    return json.dumps(event.to_json())
