"""A model of OpenAI's chat completions that follows the question, for `tools.front_ends`.

    Say hello.                      Hello, world.
    Add 2 and 3.                    I add. (calls the tool inside); then what the tool said
    Ask my clock, and add 2 and 3.  calls the client's own tool and the one inside at once; then what both said
    Fail: too_long|busy|down        an error
    Break off.                      half an answer, then the end of the connection
    Wait.                           half an answer, and no more of it

It does what a request demands: a call of a tool (`tool_choice`), an answer by a schema (`response_format`).
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tools.front_ends.cases import HALF, INNER_TOOL, OWN_TOOL, USAGE

WAIT_SECONDS: Final = 120.0
"""How long `Wait.` waits at most."""

_HEAD: Final = {"id": "chatcmpl-1", "created": 1, "model": "scripted"}
_USAGE: Final = {"prompt_tokens": USAGE[0], "completion_tokens": USAGE[1], "total_tokens": sum(USAGE)}
_USAGE_WITH_REASONING: Final = {**_USAGE, "completion_tokens_details": {"reasoning_tokens": 1}}
_ERRORS: Final[Mapping[str, tuple[int, str]]] = {
    "too_long": (400, "context_length_exceeded"),
    "busy": (429, "rate_limit_exceeded"),
    "down": (503, "overloaded"),
}


@dataclass(frozen=True)
class Said:
    """What the model answers: text, calls of tools, or the HTTP status and code of an error."""

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    error: tuple[int, str] | None = None
    then: str = "ends"
    """What comes after the text: it `ends`, `breaks` off, or `waits`."""


@dataclass
class ScriptedModel:
    """The model; `waiting` is set when it has begun an answer that it does not go on with."""

    waiting: asyncio.Event = field(default_factory=asyncio.Event)

    def app(self) -> Starlette:
        """Return the application that serves it."""
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._completions, methods=["POST"]),
                Route("/cut/chat/completions", _cut, methods=["POST"]),
            ]
        )

    async def _completions(self, request: Request) -> Response:
        body = await request.json()
        said = answer(body)
        if said.error is not None:
            status, code = said.error
            return JSONResponse({"error": {"message": code, "type": "error", "param": None, "code": code}}, status)
        if body.get("stream"):
            return StreamingResponse(self._events(said), media_type="text/event-stream")
        if said.then != "ends":
            raise ConnectionError("the gateway asked for an answer in one piece, which cannot break off")
        choice = {"index": 0, "message": _message(said), "finish_reason": _finish(said)}
        return JSONResponse({**_HEAD, "object": "chat.completion", "choices": [choice], "usage": _USAGE_WITH_REASONING})

    async def _events(self, said: Said) -> AsyncIterator[bytes]:
        yield _chunk({"role": "assistant", "content": ""})
        yield _chunk({"reasoning_content": "I think."})
        for word in re.findall(r"\s*\S+", said.text):
            yield _chunk({"content": word})
        for place, call in enumerate(_calls(said)):
            yield _chunk({"tool_calls": [{"index": place, **call}]})
        if said.then == "breaks":
            raise ConnectionError("as the question wants it")
        if said.then == "waits":
            self.waiting.set()
            await asyncio.sleep(WAIT_SECONDS)
        yield _chunk({}, _finish(said))
        yield _event({"choices": [], "usage": _USAGE_WITH_REASONING})
        yield b"data: [DONE]\n\n"


async def _cut(_request: Request) -> Response:
    """Answer as a proxy does that ends the stream in its middle: without a `finish_reason`, `[DONE]`, or an error."""
    chunks = _chunk({"role": "assistant", "content": ""}) + _chunk({"content": HALF})
    return Response(chunks, media_type="text/event-stream")


def answer(body: Mapping[str, Any]) -> Said:
    """Return what the model says to a request."""
    place, question = _question(body["messages"])
    offered = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or ()}
    if (forced := _forced(body.get("tool_choice"), list(offered))) is not None:
        return Said(calls=[(forced, _instance(offered[forced].get("parameters") or {}, question))])
    results = [str(one["content"]) for one in body["messages"][place + 1 :] if one["role"] == "tool"]
    wanted = (body.get("response_format") or {}).get("json_schema")
    match question.partition(":")[0]:
        case "Fail":
            return Said(error=_ERRORS[question.partition(": ")[2]])
        case "Break off.":
            return Said(HALF, then="breaks")
        case "Wait.":
            return Said(HALF, then="waits")
    adds = "add" in question.lower() and INNER_TOOL in offered
    if adds and not results:
        one, other = map(int, re.findall(r"\d+", question))
        add = (INNER_TOOL, {"a": one, "b": other})
        if OWN_TOOL in offered:
            return Said(calls=[(OWN_TOOL, {}), add])
        return Said("I add.", [add])
    if wanted is not None:
        return Said(json.dumps(_instance(wanted["schema"], question)))
    return Said(f"It is {', and '.join(map(_plain, results))}." if results else "Hello, world.")


def _question(messages: Sequence[Mapping[str, Any]]) -> tuple[int, str]:
    """Return the place of the last message of the user, and its text."""
    place = max(at for at, message in enumerate(messages) if message["role"] == "user")
    content = messages[place]["content"]
    return place, content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _forced(choice: Any, offered: Sequence[str]) -> str | None:
    """Return the tool that `tool_choice` demands a call of."""
    if isinstance(choice, dict):
        name: str = choice["function"]["name"]
        return name
    return offered[-1] if choice == "required" else None


def _instance(schema: Mapping[str, Any], question: str) -> Any:
    """Return a value of a JSON Schema, in which a number is the sum of those in the question."""
    match schema:
        case {"enum": [first, *_]}:
            return first
        case {"properties": properties}:
            return {name: _instance(inner, question) for name, inner in properties.items()}
        case {"type": "integer" | "number"}:
            return sum(map(int, re.findall(r"\d+", question)))
        case {"type": "string"}:
            return "words"
        case _:
            return {}


def _plain(result: str) -> str:
    """Return what a tool said, without the document that XMCP wraps it into."""
    inside = re.search(r"<llm_output>(.*)</llm_output>", result, re.DOTALL)
    return inside[1] if inside else result


def _message(said: Said) -> dict[str, Any]:
    calls = _calls(said)
    return {"role": "assistant", "content": said.text or None, **({"tool_calls": calls} if calls else {})}


def _calls(said: Said) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for place, (name, arguments) in enumerate(said.calls)
    ]


def _finish(said: Said) -> str:
    return "tool_calls" if said.calls else "stop"


def _chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    return _event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: %b\n\n" % json.dumps({**_HEAD, "object": "chat.completion.chunk", **value}).encode()
