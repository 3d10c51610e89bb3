"""The result of a tool together with the value that its function returned, until the response is made of that value."""

from __future__ import annotations

from typing import Any, Final

from fastmcp.tools.base import ToolResult
from fastmcp.utilities.types import Audio, File, Image
from mcp_types import CallToolResult, ContentBlock
from pydantic import PrivateAttr

from xmcp.server.parameters.sensitive import Secrets
from xmcp.server.result_data import as_json, is_non_finite
from xmcp.wire import DisplayEnvelope, ToolResponse
from xmcp_models.display_envelope import DisplayEnvelope as EnvelopeModel

_MCP_CONTENT: Final = (ContentBlock, Audio, Image, File)


class KeptResult(ToolResult):
    """An MCP result that keeps the value it was made from."""

    _value: Any = PrivateAttr(default=None)
    _data: Any = PrivateAttr(default=None)
    _is_converted: bool = PrivateAttr(default=False)

    @classmethod
    def of(cls, native: ToolResult, value: Any, data: Any, *, is_converted: bool = False) -> KeptResult:
        """Return the result `native` of `value`, whose JSON is `data`.

        `is_converted`: `data` is not what FastMCP makes of the value, so its text is not used either.
        """
        result = cls(content=native.content, meta=native.meta, is_error=native.is_error)
        result.structured_content = native.structured_content
        result._value, result._data, result._is_converted = value, data, is_converted
        return result

    def without(self, secrets: Secrets) -> KeptResult:
        """Return the same without the secrets, in the value, in the data and in FastMCP's result."""
        value, data = self.kept
        if isinstance(value, ToolResponse):
            value = secrets.out_of_response(value)
        elif isinstance(value, EnvelopeModel):
            value = secrets.out_of_display(DisplayEnvelope.model_validate(members_of(value)))
        elif not is_mcp(value):
            value = secrets.out_of(value)
        # FastMCP's text has the secrets in forms in which they cannot all be found, so it is written again.
        return KeptResult.of(secrets.out_of_result(self), value, secrets.out_of(data), is_converted=True)

    @property
    def kept(self) -> tuple[Any, Any]:
        """The value that the function returned, and the same as JSON."""
        return self._value, self._data

    @property
    def has_fastmcps_text(self) -> bool:
        """Whether the text is what FastMCP writes of such a value, and right.

        FastMCP would write all members of an envelope that are not set, and nothing for an empty list or for a number
        that is not in JSON.
        """
        if self._is_converted or isinstance(self._value, EnvelopeModel | ToolResponse) or is_non_finite(self._value):
            return False
        return bool(self.content) or self._value is None


def members_of(envelope: EnvelopeModel) -> dict[str, Any]:
    """Return the members of an envelope that were set."""
    # Our class returns its payload without walking it, which matters for megabytes.
    return envelope.to_dict() if isinstance(envelope, DisplayEnvelope) else envelope.model_dump(exclude_none=True)


def is_mcp(value: Any) -> bool:
    """Tell whether a tool returned an MCP result or MCP content, which needs no conversion."""
    if isinstance(value, list | tuple):
        return any(isinstance(entry, _MCP_CONTENT) for entry in value)
    return isinstance(value, (ToolResult, CallToolResult, *_MCP_CONTENT))


def with_known_blocks(value: Any) -> Any:
    """Return a list of MCP content with everything else in it as JSON; FastMCP would write `str()` of what it is."""
    if not isinstance(value, list | tuple):
        return value
    known = (str, bytes, *_MCP_CONTENT)
    return [part if isinstance(part, known) else as_json(part, name_unknown=True) for part in value]
