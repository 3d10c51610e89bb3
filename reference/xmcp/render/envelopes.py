"""What a renderer is given: an envelope as an object or as a mapping, of any origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from xmcp.chat.json_values import as_json
from xmcp.render.view import View, plan
from xmcp.wire import DisplayEnvelope, in_json_types
from xmcp_models.display_envelope import DisplayEnvelope as EnvelopeModel

AnyEnvelope: TypeAlias = EnvelopeModel | Mapping[str, Any]
"""A display; a broken one is shown by the fallback ladder, never refused."""


def members_of(envelope: AnyEnvelope) -> Mapping[str, Any]:
    """Return the members of an envelope; of an object, as the JSON that a server would send."""
    if not isinstance(envelope, EnvelopeModel):
        return envelope
    members = envelope.to_dict() if isinstance(envelope, DisplayEnvelope) else envelope.model_dump(exclude_none=True)
    try:
        return in_json_types(members, "display")  # type: ignore[no-any-return]
    except (TypeError, ValueError):  # a value that no server could send; the rest of the display is shown all the same
        return as_json(members)  # type: ignore[no-any-return]


def view_of(envelope: AnyEnvelope) -> View:
    """Return what to show for an envelope."""
    return plan(members_of(envelope))
