"""The log of the MCP SDK: what a peer sends wrongly is in it with a traceback, and in our reports as a sentence."""

from __future__ import annotations

import logging


def silence() -> None:
    """Keep the SDK's log from the terminal. It names one of its loggers `client`, which others may listen to."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    logging.getLogger("client").addHandler(logging.NullHandler())  # else records without a handler go to the terminal
