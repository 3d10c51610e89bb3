"""A model of the soak, in a process of its own: `python -m tools.soak.scripted_model`. It prints its port.

It speaks OpenAI's chat completions and follows the plan in the prompt. Honest and hostile chats have a process each,
so that only the client can carry the trouble of one to the other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from tools.soak.script import Plan, fault, foreign, plan_of
from tools.soak.serving import body_of, bound, end_with_the_parent, piece, serve, start, whole

THINKING = 0.06
"""Seconds before each answer: a real model takes longer."""
GAP = 0.005
"""Seconds between two words."""
ENDLESS_SECONDS = 30.0
"""A hostile answer ends after this time even if the client stays."""

HEAD = {"id": "chatcmpl-soak", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def chunk(delta: Any, finish: Any = None, **members: Any) -> bytes:
    """Return a server-sent event with one delta."""
    value = {**HEAD, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **members}
    return b"data: " + json.dumps(value).encode() + b"\n\n"


LAST = b"data: " + json.dumps({**HEAD, "choices": [], "usage": USAGE}).encode() + b"\n\ndata: [DONE]\n\n"


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer one request."""
    request = json.loads(await body_of(receive))
    plan, after = plan_of(request["messages"])
    turn = sum(message["role"] == "assistant" for message in after)
    wrong = verdict(plan, after, request["messages"]) if plan.canary else None
    answering = _answer(plan, turn, wrong, send)
    work, gone = asyncio.ensure_future(answering), asyncio.ensure_future(_gone(receive))
    await asyncio.wait({work, gone}, timeout=ENDLESS_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    for task in (work, gone):
        task.cancel()
    with suppress(asyncio.CancelledError):
        await work


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def verdict(plan: Plan, after: list[Any] | Any, messages: list[Any]) -> str | None:
    """Return what is wrong with an honest request, or None if nothing is."""
    others = foreign(json.dumps(messages), plan.canary.partition("-")[0])
    return f"the model was sent {others[0]}" if others else fault(plan, after)


async def _answer(plan: Plan, turn: int, wrong: str | None, send: Any) -> None:
    await asyncio.sleep(THINKING)
    if turn < len(plan.turns) and not wrong:
        await start(send, "text/event-stream")
        await piece(send, chunk({"role": "assistant", "content": None}))
        for delta in calls(plan, turn):
            await piece(send, chunk(delta))
        await piece(send, chunk({}, "tool_calls"))
        await piece(send, LAST, more=False)
        return
    end = ENDS.get(plan.end, answers)
    await end(send, f"WRONG: {wrong}" if wrong else plan.answer)


def calls(plan: Plan, turn: int) -> list[dict[str, Any]]:
    """Return the deltas of the calls of a turn."""
    every = [call for call in plan.turns[turn] for _ in range(call.times)]
    return [
        {
            "tool_calls": [
                {
                    "index": place,
                    "id": "call_same" if plan.end == "equal_ids" else f"call_{turn}_{place}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
            ]
        }
        for place, call in enumerate(every)
    ]


# ---- how an answer ends ----


async def answers(send: Any, text: str) -> None:
    """Write the answer, word by word."""
    await start(send, "text/event-stream")
    for number, word in enumerate(text.split(" ")):
        await asyncio.sleep(GAP)
        await piece(send, chunk({"content": f" {word}" if number else word}))
    await piece(send, chunk({}, "stop"))
    await piece(send, LAST, more=False)


async def breaks_off(send: Any, text: str) -> None:
    """Close the connection in the middle of an answer."""
    await start(send, "text/event-stream", content_length="100000")
    await piece(send, chunk({"content": "I begin, and"}), more=False)


async def never_ends(send: Any, text: str) -> None:
    """Write 200 kB a second, and never end."""
    await start(send, "text/event-stream")
    while True:
        await piece(send, chunk({"content": "and so on " * 100}))
        await asyncio.sleep(0.005)


async def silent(send: Any, text: str) -> None:
    """Send the head of an answer and nothing more."""
    await start(send, "text/event-stream")
    await piece(send, b"")
    await asyncio.sleep(ENDLESS_SECONDS)


async def drips(send: Any, text: str) -> None:
    """Send an answer byte by byte."""
    await start(send, "text/event-stream")
    for byte in chunk({"content": text}):
        await piece(send, bytes([byte]))
        await asyncio.sleep(0.02)


WRONG_DELTAS: list[Any] = [
    {"content": 7},
    {"content": ["a"]},
    {"tool_calls": [{"index": "0", "id": 5, "function": {"name": 12, "arguments": {}}}]},
    {"tool_calls": {"index": 0}},
    {"tool_calls": [None]},
    [],
    "delta",
]


async def wrong_types(send: Any, text: str) -> None:
    """Send members of types that the format does not have."""
    await start(send, "text/event-stream")
    _turn["wrong"] += 1
    await piece(send, chunk(WRONG_DELTAS[_turn["wrong"] % len(WRONG_DELTAS)]))
    await piece(send, chunk({}, {"reason": "stop"}, usage={"prompt_tokens": "many"}))
    await piece(send, LAST, more=False)


_turn = {"wrong": 0}


async def no_json(send: Any, text: str) -> None:
    """Send events that are no JSON."""
    await start(send, "text/event-stream")
    await piece(send, b"data: {\xff\xfe oops\n\ndata: [DONE]\n\n", more=False)


async def one_big_event(send: Any, text: str) -> None:
    """Send 8 MB in one event, in small pieces."""
    await start(send, "text/event-stream")
    await piece(send, b'data: {"choices": [{"index": 0, "delta": {"content": "')
    for _ in range(512):
        await piece(send, b"x" * 16_384)
    await piece(send, b'"}}]}\n\ndata: [DONE]\n\n', more=False)


async def overloaded(send: Any, text: str) -> None:
    """Refuse with a page of a proxy."""
    await whole(send, b"<html>503 at /etc/nginx/conf.d</html>", "text/html", 503)


async def unauthorised(send: Any, text: str) -> None:
    """Refuse the key."""
    await whole(send, b'{"error": {"message": "Incorrect API key provided: none", "code": 5}}', status=401)


async def closes(send: Any, text: str) -> None:
    """Close the connection without an answer."""
    await start(send, content_length="10")
    await piece(send, b"", more=False)


ENDS: dict[str, Callable[[Any, str], Awaitable[None]]] = {
    end.__name__: end
    for end in (
        answers,
        breaks_off,
        never_ends,
        silent,
        drips,
        wrong_types,
        no_json,
        one_big_event,
        overloaded,
        unauthorised,
        closes,
    )
}


def main() -> None:
    """Serve until the standard input ends."""
    listener = bound()
    listener.listen(2048)
    print(listener.getsockname()[1], flush=True)
    end_with_the_parent()
    serve(app, listener)


if __name__ == "__main__":
    main()
