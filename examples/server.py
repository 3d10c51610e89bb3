"""A server: results for the model, and failures that a program can act on.

    uv run xmcp serve examples/server.py        # http://127.0.0.1:3333/mcp
    uv run xmcp check server --strict --stdio "uv run xmcp serve examples/server.py --transport stdio"

Copy this file, and put your own functions in the place of these. What is wrong with the arguments, the server says
itself, by the types; what else goes wrong and was not foreseen, the model gets as an `error_id`, and the log in full.
"""

import time
from typing import Annotated, Any, Literal

from pydantic import Field

from xmcp import XMCP, XMCPError

mcp = XMCP("warehouse", instructions="Stock of a small warehouse, and its prices.")

READS = {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
STOCK = {"lamp": 12, "chair": 3}
PRICES = {"lamp": 19.0, "chair": 85.0}
asked = {"at": 0.0}


@mcp.tool(annotations=READS)
def stock(article: Annotated[str, Field(examples=["lamp"])]) -> dict[str, Any]:
    """How many pieces of an article there are."""
    if article not in STOCK:
        # The model gets the message; `params` has its parts, for programs.
        said = f"There is no {article}; there are {', '.join(STOCK)}."
        raise XMCPError("NOT_FOUND", said, meta={"params": {"article": article}})
    return {"article": article, "pieces": STOCK[article]}


@mcp.tool(annotations=READS)
def price(article: Literal["lamp", "chair"], currency: Literal["EUR", "USD"] = "EUR") -> float:
    """What one piece of an article costs."""
    if currency == "EUR":
        return PRICES[article]
    if time.monotonic() - asked["at"] < 1:
        # A client can call again by itself, after the wait: this tool only reads.
        raise XMCPError("RATE_LIMIT", "One exchange rate a second.", retryable=True, retry_after_ms=1000)
    asked["at"] = time.monotonic()
    return round(PRICES[article] * 1.08, 2)


@mcp.tool(annotations={"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False})
def reserve(article: Literal["lamp", "chair"], pieces: Annotated[int, Field(ge=1, le=100)]) -> str:
    """Set pieces of an article aside."""
    if pieces > STOCK[article]:
        raise XMCPError("CONFLICT", f"Only {STOCK[article]} left.", meta={"side_effects": "none"})
    STOCK[article] -= pieces
    return f"{pieces} × {article} reserved; {STOCK[article]} left."


if __name__ == "__main__":
    mcp.serve()
