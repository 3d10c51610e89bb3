"""Run FastMCP's own tests with `XMCP` in place of `FastMCP`, and compare with the list of expected failures."""
