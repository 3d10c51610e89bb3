"""Parameters that the application fills in: the model neither sees them nor sets them (spec section 11.8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmcp.chat import client_made_errors
from xmcp.client.calls import server_results
from xmcp.client.calls.active_call import ActiveCall, Next, Stage, Warned
from xmcp.client.calls.server_results import Reading
from xmcp.client.hooks.callbacks import CALLBACK_SECONDS
from xmcp.client.hooks.callbacks import call as call_hook
from xmcp.client.hooks.middleware import ToolState
from xmcp.client.tools.catalogue import Entry
from xmcp.wire import ErrorInfo


def stage(params: Mapping[str, Any]) -> Stage | None:
    """Return the stage that sets `ActiveCall.settled`, and warns where the model wrote such a parameter itself."""
    if not params:
        return None

    async def fill_parameters(call: ActiveCall, proceed: Next) -> Reading:
        for name in hidden(params, call.entry):
            if name in call.state.arguments:
                text = f"The model gave a value for {name!r}, which the application fills in; it was not used."
                call.emit(Warned(call.request.call, text))
        arguments = await filled(params, call.entry, call.state)
        if isinstance(arguments, ErrorInfo):
            call.log.warning("param_missing", tool_name=call.name, message=arguments.message)
            return server_results.failed(call.name, arguments)
        call.settled = arguments
        return await proceed(call)

    return fill_parameters


def hidden(params: Mapping[str, Any], entry: Entry) -> list[str]:
    """Return which of the names in `params` the schema of a tool declares, at any depth."""
    return [name for name in params if name in entry.declared] if params else []


async def filled(params: Mapping[str, Any], entry: Entry, state: ToolState) -> dict[str, Any] | ErrorInfo:
    """Return the arguments with the application's values in them, or a `MISSING_SERVER_PARAM` error.

    A value can be a function of the call, sync or async. `None` and `LookupError` mean that there is no value: the
    parameter is then left out, which is an error if the tool requires it.
    """
    # Names that the schema does not know are removed too: what the application fills in is never the model's to set.
    arguments = {name: value for name, value in state.arguments.items() if name not in params}
    for name in hidden(params, entry):
        value = params[name]
        try:
            value = await call_hook(value, state, seconds=CALLBACK_SECONDS) if callable(value) else value
        except LookupError:
            value = None
        if value is not None:
            arguments[name] = value
        elif name in entry.needed:
            return client_made_errors.missing_app_parameter(name)
    return arguments
