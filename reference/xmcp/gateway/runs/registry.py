"""All runs of this process: admitted, found again, kept for a while after their end, ended when the gateway stops."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from xmcp.client.chat_stream import ChatStream
from xmcp.gateway.runs.admission import Admission, AdmissionLimits, Overloaded
from xmcp.gateway.runs.events import new_run_id
from xmcp.gateway.runs.kept import Keeping, Kept
from xmcp.gateway.runs.observer import RunObserver
from xmcp.gateway.runs.patience import RunLimits
from xmcp.gateway.runs.request import Caller, ChatRequest
from xmcp.gateway.runs.retries import RequestMark, joins, same_digest
from xmcp.gateway.runs.rounds import Rounds
from xmcp.gateway.runs.run import Run


class Draining(Exception):
    """The gateway is stopping and takes no new runs."""


class KeyReused(ValueError):
    """An `Idempotency-Key` came with another body before."""


class Runs:
    """Begins runs and keeps them. `open_chat` begins the chat of a request for a caller; `on_end` is told of each run
    that has ended, before anybody else can ask for another."""

    def __init__(
        self,
        open_chat: Callable[[ChatRequest, Caller], ChatStream],
        limits: RunLimits,
        admission: AdmissionLimits,
        keeping: Keeping,
        rounds: Keeping,
        observers: Sequence[RunObserver],
        on_end: Callable[[Run], None] = lambda _: None,
    ) -> None:
        self._open_chat = open_chat
        self._on_end = on_end
        self._limits = limits
        self._kept = Kept[str](keeping)
        self._rounds = Rounds(rounds)
        self._observers = observers
        self.places = Admission(admission)
        self.draining = False
        self.new_id: Callable[[], str] = new_run_id
        """Makes the ids of runs."""
        self._runs: dict[str, Run] = {}
        self._marks: dict[str, RequestMark] = {}
        self._by_digest: dict[bytes, Run] = {}
        self._by_key: dict[tuple[str, str], Run] = {}
        self._none_left = asyncio.Event()

    async def start(self, request: ChatRequest, caller: Caller, mark: RequestMark) -> tuple[Run, bool]:
        """Return a run for the request, and whether it is one that was begun before.

        Raises:
            Draining: the gateway is stopping.
            KeyReused: the `Idempotency-Key` came with another request before.
            Overloaded: there is no place for another run.
        """
        if (run := self.joined(mark)) is not None:
            return run, True
        if self.draining:
            raise Draining
        try:
            await self.places.enter(caller.tenant)
        except Overloaded:
            if self.draining:
                raise Draining from None
            raise
        begun = False
        try:
            if (run := self.joined(mark)) is not None:  # it came while this one waited
                return run, True
            if self.draining:
                raise Draining
            run = self._begun(request, caller, mark)
            begun = True
            return run, False
        finally:
            if not begun:
                self.places.give_back(caller.tenant)

    def _begun(self, request: ChatRequest, caller: Caller, mark: RequestMark) -> Run:
        request = replace(request, history=self._rounds.completed(request.history, caller.tenant, time.monotonic()))
        open_chat, run_id = partial(self._open_chat, request), self.new_id()
        run = Run(run_id, request, caller, open_chat, self._limits, self._observers, self._ended_run)
        self._runs[run.id], self._marks[run.id] = run, mark
        self._by_digest[mark.digest] = run
        if mark.key is not None:
            self._by_key[mark.key] = run
        run.start()
        return run

    def get(self, run_id: str, caller: Caller) -> Run | None:
        """Return a run of the caller's tenant; `None` if there is none with this id."""
        self._forget_old()
        run = self._runs.get(run_id)
        return run if run is not None and run.caller.tenant == caller.tenant else None

    @property
    def running(self) -> list[Run]:
        """The runs that have not ended."""
        return [run for run in self._runs.values() if not run.ended]

    def has_running(self, tenant: str | None, session_id: str) -> bool:
        """Return whether a chat of a session runs that will be remembered in it."""
        return any(
            run.caller.tenant == tenant and run.request.session_id == session_id and run.request.recall is not None
            for run in self.running
        )

    def forget(self, tenant: str | None, is_meant: Callable[[str, str | None], bool]) -> bool:
        """Forget what is kept of a tenant's runs that have ended; return whether there was any.

        `is_meant` is told the id of a run, and of its session.
        """
        self._rounds.forget(tenant, is_meant)
        found = [one for one in self._kept.of(tenant) if is_meant(one, self._runs[one].request.session_id)]
        for run_id in found:
            self._kept.remove(run_id)
            self._without(run_id)
        return bool(found)

    async def drain(self, seconds: float) -> int:
        """Take no new runs and let the others finish; end those that did not after `seconds`, and return how many."""
        self.draining = True
        self.places.end_waiting()
        self._note_running()
        try:
            async with asyncio.timeout(seconds):
                await self._none_left.wait()
        except TimeoutError:
            left = self.running
            for run in left:
                run.cancel("drain")
            await self._none_left.wait()  # each run ends within its time for cleaning up
            return len(left)
        return 0

    def joined(self, mark: RequestMark) -> Run | None:
        """Return the run that a repeated request joins; `None` if it needs one of its own.

        Raises:
            KeyReused: the `Idempotency-Key` came with another request before.
        """
        self._forget_old()
        # Whose key is another one means another chat, though it asks for the same.
        run = self._by_digest.get(mark.digest) if mark.key is None else self._by_key.get(mark.key)
        if run is None:
            return None
        if not same_digest(self._marks[run.id].digest, mark.digest):
            raise KeyReused
        return run if joins(mark, run, self._kept.used_ago(run.id, time.monotonic())) else None

    def _ended_run(self, run: Run) -> None:
        try:
            self.places.give_back(run.caller.tenant)
            self._rounds.keep(run, time.monotonic())
        finally:
            # Whatever fails before: a run that is not kept stays for ever, and a session that is not told stays taken.
            self._kept.add(run.id, run.caller.tenant, run.size, time.monotonic())
            self._forget_old()
            self._note_running()
            self._on_end(run)

    def _note_running(self) -> None:
        if not self.draining:
            return
        if self.running:
            self._none_left.clear()
        else:
            self._none_left.set()

    def _forget_old(self) -> None:
        for run_id in self._kept.forget(time.monotonic()):
            self._without(run_id)

    def _without(self, run_id: str) -> None:
        run, mark = self._runs.pop(run_id), self._marks.pop(run_id)
        if self._by_digest.get(mark.digest) is run:
            del self._by_digest[mark.digest]
        if mark.key is not None and self._by_key.get(mark.key) is run:
            del self._by_key[mark.key]
