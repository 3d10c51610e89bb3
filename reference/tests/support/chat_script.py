"""A model that does what its caller says: it answers, calls a tool, or waits in the middle of an answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from support.scripted_model import ChatServer, Reply


class ToldModel:
    """Tells a `ChatServer` what to reply by the last message of a request.

    - `call NAME {ARGUMENTS}`: calls a tool, by the end of its name; the result is repeated;
    - `wait`: sends the first half of an answer, and the rest when `go_on` is set;
    - `stay`: sends that half, and nothing more;
    - `silence`: sends nothing until `go_on` is set;
    - `early`: breaks the connection before an answer, the first time; `flaky`: in the middle of it, the first time;
      `broken`: in the middle, always;
    - anything else: `you said: ...`.
    """

    def __init__(self, server: ChatServer) -> None:
        self.server = server
        self.go_on = asyncio.Event()
        self._broke: set[str] = set()
        server.replies = self._reply

    def _reply(self, request: dict[str, Any]) -> Reply:
        said = request["messages"][-1]
        words = said["content"] if isinstance(said["content"], str) else said["content"][0]["text"]
        if said["role"] == "tool":
            return self.server.reply.streamed(f"the tool said: {words}")
        command, _, rest = words.partition(" ")
        if command == "call":
            name, _, arguments = rest.partition(" ")
            tools = [tool["function"]["name"] for tool in request.get("tools", ())]
            called = next((tool for tool in tools if tool.endswith(name)), name)
            return self.server.reply.streamed(calls=[("c0", called, arguments or "{}")])
        answer = self.server.reply.streamed(f"you said: {words}")
        if command in ("wait", "stay"):
            answer.pieces.insert(2, self.go_on if command == "wait" else asyncio.Event())
        if command == "broken" or (command in ("early", "flaky") and words not in self._broke):
            self._broke.add(words)
            answer.pieces.insert(0 if command == "early" else 2, None)
        if command == "silence":
            answer.pieces.insert(0, self.go_on)
        return answer


def call(name: str, **arguments: Any) -> str:
    """Return what has the model call a tool."""
    return f"call {name} {json.dumps(arguments)}"
