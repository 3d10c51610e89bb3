"""The audit store as a gateway reads it: off the event loop, in time, and one tenant's conversations only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from xmcp.gateway.audit import conversations
from xmcp.gateway.audit.errors import AuditError, ConversationRunning
from xmcp.gateway.audit.reading import reading
from xmcp.gateway.ids import conversation_of
from xmcp.gateway.runs.admission import Admission, AdmissionLimits, Overloaded

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from xmcp.gateway.audit.log import AuditLog
    from xmcp.gateway.audit.rebuild import ModelCall

READERS: Final = 4
"""How many read at the same time, each on a connection of its own."""

READERS_PER_TENANT: Final = 2
WAITING: Final = 64
WAIT_SECONDS: Final = 2.0

SECONDS: Final = 3.0
"""How long a statement may take."""

GIVE_UP_SECONDS: Final = 10.0
"""How long a caller waits for what is read."""

DOWN_SECONDS: Final = 5.0
"""For how long a database that could not be opened is not tried again, so that no chat waits for it."""

T = TypeVar("T")
Moment = tuple[int, str]
"""Milliseconds since 1970, and the id of what has them: the place of an entry in a list."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Model calls in their order, each with the one before it, and whether there are more."""

    calls: Sequence[tuple[ModelCall, ModelCall | None]]
    more: bool


class Archive:
    """Reads what an `AuditLog` has recorded. Every method takes the tenant whose conversations it is about.

    Every method raises `AuditError` if the store cannot be read, and `Overloaded` if too many read it already.
    """

    def __init__(self, log: AuditLog) -> None:
        self._log = log
        self._places = Admission(AdmissionLimits(READERS, READERS_PER_TENANT, WAITING, WAIT_SECONDS))
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="xmcp audit reader")
        self._down_until = 0.0

    async def session_history(self, tenant: str | None, session: str) -> list[dict[str, Any]] | None:
        """Return the messages of a session after its last run; `None` if there are none."""
        return await self._read(tenant, lambda connection: conversations.session_history(connection, tenant, session))

    async def run_histories(self, tenant: str | None, runs: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        """Return the messages of the conversations after runs of `/v1/responses`, as far as they are there."""
        return await self._read(tenant, lambda connection: conversations.run_histories(connection, tenant, runs))

    async def conversations(self, tenant: str | None, limit: int, before: Moment | None) -> list[dict[str, Any]]:
        """Return conversations, what was used last first; `before` is the last one of an earlier page."""
        return await self._read(
            tenant, lambda connection: conversations.conversations(connection, tenant, limit, before)
        )

    async def one(
        self, tenant: str | None, name: str, limit: int, before: Moment | None
    ) -> tuple[dict[str, Any], Sequence[dict[str, Any]], Sequence[dict[str, Any]]] | None:
        """Return a conversation, runs of it, the newest first, and its messages; `None` if there is none."""

        def read(connection: Connection) -> Any:
            found = conversations.conversation(connection, tenant, name)
            if found is None:
                return None
            runs = conversations.runs_of(connection, tenant, name, limit, before)
            return found, runs, conversations.history(connection, tenant, name) or ()

        return await self._read(tenant, read)

    async def replay(
        self, tenant: str | None, name: str, limit: int, size: int, after: tuple[str, int, int] | None
    ) -> Replay | None:
        """Return model calls of a conversation; `None` if there is no conversation with this id.

        At most `limit` of them, and none after `size` characters beyond what those before have; `after`: run, attempt
        and number of the last one of an earlier page.
        """

        def read(connection: Connection) -> Replay | None:
            if conversations.conversation(connection, tenant, name) is None:
                return None
            found: list[tuple[ModelCall, ModelCall | None]] = []
            left = size
            for call, before in conversations.replayed(connection, tenant, name, limit + 1, after):
                if found and (len(found) == limit or left <= 0):
                    return Replay(found, more=True)
                found.append((call, before))
                left -= call.size_after(before)
            return Replay(found, more=False)

        return await self._read(tenant, read)

    @staticmethod
    def conversation_of(tenant: str | None, session: str) -> str:
        """Return the id of the conversation of a session."""
        return conversation_of(tenant, session)

    async def delete(self, tenant: str | None, name: str) -> bool:
        """Delete a conversation and return True; False if there is none.

        Raises:
            ConversationRunning: a run of it goes on.
        """
        await self._log.flush()

        def read(connection: Connection) -> tuple[bool, bool]:
            if conversations.conversation(connection, tenant, name) is None:
                return False, False
            return True, conversations.is_running(connection, name)

        there, runs = await self._read(tenant, read)
        if not there:
            return False
        if runs:
            raise ConversationRunning
        if not await self._log.delete(name):
            raise AuditError("The conversation could not be deleted now.")
        return True

    async def aclose(self) -> None:
        """End the threads, without waiting for what is still read."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _read(self, tenant: str | None, work: Callable[[Connection], T]) -> T:
        if time.monotonic() < self._down_until:
            raise AuditError("The audit store could not be opened a short while ago.")
        try:
            await self._places.enter(tenant)
        except Overloaded as error:
            raise Overloaded("Too many requests read the audit store.", error.retry_after) from None
        try:
            reading_ = asyncio.get_running_loop().run_in_executor(self._threads, self._on_connection, work)
        except RuntimeError:
            self._places.give_back(tenant)
            raise AuditError("The audit store is closed.") from None
        # The place is taken until the thread is done, also if nobody waits for it any more.
        reading_.add_done_callback(lambda _: self._places.give_back(tenant))
        try:
            async with asyncio.timeout(GIVE_UP_SECONDS):
                return await asyncio.shield(reading_)
        except TimeoutError:
            raise AuditError(f"Reading the audit store takes longer than {GIVE_UP_SECONDS:g} s.") from None

    def _on_connection(self, work: Callable[[Connection], T]) -> T:
        opened = False
        try:
            with reading(self._log.address, SECONDS) as connection:
                opened = True
                return work(connection)
        except AuditError:
            if not opened:
                self._down_until = time.monotonic() + DOWN_SECONDS
            raise
