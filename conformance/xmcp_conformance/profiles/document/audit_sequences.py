"""Judge audit records in a file of JSON Lines as sequences: their numbers, and which is the first and the last.

Each record names its chat, so the records of several chats can be mixed, and stand in any order. A chat without
`chat_started` or `chat_ended` is no fault: its records can begin in a file before this one, and it may go on when the
file is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from xmcp_conformance.core.checks import Observations, check
from xmcp_conformance.core.observation import Place, broken
from xmcp_conformance.core.untrusted_text import quoted


class AuditRecords:
    """The audit records of a file, as far as their sequence depends on them."""

    def __init__(self) -> None:
        self._of_chat: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
        """Number, line and kind of each record."""

    def then(self, record: Any, line: int) -> Observations:
        """Take the next record, which is in a line, into account; yield nothing: the records can be in any order."""
        if isinstance(record, Mapping):
            chat, number, kind = record.get("chat_id"), record.get("sequence"), record.get("kind")
            if isinstance(number, float) and number.is_integer():
                number = int(number)  # `1.0` is an integer in JSON Schema
            if isinstance(chat, str) and isinstance(number, int) and not isinstance(number, bool):
                self._of_chat[chat].append((number, line, str(kind)))
        return iter(())

    def ended(self) -> Observations:
        """Yield what is wrong with the places of the records, when the file has no more."""
        for chat, records in self._of_chat.items():
            yield from _places(f"of the chat `{quoted(chat)}`", sorted(records))


@check("XMCP-REC-022", profile="document")
def _places(of: str, records: list[tuple[int, int, str]]) -> Observations:
    last = max((number for number, _, kind in records if kind == "chat_ended"), default=None)
    for number, line, kind in records:
        if (kind == "chat_started") != (number == 0):
            seen = f"`{quoted(kind)}` as record {number} {of}"
            expected = "`chat_started` as the first and only there"
            yield broken("XMCP-REC-022", seen, expected, where=Place(line, 1))
        elif last is not None and number < last and kind == "chat_ended":
            seen = f"`chat_ended` as record {number} {of}, which has a record {last}"
            yield broken("XMCP-REC-022", seen, "one `chat_ended`, and last", where=Place(line, 1))
    for (before, _, _), (number, line, kind) in pairwise(records):
        where = Place(line, 1)
        if number == before:
            yield broken("XMCP-REC-022", f"`sequence` {number} {of} a second time", str(before + 1), where=where)
        elif last is not None and before == last:
            yield broken("XMCP-REC-022", f"`{quoted(kind)}` {of} after its `chat_ended`", "none", where=where)
        elif number != before + 1:
            yield broken("XMCP-REC-022", f"`sequence` {number} {of}", str(before + 1), where=where)
