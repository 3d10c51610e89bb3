"""What happens at a call to the parameters that the server fills in (spec sections 2.7 and 5.3)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastmcp.server.context import Context
from fastmcp.server.dependencies import get_access_token, get_http_headers, get_http_request
from pydantic_core import to_jsonable_python

from xmcp.server.errors import XMCPError
from xmcp.server.lone_surrogates import without_lone_surrogates
from xmcp.server.parameters.model_fields import object_sent
from xmcp.server.parameters.providers import ParamProviders, ParamRequest
from xmcp.server.parameters.sensitive import Secrets
from xmcp.server.parameters.server_parameters import ServerParameter

logger = logging.getLogger("xmcp.server")


@dataclass(frozen=True, slots=True)
class FilledArguments:
    """The arguments to call a tool with, and the `server_populated` object about them (spec section 2.7)."""

    arguments: dict[str, Any]
    server_populated: dict[str, Any]


async def fill(
    tool_name: str,
    arguments: Mapping[str, Any],
    wanted: Mapping[str, ServerParameter],
    providers: ParamProviders,
    context: Context | None,
    sensitive: list[Any],
) -> FilledArguments:
    """Return the arguments with a value for each of the parameters `wanted`.

    A value that the caller sent for one is replaced. If no provider has a value, the function's default is used.
    Values of sensitive parameters are added to `sensitive` as soon as they are known.

    Raises:
        XMCPError: `FORBIDDEN_PARAM_OVERRIDE`: the caller sent a value and the server rejects that.
            `MISSING_SERVER_PARAM`: no provider has a value, and there is no default.
        Exception: Any exception of a provider that is not a `LookupError`.
    """
    own, sent = _set_aside(arguments, wanted)
    if sent and providers.rejects:
        raise forbidden(sent)
    headers, token = _headers(), get_access_token()
    values: dict[str, Any] = {}
    for name, parameter in wanted.items():
        request = ParamRequest(
            name=name, tool_name=tool_name, arguments=own, headers=headers, access_token=token, context=context
        )
        try:
            values[name] = await providers.value(request, accepts_none=parameter.accepts_none)
        except LookupError as missing:
            if parameter.default is None:
                extra = {"tool": tool_name}
                logger.warning(
                    "The tool %r has no value for its parameter %r: %s.", tool_name, name, missing, extra=extra
                )
                raise _missing(name) from None
            values[name] = parameter.default()
        if parameter.sensitive:
            sensitive.append(values[name])
    # A value that may be disclosed can contain one that must not be: a URL with a key.
    secrets = Secrets(sensitive)
    values_shown = {
        name: secrets.out_of(_as_json(value)) for name, value in values.items() if not wanted[name].sensitive
    }
    parts = {
        "values": values_shown,
        "redacted": [name for name in wanted if name not in values_shown],
        "overridden": [*sent],
    }
    filled = {**own}  # the requests keep the caller's
    for name, value in values.items():
        if (model := wanted[name].model) is None:
            filled[name] = value
        else:
            filled[model.parameter] = {**filled[model.parameter], name: value}
    return FilledArguments(filled, server_populated={key: part for key, part in parts.items() if part})


def _set_aside(
    arguments: Mapping[str, Any], wanted: Mapping[str, ServerParameter]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arguments without the parameters `wanted`, and a JSON Pointer to each of these that was sent."""
    own = {name: value for name, value in arguments.items() if name not in wanted}
    sent = {name: f"/{name}" for name in wanted if name in arguments}
    for name, parameter in wanted.items():
        if (model := parameter.model) is not None:
            own[model.parameter] = fields = object_sent(own, model)
            if name in fields:
                del fields[name]
                sent[name] = f"/{model.parameter}/{name}"
    return own, sent


def _as_json(value: Any) -> Any:
    return without_lone_surrogates(to_jsonable_python(value, fallback=str, bytes_mode="base64"))


def _headers() -> dict[str, str]:
    """Return the headers of the request; of two with one name neither counts alone (RFC 9110, section 5.3).

    A caller can send a header that a proxy adds as well: taking one of them would let the caller choose a user.
    """
    try:
        headers = get_http_request().headers
    except RuntimeError:  # no HTTP, or a background task, which has the headers of its request
        return get_http_headers(include_all=True)
    return {name.lower(): ", ".join(headers.getlist(name)) for name in headers}


def forbidden(sent: Mapping[str, str]) -> XMCPError:
    """Return the error for a caller that sent values for parameters that the server fills in.

    `sent` maps the name of each to the JSON Pointer of what was sent.
    """
    listed = ", ".join(map(repr, sent))
    reason = {"reason": "forbidden", "message": "The server fills this parameter in"}
    return XMCPError(
        "FORBIDDEN_PARAM_OVERRIDE",
        f"The server fills in {listed}. Call the tool again without it.",
        meta={"fields": [{"pointer": pointer, **reason} for pointer in sent.values()], "side_effects": "none"},
    )


def _missing(name: str) -> XMCPError:
    return XMCPError(
        "MISSING_SERVER_PARAM",
        f"The server has no value for {name!r}, which it fills in itself. You cannot set it.",
        meta={"params": {"parameter": name}, "side_effects": "none"},
    )
