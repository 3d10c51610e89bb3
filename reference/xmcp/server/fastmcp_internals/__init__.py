"""Everything that the server uses of FastMCP and the MCP SDK beyond their public interface.

For each private name or undocumented behaviour there is one function, and a test that fails when an upgrade changes it:
`tests/server/fastmcp_internals`. Import from the modules.
"""
