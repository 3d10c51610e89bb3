"""The logs of a chat: in a file, or nowhere. A line of a library in the middle of an answer would spoil the screen."""

from __future__ import annotations

import logging
import os

_FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def keep_logs(file: str | None) -> None:
    """Have the logs of this process, with what servers write to their standard error, in a file; `None`: nowhere.

    To be called before FastMCP is loaded, which otherwise writes to the terminal itself.
    """
    os.environ["FASTMCP_LOG_ENABLED"] = "false"
    handler = logging.NullHandler() if file is None else logging.FileHandler(file, encoding="utf-8")
    handler.setFormatter(logging.Formatter(_FORM))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    for name in ("mcp", "httpx2", "httpcore2", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
