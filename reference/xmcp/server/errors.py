"""The exceptions of the server: `XMCPError`, which a tool raises, and `ServeError`, of a server that cannot start.

Which failure becomes which error of a response is decided in `responses/failures.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastmcp.exceptions import ToolError

from xmcp.server.error_repairs import error_of
from xmcp.wire import ErrorInfo


class XMCPError(ToolError):
    """Raise it in a tool to answer with a structured error (spec chapter 4).

    `code` is a registered code (`RATE_LIMIT`, `DB_TIMEOUT`, …) or one of your own in the same grammar,
    `[A-Z][A-Z0-9_]{0,62}`. `detail` is the message for the model: do not put anything into it that the model must
    not know. The defaults of `retryable` and `category` come from the registry; `retry_after_ms` is the shortest
    wait in milliseconds, which makes the error retryable. `meta` is the JSON object of
    `schemas/error_meta.schema.json`; members of your own, such as `{"table": "orders"}`, are sent under `params`.

    It is a FastMCP `ToolError`, so that a plain FastMCP server shows `CODE: detail` as well. The constructor never
    raises: it repairs what cannot be sent, and logs a warning (`error_repairs.py`).
    """

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        retryable: bool | None = None,
        retry_after_ms: int | None = None,
        category: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.info = error_of(
            code, detail, retryable=retryable, retry_after_ms=retry_after_ms, category=category, meta=meta
        )
        # The author chose this answer, so it is not a malfunction: FastMCP shall log it as a warning.
        super().__init__(
            f"{self.info.code}: {self.info.message}" if detail else self.info.code, log_level=logging.WARNING
        )

    @classmethod
    def of(cls, info: ErrorInfo) -> XMCPError:
        """Return the exception for an error of a response."""
        raised = cls(info.code, info.message)
        raised.info = info
        return raised


class ServeError(SystemExit):
    """The server could not start; the message says why and what to do.

    A `SystemExit`, so that a script that calls `mcp.serve()` ends with that message on stderr and status 1 instead
    of a traceback. A command line tool may catch it and choose its own status.
    """
