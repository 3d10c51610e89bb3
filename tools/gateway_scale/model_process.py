"""The model, in a process of its own: `python -m tools.gateway_scale.model_process`. It prints its port.

It speaks OpenAI's chat completions, answers as `words.py` says, and counts for each tenant what it answered. `GET
/state` returns that.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any, Final

from tools.gateway_scale.words import INPUT_TOKENS, OUTPUT_TOKENS, TOKENS, Question, answer_to, foreign, question_in
from tools.gateway_scale.words import words_in as words_of
from tools.soak.serving import body_of, bound, end_with_the_parent, piece, serve, start, whole

LINGERING: Final = 600
"""Pieces of an answer that nobody waits for; `LINGER_GAP` seconds lie between two of them."""
LINGER_GAP: Final = 0.05

_HEAD: Final = {"id": "chatcmpl-scale", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
_USAGE: Final = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": TOKENS}

state: Final[dict[str, Any]] = {"tokens": {}, "cut": {}, "crossed": [], "open": 0}


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer one request."""
    if scope["path"] == "/state":
        await whole(send, json.dumps(state).encode())
        return
    request = json.loads(await body_of(receive))
    question, place = question_in(request["messages"])
    if others := foreign(words_of(json.dumps(request["messages"])), question.tenant):
        state["crossed"].append(f"the model of {question.tenant} was sent {sorted(others)}")
    state["open"] += 1
    work = asyncio.ensure_future(_answer(send, question, request, place))
    gone = asyncio.ensure_future(_gone(receive))
    await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    answered = work.done() and work.exception() is None
    for task in (work, gone):
        task.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await work
    kind, number = ("tokens", TOKENS) if answered else ("cut", 1)
    state[kind][question.tenant] = state[kind].get(question.tenant, 0) + number
    state["open"] -= 1


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _answer(send: Any, question: Question, request: Any, place: int) -> None:
    await start(send, "text/event-stream")
    await piece(send, _chunk({"role": "assistant", "content": ""}))
    if question.do == "call" and len(request["messages"]) == place + 1 and request.get("tools"):
        called = {"name": request["tools"][0]["function"]["name"], "arguments": json.dumps({"topic": question.topic})}
        call = {"index": 0, "id": "call_1", "type": "function", "function": called}
        await piece(send, _chunk({"tool_calls": [call]}))
        await _end(send, "tool_calls")
        return
    for word in answer_to(request["messages"]).split(" "):
        await piece(send, _chunk({"content": f"{word} "}))
    for _ in range(LINGERING if question.do == "linger" else 0):
        await asyncio.sleep(LINGER_GAP)
        await piece(send, _chunk({"content": "and so on "}))
    await _end(send, "stop")


async def _end(send: Any, why: str) -> None:
    await piece(send, _chunk({}, why))
    last = json.dumps({**_HEAD, "choices": [], "usage": _USAGE})
    await piece(send, f"data: {last}\n\ndata: [DONE]\n\n".encode(), more=False)


def _chunk(delta: Any, finish: str | None = None) -> bytes:
    value = {**_HEAD, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(value).encode() + b"\n\n"


if __name__ == "__main__":
    listener = bound()
    listener.listen(2048)
    print(listener.getsockname()[1], flush=True)
    end_with_the_parent()
    serve(app, listener)
