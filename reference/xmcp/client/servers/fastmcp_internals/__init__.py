"""What the client needs of FastMCP and the MCP SDK beyond their public interface.

Every reliance on a private name or on an undocumented fact is in this package, one function or class each, and
`tests/client/fastmcp_internals` has a test for each that fails when an upgrade changes it.
"""

from xmcp.client.servers.fastmcp_internals.http_client import CONNECT_SECONDS, NEVER_SENT, http_client_factory
from xmcp.client.servers.fastmcp_internals.logs import logged
from xmcp.client.servers.fastmcp_internals.sessions import (
    check_results_in_slices,
    prepared,
    progress_handler,
    skip_result_validation,
)
from xmcp.client.servers.fastmcp_internals.transports import resilient

__all__ = [
    "CONNECT_SECONDS",
    "NEVER_SENT",
    "check_results_in_slices",
    "http_client_factory",
    "logged",
    "prepared",
    "progress_handler",
    "resilient",
    "skip_result_validation",
]
