"""A client: a model uses the tools of MCP servers, and the person reads its answer as it is written.

    export OPENAI_API_KEY=sk-…        # or OPENAI_BASE_URL=http://localhost:8000/v1 of a model that runs here
    uv run python examples/client.py http://127.0.0.1:3333
    uv run python examples/client.py "uv run xmcp serve examples/display_server.py --transport stdio"

Type questions, one on a line; the end of the input ends it. The environment variable MODEL names another model.
"""

import asyncio
import os
import sys

from xmcp import AIClient, Conversation
from xmcp.client import LLMDelta, LLMRetry, ServersUnavailable, ToolDisplay, ToolError
from xmcp.providers import ProviderError
from xmcp.render import to_text


async def answer(conversation: Conversation, question: str) -> None:
    """Print what happens in one chat while it happens."""
    async for event in conversation.stream_chat(question):
        match event:
            case LLMDelta(text=text):
                print(text, end="", flush=True)
            case LLMRetry():
                print("\n(The answer broke off; once more:)")
            case ToolError(tool_name=name, error=error):
                print(f"({name}: {error.code})")  # the model gets the error and decides what to do
            case ToolDisplay(envelope=envelope):
                print(to_text(envelope))
    print()


async def main() -> None:
    """Chat until the end of the input; the conversation keeps the history."""
    servers = sys.argv[1:] or ["http://127.0.0.1:3333"]
    async with AIClient(servers, llm_model=os.environ.get("MODEL", "gpt-4o")) as ai:
        conversation = Conversation(ai, system="Answer briefly.")
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                await answer(conversation, line.strip())
            except ProviderError as error:  # no model could be asked; the history is kept
                print(f"The model cannot be asked: {error}", file=sys.stderr)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (ProviderError, ServersUnavailable) as error:  # no key, or no server
        sys.exit(str(error))
