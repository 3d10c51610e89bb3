"""A server that answers every vendor's client with the same text, in that vendor's format, at once.

    python -m tools.bench.canned_answers

It prints its port and serves until its standard input ends. The path of a request begins with the number of pieces in
which the text is streamed; a request that asks for no stream gets the text in one piece. A path that begins with
`8000000-commas` has one event of so many bytes, made of what `LARGE` says.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

WORD: Final = "word "

Json = dict[str, Any]


def _chat_completions(pieces: int, *, stream: bool) -> Iterator[Json]:
    head = {"id": "c", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 100, "completion_tokens": pieces, "total_tokens": 100 + pieces}
    if not stream:
        message = {"role": "assistant", "content": WORD * pieces}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        yield {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        return
    head["object"] = "chat.completion.chunk"
    for _ in range(pieces):
        yield {**head, "choices": [{"index": 0, "delta": {"content": WORD}, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}


def _responses(pieces: int, *, stream: bool) -> Iterator[Json]:
    part = {"type": "output_text", "text": WORD * pieces, "annotations": []}
    item = {"type": "message", "id": "i", "status": "completed", "role": "assistant", "content": [part]}
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": pieces,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 100 + pieces,
    }
    begun = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "in_progress",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    whole = {**begun, "status": "completed", "output": [item], "usage": usage}
    if not stream:
        yield whole
        return
    place = {"item_id": "i", "output_index": 0, "content_index": 0}
    yield {"type": "response.created", "sequence_number": 0, "response": begun}
    yield {
        "type": "response.output_item.added",
        "sequence_number": 1,
        "output_index": 0,
        "item": {**item, "content": [], "status": "in_progress"},
    }
    yield {"type": "response.content_part.added", "sequence_number": 2, **place, "part": {**part, "text": ""}}
    for number in range(pieces):
        delta = {"delta": WORD, "logprobs": [], "sequence_number": 3 + number}
        yield {"type": "response.output_text.delta", **place, **delta}
    yield {"type": "response.output_item.done", "sequence_number": 3 + pieces, "output_index": 0, "item": item}
    yield {"type": "response.completed", "sequence_number": 4 + pieces, "response": whole}


def _anthropic(pieces: int, *, stream: bool) -> Iterator[Json]:
    message: Json = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_sequence": None,
    }
    if not stream:
        text = {"type": "text", "text": WORD * pieces}
        usage = {"input_tokens": 100, "output_tokens": pieces}
        yield {**message, "content": [text], "stop_reason": "end_turn", "usage": usage}
        return
    begun = {**message, "stop_reason": None, "usage": {"input_tokens": 100, "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for _ in range(pieces):
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": WORD}}
    yield {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": pieces}}
    yield {"type": "message_stop"}


def _gemini(pieces: int, *, stream: bool) -> Iterator[Json]:
    texts = [WORD] * pieces if stream else [WORD * pieces]
    for number, text in enumerate(texts, 1):
        candidate: Json = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
        chunk: Json = {"candidates": [candidate], "modelVersion": "m", "responseId": "r"}
        if number == len(texts):
            candidate["finishReason"] = "STOP"
            counted = {"promptTokenCount": 100, "candidatesTokenCount": pieces, "totalTokenCount": 100 + pieces}
            chunk["usageMetadata"] = counted
        yield chunk


FORMATS: Final[dict[str, Callable[..., Iterator[Json]]]] = {
    "/chat/completions": _chat_completions,
    "/responses": _responses,
    "/messages": _anthropic,
    "enerateContent": _gemini,
}
"""By a part of the path."""


FULL_OBJECTS: Final = 180_000


def _full(size: int) -> bytes:
    """Return about as many objects and values as are read, and a text."""
    objects = b'{"a":1},' * min(FULL_OBJECTS, size // 20)
    return b'[%b"%b"]' % (objects, b"x" * (size - len(objects)))


LARGE: Final[dict[str, Callable[[int], bytes]]] = {
    "text": lambda size: b'"%b"' % (b"Some words, and more. " * (size // 22)),
    "letters": lambda size: b'"%b"' % ("\u00e9 \U0001f600 ".encode() * (size // 8)),
    "escapes": lambda size: b'"%b"' % (b"\\n\\u00e9" * (size // 8)),
    "full": _full,
    "commas": lambda size: b"[%b0]" % (b"0," * (size // 2)),
    "brackets": lambda size: b"[%b0]" % (b"[]," * (size // 3)),
    "members": lambda size: b"{%b}" % b",".join(b'"%d":1' % n for n in range(size // 10)),
}
"""What a large event is made of, as JSON of about so many bytes. A text is the vendor's; anything else is a member that
no format has."""


def _enlarged(event: bytes, payload: bytes) -> bytes:
    text = json.dumps(WORD).encode()
    return event.replace(text, payload, 1) if payload.startswith(b'"') else b'{"more":%b,%b' % (payload, event[1:])


@cache
def answer(path: str, stream: bool) -> bytes:
    """Return the answer to a request, with its headers."""
    number, _, large = path.split("/")[1].partition("-")
    pieces = 1 if large else int(number)
    written = next(written for part, written in FORMATS.items() if part in path)
    said = [(one.get("type"), json.dumps(one).encode()) for one in written(pieces, stream=stream)]
    if large:
        place = next(place for place, one in enumerate(said) if WORD.encode() in one[1])
        said[place] = (said[place][0], _enlarged(said[place][1], LARGE[large](int(number))))
    if not stream:
        body, kind = said[0][1], b"application/json"
    else:
        events = [(f"event: {name}\n".encode() if name else b"") + b"data: " + data + b"\n\n" for name, data in said]
        if written is _chat_completions:
            events.append(b"data: [DONE]\n\n")
        body, kind = b"".join(events), b"text/event-stream"
    return b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n%b" % (kind, len(body), body)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ", 2)[1]
            length = next(
                int(line.partition(":")[2]) for line in head.split("\r\n") if line.lower().startswith("content-length:")
            )
            body = json.loads(await reader.readexactly(length))
            writer.write(answer(path, bool(body.get("stream")) or "streamGenerateContent" in path))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    """Serve until the standard input ends."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _end_with_the_bench() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_the_bench, daemon=True).start()
    asyncio.run(main())
