"""Compare XMCP servers with bare FastMCP servers, with programs of the MCP project."""
