"""Four clients that are unusual and obey every sentence."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from unseen_clients.adapter import Application, Json
from xmcp.chat.messages import Message
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.client.calls import retry_policy
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.tools.catalogue import Entry
from xmcp.providers.formats import chat_completions
from xmcp.wire import ErrorInfo


def whole_answers() -> None:
    """Ask for answers in one piece. A chat that is cancelled has then received no text (XMCP-CLI-116)."""
    right = chat_completions.request_body

    def request_body(
        model: str, messages: Sequence[Message], tools: ToolSchemas, *, vendor: str | None = None
    ) -> bytes:
        body = right(model, messages, tools, vendor=vendor)
        return body.replace(b',"stream":true,"stream_options":{"include_usage":true}', b',"stream":false', 1)

    chat_completions.request_body = request_body


def last_call_first() -> None:
    """Begin the calls of a turn at its end: the order among calls of one tenant is open (XMCP-CLI-117)."""
    right = ToolTurn._run_call

    async def run_call(self: ToolTurn, index: int) -> None:
        for _ in range(min(len(self._calls) - index, 64)):
            await asyncio.sleep(0)
        await right(self, index)

    ToolTurn._run_call = run_call


def retries_when_told_when() -> None:
    """Retry less often than the application allows: no sentence asks for a retry (XMCP-ERR-040, XMCP-ERR-041)."""
    right_allowed, right_ends = retry_policy.allowed, retry_policy.ends

    def allowed(error: ErrorInfo, entry: Entry) -> bool:
        return error.retry_after_ms is not None and right_allowed(error, entry)

    def ends(policy: RetryPolicy, failures: int, pause: float, elapsed: float, left: float | None) -> bool:
        return failures >= 2 or right_ends(policy, failures, pause, elapsed, left)

    retry_policy.allowed = allowed
    retry_policy.ends = ends


def chatty_events() -> None:
    """Say more in events than the format has, which their readers ignore (XMCP-REC-004)."""
    right = Application.tell

    def tell(application: Application, chat: str, event: Json) -> None:
        pieces = [{**event, "text": letter} for letter in event["text"]] if event["type"] == "llm_delta" else [event]
        for piece in pieces:
            right(application, chat, {**piece, "x_acme_at": time.time()})
        if event["type"] == "tool_call":
            right(application, chat, {"type": "x_acme_heartbeat", "turn": event["turn"], "x_acme_alive": True})

    Application.tell = tell
