"""A model on a port of this machine that does what its prompt says, and keeps what it is given back.

It speaks OpenAI's chat completions and Responses, and Google's Gemini, whole and streamed. A prompt with `#call NAME`
makes it ask for the tool whose offered name ends with NAME; once an answer to that call is in the request, it records
what came after the call, and says "done".
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_WISH = re.compile(r"#call (\w+)")


@dataclass
class Heard:
    """What the model was given in one turn: the text of it, and how many images."""

    texts: list[str] = field(default_factory=list)
    images: int = 0
    other: list[str] = field(default_factory=list)
    """Parts that are neither, by their type."""

    @property
    def text(self) -> str:
        """Return all texts, a blank line between two."""
        return "\n\n".join(self.texts)


@dataclass
class StandIn:
    """The running model: its address, and what it heard after each tool that it called."""

    url: str
    heard: dict[str, Heard] = field(default_factory=dict)


@contextmanager
def stand_in_model() -> Iterator[StandIn]:
    """Serve the model until the block ends."""
    model = StandIn("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            whole, events = _answer(self.path, request, model)
            stream = bool(request.get("stream")) or ":stream" in self.path
            body = b"".join(events) if stream else json.dumps(whole).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream" if stream else "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            body = b'{"object": "list", "data": [], "models": []}'
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()


def _answer(path: str, request: dict[str, Any], model: StandIn) -> tuple[dict[str, Any], list[bytes]]:
    if path.endswith("/responses"):
        return _of_responses(request, model)
    if path.partition("?")[0].endswith(("generateContent", "GenerateContent")):
        return _of_gemini(request, model)
    if path.endswith("/chat/completions"):
        return _of_chat(request, model)
    return {"totalTokens": 1}, []  # what a host asks beside the chat, such as Gemini CLI for a count of tokens


# ---- chat completions ----


def _of_chat(request: dict[str, Any], model: StandIn) -> tuple[dict[str, Any], list[bytes]]:
    wished, after = _wish([(message["role"], message) for message in request["messages"]])
    answers = [message for role, message in after if role in ("tool", "user")]
    names = [tool["function"]["name"] for tool in request.get("tools") or () if tool.get("type") == "function"]
    name = _offered(wished, names)
    if name is None or any(message["role"] == "tool" for message in answers):
        if wished:
            _hear(model, wished, [message.get("content") for message in answers])
        message: dict[str, Any] = {"role": "assistant", "content": "done"}
        finish = "stop"
    else:
        call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": "{}"}}
        message, finish = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    head = {"id": "1", "created": 1, "model": str(request.get("model"))}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
    calls = [{**call, "index": index} for index, call in enumerate(message.get("tool_calls") or ())]
    delta = {**message, **({"tool_calls": calls} if calls else {})}
    pieces: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {"choices": [], "usage": usage},
    ]
    chunks = [{**head, "object": "chat.completion.chunk", **piece} for piece in pieces]
    return whole, [*(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks), b"data: [DONE]\n\n"]


# ---- Responses ----


def _of_responses(request: dict[str, Any], model: StandIn) -> tuple[dict[str, Any], list[bytes]]:
    given = request["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    wished, after = _wish([(item.get("role") or item.get("type", ""), item) for item in items])
    outputs = [item for kind, item in after if kind == "function_call_output"]
    tool, namespace = _offered_in_responses(wished, request.get("tools") or [])
    item: dict[str, Any]
    if tool is None or outputs:
        if wished:
            _hear(model, wished, [output.get("output") for output in outputs])
        text = {"type": "output_text", "text": "done", "annotations": []}
        item = {"type": "message", "id": "m1", "status": "completed", "role": "assistant", "content": [text]}
    else:
        item = {"type": "function_call", "id": "f1", "call_id": "call_1", "name": tool, "arguments": "{}"}
        item |= {"status": "completed"} | ({"namespace": namespace} if namespace else {})
    usage: dict[str, Any] = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {"id": "r1", "object": "response", "created_at": 1, "model": str(request.get("model")), "output": [item]}
    whole |= {"status": "completed", "usage": usage, "parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
    pieces: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    events = [
        b"event: %b\ndata: %b\n\n" % (piece["type"].encode(), json.dumps({**piece, "sequence_number": number}).encode())
        for number, piece in enumerate(pieces)
    ]
    return whole, events


def _offered_in_responses(wished: str, tools: list[dict[str, Any]]) -> tuple[str | None, str | None]:
    """Return the name of the tool, and of the namespace that it is in, if it is in one."""
    for tool in tools:
        inner = tool.get("tools") if tool.get("type") == "namespace" else [tool]
        name = _offered(wished, [entry.get("name", "") for entry in inner or ()])
        if name is not None:
            return name, tool["name"] if tool.get("type") == "namespace" else None
    return None, None


# ---- Gemini ----


def _of_gemini(request: dict[str, Any], model: StandIn) -> tuple[dict[str, Any], list[bytes]]:
    contents = [(entry.get("role", ""), {"content": entry.get("parts")}) for entry in request["contents"]]
    wished, after = _wish(contents)
    parts = [part for role, entry in after if role != "model" for part in entry["content"]]
    answered = any("functionResponse" in part for part in parts)
    names = [entry["name"] for tool in request.get("tools") or () for entry in tool.get("functionDeclarations") or ()]
    name = _offered(wished, names)
    if name is None or answered:
        if wished and answered:
            _hear(model, wished, [[plain for part in parts for plain in _gemini_parts(part)]])
        said: dict[str, Any] = {"text": "done"}
    else:
        said = {"functionCall": {"name": name, "args": {}}}
    candidate = {"content": {"role": "model", "parts": [said]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
    return whole, [b"data: %b\n\n" % json.dumps(whole).encode()]


def _gemini_parts(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a part in the form of the other formats; a response of a function has parts of its own."""
    if "inlineData" in part:
        return [{"type": f"{part['inlineData']['mimeType']} image"}]
    if "functionResponse" not in part:
        return [{"type": "text", "text": part.get("text", "")}]
    response = part["functionResponse"]
    said = response.get("response", {})
    text = next((said[name] for name in ("output", "error") if isinstance(said.get(name), str)), json.dumps(said))
    return [
        {"type": "text", "text": text},
        *(one for each in response.get("parts") or () for one in _gemini_parts(each)),
    ]


# ---- all ----


def _wish(messages: list[tuple[str, dict[str, Any]]]) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """Return the tool that the last prompt with a wish names, and the messages after that prompt."""
    for index in range(len(messages) - 1, -1, -1):
        role, message = messages[index]
        found = _WISH.findall(json.dumps(message.get("content"))) if role == "user" else []
        if found:
            return found[-1], messages[index + 1 :]
    return "", []


def _offered(wished: str, names: list[str]) -> str | None:
    if not wished:
        return None
    return next((name for name in names if name.endswith(wished)), None)


def _hear(model: StandIn, wished: str, contents: list[Any]) -> None:
    heard = model.heard.setdefault(wished, Heard())
    if heard.texts or heard.images or heard.other:
        return  # a client that asks twice is heard once
    for content in contents:
        for part in [content] if isinstance(content, str) else content or ():
            kind = "text" if isinstance(part, str) else part.get("type", "")
            if kind in ("text", "input_text", "output_text"):
                heard.texts.append(part if isinstance(part, str) else part["text"])
            elif "image" in kind:
                heard.images += 1
            else:
                heard.other.append(kind)
