"""A gateway in which a chat of somebody streams all the while, and must end right whatever others do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from support.gateways import Served, events_in, served, until
from support.scripted_model import ScriptedModel
from xmcp.providers import Completion, ModelRequest

WORDS = "the bystander speaks"
ENDLESS = "somebody else speaks"
"""What others say who want an answer that goes on for as long as that of the bystander."""


class Speaking(ScriptedModel):
    """A model that speaks to the bystander until it is told to end, and says `ok` to everybody else."""

    def __init__(self) -> None:
        super().__init__(then=self._answer)
        self.end = asyncio.Event()
        self.spoken = 0

    @property
    def asked_by_others(self) -> list[str]:
        """What all others have said, as it reached the model."""
        said = [str(request.messages[-1]["content"]) for request in self.requests]
        return [one for one in said if one != WORDS]

    def _answer(self, request: ModelRequest) -> Any:
        said = request.messages[-1]["content"]
        return self._speech(counted=said == WORDS) if said in (WORDS, ENDLESS) else "ok"

    async def _speech(self, *, counted: bool) -> AsyncGenerator[str | Completion, None]:
        piece = "a" if counted else "b" * 10_000
        while not self.end.is_set():
            self.spoken += counted
            yield piece
            await asyncio.sleep(0.01)
        yield Completion("")


@asynccontextmanager
async def bystander(
    config: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None, **options: Any
) -> AsyncIterator[tuple[Served, Speaking]]:
    """Serve a gateway while a chat streams. At the end that chat must be whole, and nothing of others left.

    `headers`: those of the bystander; of `options`, see `served`.
    """
    model = Speaking()
    async with served(model, config, **options) as up, up.http(timeout=120) as http:
        asked = {"input": WORDS}
        sent = {"accept": "text/event-stream", **(headers or {})}
        chat = asyncio.create_task(http.post("/chat", json=asked, headers=sent))
        await until(lambda: model.spoken, 60)
        yield up, model
        before = model.spoken
        await until(lambda: model.spoken > before or chat.done(), 60)
        model.end.set()
        answer = await chat
        events = events_in(answer.text)
        assert (answer.status_code, events[-1][0]) == (200, "run.finished")
        text = "".join(data["text"] for name, _, data in events if name == "text.delta")
        assert text == "a" * model.spoken
        await until(lambda: not up.gateway.runs.running, 60)
        assert up.gateway.runs.places.waiting == 0
        assert up.server._app.state.arriving.bytes == 0
