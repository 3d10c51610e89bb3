"""The sample server `conformance`: nothing but the tool of the conformance suite (spec section 1.7).

Run it with `xmcp serve xmcp.samples.conformance:mcp`, or judge it with
`xmcp check server --stdio "xmcp serve xmcp.samples.conformance:mcp --transport stdio"`.
"""

from __future__ import annotations

from xmcp.server import XMCP
from xmcp.testing import add_conformance_tool

mcp = XMCP("conformance")
add_conformance_tool(mcp)
