"""The tool server, in a process of its own: `python -m tools.gateway_scale.tool_process`. It prints its port.

Its tool tells the secret of the tenant whose credentials came with the call; its answers may be kept in a cache.
"""

from __future__ import annotations

from fastmcp.server.dependencies import get_http_headers

from tools.gateway_scale.words import secret_of
from tools.soak.serving import bound, end_with_the_parent, serve
from xmcp import XMCP

mcp = XMCP("vault")


@mcp.tool(cacheable=True)
def secret(topic: int) -> str:
    """Tell the secret of whoever asks."""
    sent = get_http_headers(include={"authorization"}).get("authorization", "")
    return f"of topic {topic}: {secret_of(sent.removeprefix('Bearer '))}"


if __name__ == "__main__":
    listener = bound()
    listener.listen(2048)
    print(listener.getsockname()[1], flush=True)
    end_with_the_parent()
    serve(mcp.http_app(), listener, lifespan="on")
