"""Mistakes that type checkers must find, each marked with `# error`: events are not `Any`. It is never run."""

from __future__ import annotations

from xmcp import AIClient, ChatChunk
from xmcp.client import Done, LLMRetry, SyncAIClient, ToolRetry


def use(value: object) -> None:
    """Do something with a value."""


def read(chunk: ChatChunk) -> None:
    """Read fields that an event does not have."""
    use(chunk.envelope)  # error
    use(chunk.call_id)  # error
    if chunk.type == "tool_display":
        use(chunk.envelope.titel)  # error
    if chunk.type == "retry":
        use(chunk.call_id)  # error
    if isinstance(chunk, LLMRetry):
        use(chunk.call_id)  # error
    if isinstance(chunk, ToolRetry):
        use(chunk.call_id)
    if isinstance(chunk, Done):
        use(chunk.result["anwser"])  # error


async def stream(ai: AIClient, sync: SyncAIClient) -> None:
    """Read fields of events as they come from a client."""
    async for chunk in ai.stream_chat("q", []):
        use(chunk.envelope)  # error
    for chunk in sync.stream_chat("q", []):
        use(chunk.envelope)  # error
    await ai.chat("q", [], modle="m")  # error
    sync.chat("q", [], max_turns="3")  # error


def change(chunk: Done) -> None:
    """Change an event."""
    chunk.turn = 2  # error
    SyncAIClient([], openai_api_kay="sk-1")  # error
