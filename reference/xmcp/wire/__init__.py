"""The wire format of XMCP: a tool response as a document, and back (spec chapters 2 to 4).

Pure functions and values. No I/O, no server, no client, no SDK: importing this loads neither fastmcp nor a
model provider.
"""

from xmcp.wire.content import BadDisplay
from xmcp.wire.decode import Decoder, decode
from xmcp.wire.encode import encode
from xmcp.wire.envelope import DisplayEnvelope
from xmcp.wire.errors import DecodeError, DecodeErrorKind
from xmcp.wire.limits import DEFAULT_LIMITS, Limits
from xmcp.wire.response import ErrorInfo, ToolResponse
from xmcp.wire.xmltext import Illegal

__all__ = [
    "DEFAULT_LIMITS",
    "BadDisplay",
    "DecodeError",
    "DecodeErrorKind",
    "Decoder",
    "DisplayEnvelope",
    "ErrorInfo",
    "Illegal",
    "Limits",
    "ToolResponse",
    "decode",
    "encode",
]
