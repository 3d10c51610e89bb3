"""Parameters that the application fills in (requirement C25): the model does not see them and cannot set them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmcp.client.hooks.callbacks import CALLBACK_SECONDS, call
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.tools.catalogue import Entry
from xmcp.client.tools.input_schema import declared, needed
from xmcp.wire import ErrorInfo


def hidden(params: Mapping[str, Any], entry: Entry) -> list[str]:
    """The parameters of a tool that the application fills in: those of its names that the schema knows anywhere."""
    if not params:
        return []
    known = declared(entry.input_schema)
    return [name for name in params if name in known]


async def filled(params: Mapping[str, Any], entry: Entry, state: ToolState) -> dict[str, Any] | ErrorInfo:
    """The arguments with the application's values in them, or `MISSING_SERVER_PARAM`.

    A value can be a function of the call, sync or async. `None` and `LookupError` say that there is none: the
    parameter is then absent, which is an error where the tool needs it.
    """
    # Also where the schema does not know the name: what the application calls its own is never the model's to set.
    arguments = {name: value for name, value in state.arguments.items() if name not in params}
    for name in hidden(params, entry):
        value = params[name]
        try:
            value = await call(value, state, seconds=CALLBACK_SECONDS) if callable(value) else value
        except LookupError:
            value = None
        if value is not None:
            arguments[name] = value
        elif name in needed(entry.input_schema):
            return ErrorInfo(
                "MISSING_SERVER_PARAM",
                f"The application has no value for the parameter {name!r} of this tool.",
                meta={"side_effects": "none"},
            )
    return arguments
