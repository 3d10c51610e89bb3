"""`AIClient`: options, connections and the two ways to chat. What all chats share lives here, nothing of one chat."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self, TypeAlias

from xmcp.client import catalogue, targets
from xmcp.client.callbacks import DisplayCallback, ErrorCallback
from xmcp.client.calls import CallPipeline
from xmcp.client.catalogue import Catalogue
from xmcp.client.chunks import ChatChunk, ChatResult
from xmcp.client.connection import ConnectFailed, Server
from xmcp.client.displays import DisplayMode
from xmcp.client.log import EventLog
from xmcp.client.loop import Chat, ChatSettings
from xmcp.client.targets import Target
from xmcp.providers import LLMProvider, Message, OpenAIProvider

_NO_HISTORY = (
    "chat() and stream_chat() need the history: the list of messages so far, [] for a new conversation. "
    "Keep result['history'] and pass it with the next query."
)


_Claim: TypeAlias = "list[weakref.ref[AsyncGenerator[ChatChunk, None]]]"
"""The stream that runs on a history. One that nobody holds any more is over, though it is closed only soon after."""


class AIClient:
    """A language model with the tools of any number of MCP servers.

    ```python
    async with AIClient(["http://localhost:3333"], openai_api_key="sk-...") as ai:
        result = await ai.chat("Show me sales for EMEA", history=[])
    ```

    One client serves any number of chats at once; each brings its own history and leaves nothing behind.

    Args:
        servers: Targets (`xmcp.client.targets`): a list, whose tools keep their names where those do not clash; or a
            mapping from a name of yours, with which all tools of that server begin (`crm__find`). A server that cannot
            be reached is left out, with a warning in the log and in every chat.
        openai_api_key: Key for the built-in `OpenAIProvider`; absent, `OPENAI_API_KEY` counts.
        openai_base_url: Another server with OpenAI's format, for the built-in provider.
        llm_provider: Your own provider instead of the built-in one.
        llm_model: Model to ask for; `None` leaves it to the provider.
        max_turns: Most calls of the model in one chat.
        max_concurrency: Most tool calls at once, over all chats; those that wait are served in order.
        tool_timeout: Seconds a tool call may take.
        connect_timeout: Seconds that connecting to a server may take, the listing of its tools included.
        display: `exit`: a turn whose calls all showed something ends the chat, without another call of the model;
            `continue`: the model always has the last word.
        on_display: Called with each display and the history at that moment, in call order; sync or async.
        on_error: The same for each error: of a tool, of the client, of the model.
        logger: A standard logger or one like structlog's; default `logging.getLogger("xmcp")`.

    Raises:
        TypeError, ValueError: options that cannot work, each named in the message.
        ProviderError: no model: neither a provider nor a key (category `auth`).
    """

    def __init__(
        self,
        servers: Sequence[Target] | Mapping[str, Target],
        *,
        openai_api_key: str | None = None,
        llm_provider: LLMProvider | None = None,
        llm_model: str | None = None,
        openai_base_url: str | None = None,
        max_turns: int = 10,
        max_concurrency: int = 16,
        tool_timeout: float = 60.0,
        connect_timeout: float = 10.0,
        display: DisplayMode = "exit",
        on_display: DisplayCallback | None = None,
        on_error: ErrorCallback | None = None,
        logger: Any = None,
    ) -> None:
        for option, value in (
            ("max_turns", max_turns),
            ("max_concurrency", max_concurrency),
            ("tool_timeout", tool_timeout),
            ("connect_timeout", connect_timeout),
        ):
            if not value > 0:
                raise ValueError(f"{option} must be above 0, not {value!r}.")
        if display not in ("exit", "continue"):
            raise ValueError(f"display must be 'exit' or 'continue', not {display!r}.")
        if isinstance(servers, str) or not isinstance(servers, Sequence | Mapping):
            raise TypeError("servers must be a list of servers, or a mapping from names to servers.")
        if llm_provider is not None and (openai_api_key is not None or openai_base_url is not None):
            raise ValueError("Give either llm_provider, or openai_api_key and openai_base_url, not both.")
        if llm_provider is not None and not isinstance(llm_provider, LLMProvider):
            raise TypeError(
                "llm_provider must be a provider (xmcp.providers.LLMProvider), for example OpenAIProvider()."
            )
        # A provider of the caller's is the caller's to close.
        self._own_provider: OpenAIProvider | None = None
        if llm_provider is None:
            llm_provider = self._own_provider = OpenAIProvider(openai_api_key, openai_base_url)
        self._settings = ChatSettings(llm_provider, llm_model, max_turns, display, on_display, on_error)
        pairs = servers.items() if isinstance(servers, Mapping) else ((None, target) for target in servers)
        self._sources = [(name, targets.source(target, connect_timeout)) for name, target in pairs]
        self._connect_timeout = connect_timeout
        self._tool_timeout = tool_timeout
        self._slots = asyncio.Semaphore(max_concurrency)
        self._log = EventLog(logger)
        self._servers: list[Server] = []
        self._catalogue: Catalogue | None = None
        self._running: dict[int, _Claim] = {}

    async def __aenter__(self) -> Self:
        """Connect to all servers at once. It takes no longer than `connect_timeout` and a little, whatever they do."""
        if self._servers or self._catalogue is not None:
            raise RuntimeError("This AIClient is in use: enter it once and share it, or make another one.")
        self._servers = [Server(source, name, self._connect_timeout, self._log) for name, source in self._sources]
        try:
            listings = await asyncio.gather(*(server.open() for server in self._servers), return_exceptions=True)
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        reached, warnings = [], []
        for server, listing in zip(self._servers, listings, strict=True):
            if isinstance(listing, ConnectFailed):
                warnings.append(f"The server {server.label} cannot be reached, its tools are missing: {listing}.")
            elif isinstance(listing, BaseException):
                await self.__aexit__(None, None, None)
                raise listing
            else:
                reached.append((server, listing))
        self._catalogue = catalogue.build(reached, version=1, warnings=warnings)
        for warning in self._catalogue.warnings:
            self._log.warning("catalogue", message=warning)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave every server and close the built-in provider."""
        servers, self._servers, self._catalogue = self._servers, [], None
        await asyncio.gather(*(server.close() for server in servers))
        if self._own_provider is not None:
            await self._own_provider.aclose()

    async def chat(
        self, query: str, history: Sequence[Message] | None = None, *, session_id: str | None = None
    ) -> ChatResult:
        """Answer one query: ask the model, run the tools it calls, until it has answered or shown the answer.

        Args:
            query: What the person says; appended to the history unless it is its last message already.
            history: The conversation so far, in the OpenAI chat format; required, `[]` to begin. It is not changed.
            session_id: Goes into every log event of this chat.

        Returns:
            `ChatResult`: `answer`, `display`, `displays`, `history`, `usage`, `stop_reason`.

        Raises:
            ValueError: no history, or one that no model would take.
            RuntimeError: this very list is in another running chat, or the client is not entered.
            ProviderError: the model could not be asked, after the retries of its SDK. Its `history` has all turns that
                were completed and can be passed to `chat()` again. What tools do wrong never raises: the model is told.
        """
        async with aclosing(self.stream_chat(query, history, session_id=session_id)) as chunks:
            async for chunk in chunks:
                if chunk.result is not None:
                    return chunk.result
        raise AssertionError("a chat ended without its last event")

    def stream_chat(
        self, query: str, history: Sequence[Message] | None = None, *, session_id: str | None = None
    ) -> AsyncGenerator[ChatChunk, None]:
        """The same as `chat`, told while it happens: see `ChatChunk`. The last chunk is `done` with the result.

        Leave it early with `aclose()` (or `contextlib.aclosing`), or cancel the task: running calls are cancelled at
        their servers and nothing stays behind. Raises what `chat` raises.
        """
        if history is None:
            raise ValueError(_NO_HISTORY)
        if isinstance(history, str | bytes) or not isinstance(history, Sequence):
            raise TypeError(f"history must be a list of messages, not {type(history).__name__}.")
        if not isinstance(query, str):
            raise TypeError(f"query must be a string, not {type(query).__name__}.")
        claim: _Claim = []
        chunks = self._stream(query, history, self._log.bind(session_id=session_id), claim)
        claim.append(weakref.ref(chunks))
        return chunks

    async def _stream(
        self, query: str, history: Sequence[Message], log: EventLog, claim: _Claim
    ) -> AsyncGenerator[ChatChunk, None]:
        if self._catalogue is None:
            raise RuntimeError("The AIClient is not connected: use it inside `async with AIClient(...) as ai:`.")
        other = self._running.get(id(history))
        if other is not None and other[0]() is not None:
            raise RuntimeError("This history is in use by another running chat: give each conversation its own list.")
        calls = CallPipeline(self._catalogue, self._slots, self._tool_timeout, log)
        chat = Chat(self._settings, calls, log, history, query)
        self._running[id(history)] = claim
        try:
            async with aclosing(chat.run()) as chunks:
                async for chunk in chunks:
                    yield chunk
        finally:
            if self._running.get(id(history)) is claim:
                del self._running[id(history)]
