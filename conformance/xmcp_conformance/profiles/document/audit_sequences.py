"""Judge audit records in a file of JSON Lines as sequences: their numbers, and which is the first and the last.

Each record names its chat, so the records of several chats can be mixed. A chat without `chat_started` or `chat_ended`
is no fault: its records can begin in a file before this one, and it may go on when the file is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import Place, broken
from xmcp_conformance.core.untrusted_text import quoted


class AuditRecords:
    """The audit records so far, as far as the next one depends on them."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}
        self._ended: set[str] = set()

    def then(self, record: Any, line: int) -> Observations:
        """Yield what is wrong with the place of the next record, which is in a line, and take it into account."""
        if not isinstance(record, Mapping):
            return
        chat, number, kind = record.get("chat_id"), record.get("sequence"), record.get("kind")
        if not isinstance(chat, str) or not isinstance(number, int) or isinstance(number, bool):
            return  # the schema says so
        yield from _place(chat, number, kind, self._next.get(chat, number), line, ended=chat in self._ended)
        self._next[chat] = number + 1
        if kind == "chat_ended":
            self._ended.add(chat)


@check("XMCP-REC-022", profile="document")
def _place(chat: str, number: int, kind: Any, expected: int, line: int, *, ended: bool) -> Observations:
    of, where = f"of the chat `{quoted(chat)}`", Place(line, 1)
    if ended:
        yield broken("XMCP-REC-022", f"a record {of} after its `chat_ended`", "none", where=where)
    elif number != expected:
        yield broken("XMCP-REC-022", f"`sequence` {number} {of}", str(expected), where=where)
    elif (kind == "chat_started") != (number == 0):
        seen = f"`{quoted(str(kind))}` as record {number} {of}"
        yield broken("XMCP-REC-022", seen, "`chat_started` as the first and only there", where=where)
