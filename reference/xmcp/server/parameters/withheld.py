"""Sensitive values that a tool sends or logs while it runs (XMCP-TOL-022): messages to the client, and log records.

What a tool answers with is cleaned in `sensitive` and `tool`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mcp.server.session import ServerSession

from xmcp.server.call_state import current_call
from xmcp.server.fastmcp_internals.outgoing_messages import rewrite_messages
from xmcp.server.parameters.sensitive import Secrets

_AUTHORS_PARTS: Final[Mapping[str, frozenset[str]]] = {
    "notifications/message": frozenset({"data", "logger"}),
    "notifications/progress": frozenset({"message"}),
    "elicitation/create": frozenset({"message", "requestedSchema", "url"}),
    "sampling/createMessage": frozenset({"messages", "systemPrompt", "stopSequences", "metadata", "tools"}),
}
"""The parameters of a message that hold what the author wrote; the others belong to the protocol. Of a message that is
not listed here, all of them."""

_ROLE_AND_TYPE: Final = ("role", "type", "mimeType", "data")
"""Members of a sampling message and its content that are the protocol's, or binary data."""


def withhold(session: ServerSession, sensitive: Sequence[Any]) -> None:
    """Remove the values `sensitive`, also those added to it later, from every message sent through `session`."""

    def without_secrets(method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        secrets = Secrets(sensitive)
        parts = _AUTHORS_PARTS.get(method, params.keys())
        return {name: _cleaned(name, part, secrets) if name in parts else part for name, part in params.items()}

    rewrite_messages(session, without_secrets)


def _cleaned(name: str, part: Any, secrets: Secrets) -> Any:
    return [_sampling_message(entry, secrets) for entry in part] if name == "messages" else secrets.out_of(part)


def _sampling_message(message: Mapping[str, Any], secrets: Secrets) -> Any:
    """Return a message or a content block without the secrets; what makes it one is kept."""
    kept = {name: message[name] for name in _ROLE_AND_TYPE if name in message}
    match message.get("content"):
        case Mapping() as content:
            kept["content"] = _sampling_message(content, secrets)
        case list() as blocks:
            kept["content"] = [_sampling_message(block, secrets) for block in blocks]
    return {name: kept.get(name, secrets.out_of(part)) for name, part in message.items()}


_OF_EVERY_RECORD: Final = vars(logging.makeLogRecord({})).keys()


class WithoutSecrets(logging.Filter):
    """Removes the sensitive values of the call that is answered from log records, also from their tracebacks."""

    _formatter: Final = logging.Formatter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Clean the record, and let it through."""
        call = current_call.get()
        if call is None or not call.sensitive or not (secrets := Secrets(call.sensitive)):
            return True
        record.msg, record.args = secrets.out_of_text(record.getMessage()), None
        for name in vars(record).keys() - _OF_EVERY_RECORD:
            setattr(record, name, secrets.out_of(getattr(record, name)))
        if record.exc_info:
            record.exc_text = secrets.out_of_text(self._formatter.formatException(record.exc_info))
            record.exc_info = None  # a handler would write the traceback again
        return True


_LOGGERS: Final = (
    "xmcp.server",
    "fastmcp.server.server",
    "fastmcp.server.context.to_client",
    "fastmcp.errors",
    "fastmcp.retry",
    "fastmcp.middleware.logging",
    "fastmcp.middleware.structured_logging",
)
"""The loggers by which this server, FastMCP and its middleware log what a tool raised, sent or returned."""

for _name in _LOGGERS:
    logging.getLogger(_name).addFilter(WithoutSecrets())
