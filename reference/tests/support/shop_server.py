"""The source of a server that writes to its log, changes orders and shows sales."""

from __future__ import annotations

from typing import Final

SHOP: Final = '''
import sys

from xmcp import XMCP, DisplayEnvelope

mcp = XMCP("shop")
print("a line in the log of the server", file=sys.stderr, flush=True)


@mcp.tool()
def delete_order(number: int) -> str:
    """Delete an order."""
    return f"order {number} is gone"


@mcp.display_tool(annotations={"readOnlyHint": True})
def sales(show_user: bool = False):
    """Sales by region."""
    if show_user:
        return DisplayEnvelope(type="table", title="Sales – EMEA", payload=[{"region": "EMEA", "sales": 42}], alt="42")
    return [42]
'''
