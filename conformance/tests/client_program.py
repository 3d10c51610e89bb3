"""A client in a program of its own, for tests: `python client_program.py NAME [FAULT]`.

It is the miniature of the suite, or a wrong variant of it, and asks model and servers over HTTP, without an SDK. FAULT
is what it does with its second command, or all the time: see `FAULTS`.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2

from xmcp_conformance.profiles.client.adapter import (
    ChatOutcome,
    ChatRequest,
    ConnectionLost,
    ModelAnswer,
    ModelFailure,
    OutsideProtocol,
    ProtocolError,
    ServerUnreachable,
)
from xmcp_conformance.profiles.client.trace import Server, Setup
from xmcp_conformance.wrong.clients import miniature
from xmcp_models.registry import EXTENSION_ID

FAULTS = ("ends", "hangs", "talks", "another id", "no member", "floods", "endless", "stays", "forks", "other chat")
VERSION = "2026-07-28"


def say(message: Any) -> None:
    sys.stdout.write(f"{message if isinstance(message, str) else json.dumps(message)}\n")
    sys.stdout.flush()


class HttpModel:
    """A model that is asked for whole answers."""

    def __init__(self, http: httpx2.AsyncClient, address: Mapping[str, str]) -> None:
        self._http, self._address = http, address

    async def answer(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], *, whole: bool = True
    ) -> ModelAnswer:
        body = {"model": self._address["model"], "messages": messages, **({"tools": tools} if tools else {})}
        try:
            answered = await self._http.post(f"{self._address['base_url']}/chat/completions", json=body)
        except httpx2.TransportError:
            return ModelAnswer(failure=ModelFailure("network"))
        if answered.status_code != 200:
            return ModelAnswer(failure=ModelFailure("refused"))
        choice = answered.json()["choices"][0]
        message, finish = choice["message"], choice["finish_reason"]
        calls = [{"id": call["id"], **call["function"]} for call in message.get("tool_calls", ())]
        cut = finish if finish in ("length", "content_filter") else None
        return ModelAnswer([message["content"] or ""], calls, finish=cut)


class HttpServer:
    """A server that is asked in the stateless era."""

    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self._http, self._url = http, url

    async def request(self, method: str, **params: Any) -> Any:
        declared = {"extensions": {EXTENSION_ID: {"versions": ["1.0"]}}}
        client = {"name": "miniature", "version": "1"}
        meta = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": declared,
            "io.modelcontextprotocol/clientInfo": client,
        }
        headers = {"MCP-Protocol-Version": VERSION, "Mcp-Method": method}
        headers |= {"Accept": "application/json, text/event-stream"}
        headers |= {"Mcp-Name": params["name"]} if "name" in params else {}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        try:
            answered = await self._http.post(self._url, json=message, headers=headers)
        except httpx2.ConnectError as error:
            raise ServerUnreachable from error
        except httpx2.TransportError as error:
            raise ConnectionLost from error
        if answered.status_code in (401, 403, 429) or "Traceback" in answered.text:
            raise OutsideProtocol(answered.status_code, answered.text)
        lines = [line[6:] for line in answered.text.splitlines() if line.startswith("data: {")] or [answered.text]
        told = json.loads(lines[-1])
        if "error" in told:
            raise ProtocolError(told["error"]["code"], told["error"]["message"])
        return told["result"]

    async def announces(self) -> bool:
        try:
            found = await self.request("server/discover")
        except ConnectionError:
            return False
        return EXTENSION_ID in found["capabilities"].get("extensions", {})

    async def up(self) -> None:
        """Return: it tries."""

    async def list_tools(self) -> list[dict[str, Any]]:
        tools, cursor = [], {}
        while cursor is not None:
            page = await self.request("tools/list", **cursor)
            tools += page["tools"]
            cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
        return tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        result = await self.request("tools/call", name=name, arguments=arguments)
        return {**result, "isError": result.get("isError", False)}


class Told:
    """The application, at the other end of the pipe."""

    def receive(self, chat: str, event: Mapping[str, Any]) -> None:
        say({"event": dict(event), "chat": chat})

    def approve(self, chat: str, call_id: str) -> bool:
        raise NotImplementedError

    def on_display(self, history: Any) -> None:
        say({"ask": 1, "callback": "on_display", "history": history})

    def on_error(self, history: Any) -> None:
        say({"ask": 2, "callback": "on_error", "history": history})


async def start(variant: type[miniature.Miniature], request: dict[str, Any]) -> miniature.Miniature:
    http = httpx2.AsyncClient(timeout=None, headers={"Accept-Encoding": "identity"})
    servers = [HttpServer(http, one["url"]) for one in request["servers"]]
    announced = [await server.announces() for server in servers]
    named = [Server(given_name=one["name"], xmcp=x) for one, x in zip(request["servers"], announced, strict=True)]
    setup = Setup(servers=named, tools=(), **request["setup"])
    client = variant(setup, HttpModel(http, request["models"][0]), Told())
    await client.find_tools(servers)
    return client


async def run(client: miniature.Miniature, request: dict[str, Any]) -> None:
    given = request["history"]
    asked = ChatRequest(request["chat"], request["query"], given, request["tenant"], request["events"])
    try:
        outcome: ChatOutcome = await client.chat(asked)
    except Exception as error:
        os.write(2, f"{error!r}\n".encode())
        outcome = ChatOutcome(failure="crashed")
    ended = {"result": outcome.result} if outcome.result is not None else {"failure": outcome.failure}
    say({"id": request["id"], "history": outcome.history, "given": given, **ended})


def at_fault(fault: str, request: dict[str, Any]) -> None:
    """Do what is wrong at the second command."""
    match fault:
        case "ends":
            sys.exit("out of cheese")
        case "hangs":
            time.sleep(600)
        case "talks":
            say("Hello!")
        case "another id":
            say({"id": request["id"] + 1})
        case "no member":
            say({"id": request["id"], "oops": 1})
        case "floods":
            say("x" * (70 * 1024 * 1024))
        case "endless":
            while True:
                say({"event": {"type": "llm_delta", "turn": 0, "text": "x"}, "chat": "0"})
        case "other chat":
            say({"event": {"type": "llm_delta", "turn": 0, "text": "x"}, "chat": "7"})


async def main() -> None:
    name, fault = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    variant: type[miniature.Miniature] = getattr(miniature, name)
    features = sorted(miniature.FEATURES)
    lines = asyncio.StreamReader(limit=2**26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    chats: dict[str, asyncio.Task[None]] = {}
    client: miniature.Miniature | None = None
    number = 0
    async for line in lines:
        request, number = json.loads(line), number + 1
        if number == 2:
            at_fault(fault, request)
        match request["command"]:
            case "hello":
                say({"id": request["id"], "protocol": 1, "name": name, "features": features})
            case "start":
                client = await start(variant, request)
                say({"id": request["id"]})
            case "chat" if client:
                chats[request["chat"]] = asyncio.create_task(run(client, request))
                await asyncio.sleep(0)  # so that it has begun when it is cancelled
            case "cancel":
                chats[request["chat"]].cancel()
            case "refresh" | "stop":
                say({"id": request["id"]})


if __name__ == "__main__":
    if sys.argv[2:] == ["forks"]:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", os.environ["MARK"]])
    asyncio.run(main())
    if sys.argv[2:] == ["stays"]:
        time.sleep(600)
