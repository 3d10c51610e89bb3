"""The questions that a run asks a person before it makes a call, and their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from xmcp.chat.json_values import encode_json, object_as_json
from xmcp.client.calls.worker_threads import in_worker_if_large, rough_size_of
from xmcp.client.hooks.middleware import ToolState
from xmcp.gateway.runs.events import EventType

NO_ANSWER: Final = "No answer came."


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person says to a call; `reason` is for the model to read where it is a no."""

    approve: bool
    reason: str = ""


class Questions:
    """The questions of one run, by the ids of their calls.

    Args:
        publish: Publishes an event of the run: its type, its data, and the data as JSON; returns its place.
        changed: Is called when the first question is asked, and when none is open any more.
    """

    def __init__(
        self, publish: Callable[[EventType, Mapping[str, Any], bytes], int], changed: Callable[[], None]
    ) -> None:
        self._publish = publish
        self._changed = changed
        self._open: dict[str, asyncio.Future[Answer]] = {}
        self._asked: dict[str, tuple[int, Mapping[str, Any]]] = {}
        """The place of the event that asked, and what all events of the call have."""
        self._answers: dict[str, Answer] = {}

    @property
    def are_open(self) -> bool:
        """Whether the run waits for an answer."""
        return bool(self._open)

    @property
    def were_answered(self) -> bool:
        """Whether a person has answered any."""
        return bool(self._answers)

    def place_of(self, call_id: str) -> int | None:
        """Return the place of the event that asked about a call; `None` if nobody was asked."""
        asked = self._asked.get(call_id)
        return None if asked is None else asked[0]

    async def ask(self, call: ToolState, reason: str) -> Answer:
        """Ask whether a call may be made, and wait for the answer. Cancel it to give up."""
        about = {"step": call.turn, "call_id": call.call_id, "tool": call.tool_name}
        server = {} if call.server is None else {"server": call.server}
        data = {**about, **server, "arguments": object_as_json(call.arguments), "reason": reason}
        written = await in_worker_if_large(rough_size_of([call.arguments]), encode_json, data)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[call.call_id] = answer
        self._asked[call.call_id] = self._publish("approval.required", data, written), about
        self._changed()
        try:
            return await answer
        finally:
            if call.call_id in self._open:
                self._close(call.call_id, Answer(approve=False, reason=NO_ANSWER), {})

    def answer(self, call_id: str, answer: Answer, by: str) -> bool:
        """Answer a question; `by` is the name of the key. Return whether that is the answer now, or was before."""
        waiting = self._open.get(call_id)
        if waiting is None or waiting.done():
            return self._answers.get(call_id) == answer
        self._answers[call_id] = answer
        self._close(call_id, answer, {"by": by})
        waiting.set_result(answer)
        return True

    def _close(self, call_id: str, answer: Answer, by: Mapping[str, str]) -> None:
        del self._open[call_id]
        reason = {"reason": answer.reason} if answer.reason else {}
        data = {**self._asked[call_id][1], "approved": answer.approve, **reason, **by}
        self._publish("approval.answered", data, encode_json(data))
        if not self._open:
            self._changed()
