"""The protocol between the suite and a client under test: what an adapter offers, and what it is given.

The suite plays the model, the servers and the application of a client. An adapter starts the client with them: it
translates a `Setup` to the client's options, and the three parties to the client's types for its model, its servers
and its callbacks. It decides nothing and hides nothing.

All that passes between the two is JSON or plain data, so that a client in another process can be driven in the same
way. The client runs on the event loop of `virtual_time`: it may wait (`asyncio.sleep`, `asyncio.timeout`), reads the
time from the loop (`asyncio.get_running_loop().time()`), and opens no sockets.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias

from .trace import Setup

Json: TypeAlias = dict[str, Any]
LONGEST_WHY: Final = 500
"""Maximum number of characters of what a client says of a failure, in a trace."""
Messages: TypeAlias = Sequence[Mapping[str, Any]]
"""Messages in the format of OpenAI's chat completions."""


SendReport: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""Sends the `progress`, the `total` and the `message` of a report."""


class StartRefused(Exception):
    """The client refuses to start with these tools, for example because they depend on each other in a circle."""


class NoSuchChat(LookupError):
    """A request to a model belongs to none of the chats: a client can ask beside them, for a title, for example."""


class ServerUnreachable(ConnectionRefusedError):
    """The server cannot be reached: nothing was sent."""


class ConnectionLost(ConnectionResetError):
    """The connection to the server broke after a call was sent. Calls that get this at the same time were all on it."""


class ProtocolError(Exception):
    """The server answers a call with a JSON-RPC error; `code` is that of JSON-RPC."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class OutsideProtocol(Exception):
    """The server answers a call with an HTTP status, and a page in place of a message of MCP (section 6.5)."""

    def __init__(self, status: int, page: str) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.page = status, page


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """A failed request to a model. `began`: the answer broke off in the middle, so that a part of it was delivered."""

    category: str
    began: bool = False


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model answers: pieces of text as they are streamed, then calls as {"id", "name", "arguments"} (a text).

    If the request fails, it fails after the pieces, and there are no calls. If it `stalls`, nothing comes after the
    pieces: the adapter waits until the client ends the request.
    """

    pieces: Sequence[str] = ()
    calls: Sequence[Mapping[str, str]] = ()
    tokens: int | None = None
    """Tokens used, input and output together; `None` if the vendor does not say."""
    failure: ModelFailure | None = None
    stalls: bool = False
    finish: Literal["length", "content_filter", "stop"] | None = None
    """Why the vendor cut or withheld the answer, if it did; `stop`: it says so beside calls."""
    reasoning: Sequence[str] = ()
    """Pieces of the model's reasoning, before the text."""
    begun: Mapping[str, str] | None = None
    """The call, with the first half of its arguments, that comes before the answer breaks off or stalls."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat that the application begins.

    The driver looks afterwards whether the client changed `history`: the client gets this list, and not a copy.
    """

    chat: str
    """The name of the chat; the client passes it on to the application's `receive` and `approve`."""
    query: str
    history: list[Json]
    tenant: str | None = None
    events: bool = False
    """Whether the application asks for the events of the chat; it takes those that it gets unasked, too."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """The values that the application gives in this chat for parameters of `Setup.params`, where they are others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOutcome:
    """How a chat ended: with the result of the event `done` (section 10.2), or by a failure.

    `provider`: the model could not be asked; `quota`: the tenant's quota is used up; `cancelled`: the application
    cancelled it; `refused`: the client did not accept the request; `crashed`: any other exception.
    """

    history: Messages = ()
    """The history with which the application can continue."""
    result: Mapping[str, Any] | None = None
    failure: Literal["provider", "quota", "cancelled", "refused", "crashed"] | None = None
    why: str | None = None
    """What the client says of the failure; the trace has the first `LONGEST_WHY` characters."""
    sees_given: bool = True
    """Whether a change of the list that the client got shows in `ChatRequest.history`."""


class Model(Protocol):
    """A model, played by the suite."""

    async def answer(
        self, messages: Messages, tools: Sequence[Mapping[str, Any]], *, whole: bool = False, counts: bool = True
    ) -> ModelAnswer:
        """Answer a request, with the tools in the format of OpenAI's chat completions.

        Args:
            messages: the messages of the request.
            tools: the tools that it offers.
            whole: whether the client asked for the answer in one piece: then nothing of one that fails arrives.
            counts: whether the client is told the tokens.

        Raises:
            NoSuchChat: the request belongs to no chat.
        """


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a client declares to a server; the members are those of the record `Declared`."""

    stateless: bool
    extensions: Any = None
    experimental: Any = None
    accept_encoding: str | None = None


class ToolServer(Protocol):
    """An MCP server, played by the suite. `Setup.servers` has its name, and says whether it announced the extension."""

    answers_outside: bool
    """Whether `call_tool` can raise `OutsideProtocol`."""

    async def up(self) -> None:
        """Return once the server can be reached."""

    def learn(self, declaration: Declaration) -> None:
        """Take note of what the client declares. A server that is not reached over MCP learns nothing."""

    async def list_tools(self) -> list[Json]:
        """Return the tools as in the result of `tools/list`.

        Raises:
            ServerUnreachable: the server is down.
        """

    async def call_tool(self, name: str, arguments: Mapping[str, Any], report: SendReport | None = None) -> Json:
        """Return the result of `tools/call`. To cancel the call, cancel the task that waits for it.

        `report` sends a report of the progress of the call; `None` where the client wants none.

        Raises:
            ServerUnreachable: the call was not sent.
            ConnectionLost: the call was sent, and there will be no answer.
            ProtocolError: the answer is a JSON-RPC error.
            OutsideProtocol: the answer is an HTTP status, and a page.
        """


class Application(Protocol):
    """The application that uses the client, played by the suite."""

    def receive(self, chat: str, event: Mapping[str, Any]) -> None:
        """Receive an event of a chat (section 10.2), as JSON."""

    def approve(self, chat: str, call_id: str) -> bool | None:
        """Return whether a call may be made; `None`: no answer comes. Asked only if `Setup.approval` is true."""

    def on_display(self, history: Messages) -> None:
        """Run the callback of a display. It may raise what the client has to survive (XMCP-CLI-064)."""

    def on_error(self, history: Messages) -> None:
        """Run the callback of a failed call. It may raise what the client has to survive (XMCP-CLI-064)."""


class RunningClient(Protocol):
    """A client that was started. It runs several chats at the same time."""

    async def chat(self, request: ChatRequest) -> ChatOutcome:
        """Run a chat, and send its events to the application.

        The driver cancels the chat by cancelling the task; the adapter then returns the outcome `cancelled` with the
        history up to there. An exception counts as a crash of the client, and ends the run.
        """

    async def refresh_tools(self) -> None:
        """List the tools of all servers again."""

    async def close(self) -> None:
        """Stop the client. No task of it may be left."""


class ClientAdapter(Protocol):
    """An adapter of a client."""

    async def start(
        self, setup: Setup, models: Sequence[Model], servers: Sequence[ToolServer], application: Application
    ) -> RunningClient:
        """Start a client.

        Args:
            setup: the options of the client, and the servers. `Setup.tools` is what the servers will list; an adapter
                has no use for it.
            models: the model, and the ones to fall back to in their order.
            servers: one for each of `Setup.servers`.
            application: receives the events, the questions for approvals, and the callbacks.

        Raises:
            StartRefused: the client does not start with these servers.
        """
