"""Opaque state of a vendor in assistant messages: written, read, and left out for every other vendor. Pure.

A message carries it in one member whose name has the project's prefix, so that histories, snapshots and audit records
keep it without knowing what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from xmcp.chat.completions import VendorState
from xmcp.chat.messages import Message
from xmcp_models.registry import PREFIX

VENDOR_STATE_KEY: Final = f"{PREFIX}vendor_state"
"""Name of the member of an assistant message."""


def with_vendor_state(message: dict[str, Any], state: VendorState | None) -> dict[str, Any]:
    """Return the message with the state that its vendor wants back; unchanged without one."""
    return message if state is None else {**message, VENDOR_STATE_KEY: {"vendor": state.vendor, "value": state.value}}


def vendor_state(message: Message) -> VendorState | None:
    """Return the state in a message; `None` if it has none, or something that is not one."""
    member = message.get(VENDOR_STATE_KEY)
    if not isinstance(member, Mapping) or not isinstance(member.get("vendor"), str) or "value" not in member:
        return None
    return VendorState(member["vendor"], member["value"])


def for_vendor(messages: Sequence[Message], vendor: str | None) -> Sequence[Message]:
    """Return the messages as `vendor` may see them: without the state of any other; `None` leaves out every state.

    Messages that need no change are returned as they are, and so is the whole sequence.
    """
    # A loop, since `any()` over a generator takes three times as long, and most histories have no state.
    for message in messages:
        if VENDOR_STATE_KEY in message:
            return [_for_vendor(message, vendor) for message in messages]
    return messages


def without_vendor_state(message: Message) -> dict[str, Any]:
    """Return the message without the state of any vendor."""
    return {name: value for name, value in message.items() if name != VENDOR_STATE_KEY}


def _for_vendor(message: Message, vendor: str | None) -> Message:
    if VENDOR_STATE_KEY not in message:
        return message
    state = vendor_state(message)
    return message if state is not None and state.vendor == vendor else without_vendor_state(message)
