"""What a caller is told where the audit store cannot be read, or is not there."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from xmcp.gateway.audit.errors import AuditError
from xmcp.gateway.http.refusals import Refused, overloaded
from xmcp.gateway.runs.admission import Overloaded

_log: Final = logging.getLogger("xmcp.gateway")


@contextmanager
def archive_refusals() -> Iterator[None]:
    """Answer for an audit store that cannot be used now; the log has the reason, which names addresses.

    Raises:
        Refused: it cannot be used.
    """
    try:
        yield
    except AuditError as error:
        _log.warning("the audit store could not be used for a request: %s", error)
        told = "The audit store cannot be used now. Try again later."
        raise Refused(503, told, "audit_unavailable", headers={"retry-after": "5"}) from None
    except Overloaded as error:
        raise overloaded(str(error), error.retry_after) from None


def not_configured() -> Refused:
    """Return the answer of a gateway that records no chats."""
    told = "This gateway records no chats: it has no [audit] database."
    return Refused(501, told, "audit_not_configured")
