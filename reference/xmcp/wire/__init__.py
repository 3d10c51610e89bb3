"""The wire format of XMCP: a tool response as a document, and back (spec chapters 2 to 4).

Pure functions and values, without I/O. Importing this package loads neither a server, nor a client, nor an SDK. Code
outside imports from here only; the modules inside are private.
"""

from xmcp.wire.content import Arrived, BadDisplay
from xmcp.wire.decoder import Decoder, decode
from xmcp.wire.display_envelope import DisplayEnvelope
from xmcp.wire.emitter_rules import REFERENCE_TYPE, check_error, check_server_populated, display_faults
from xmcp.wire.encoder import encode
from xmcp.wire.errors import DecodeError, DecodeErrorKind
from xmcp.wire.jsontext import dump_json, in_json_types
from xmcp.wire.jsonvalue import plain
from xmcp.wire.lexical import XML_WHITE_SPACE, is_media_type
from xmcp.wire.limits import DEFAULT_LIMITS, Limits
from xmcp.wire.response import ErrorInfo, ToolResponse, bind_codec
from xmcp.wire.xmltext import Illegal

bind_codec(encode, decode)

__all__ = [
    "DEFAULT_LIMITS",
    "REFERENCE_TYPE",
    "XML_WHITE_SPACE",
    "Arrived",
    "BadDisplay",
    "DecodeError",
    "DecodeErrorKind",
    "Decoder",
    "DisplayEnvelope",
    "ErrorInfo",
    "Illegal",
    "Limits",
    "ToolResponse",
    "check_error",
    "check_server_populated",
    "decode",
    "display_faults",
    "dump_json",
    "encode",
    "in_json_types",
    "is_media_type",
    "plain",
]
