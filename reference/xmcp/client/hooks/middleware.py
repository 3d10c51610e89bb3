"""Middleware: the application's hooks around every model call and every tool call of a chat.

A middleware is an object with any of the four methods of `Middleware`, sync or async. Before a call they run in the
order given, after it in reverse. If the `before_*` of an object returned, its `after_*` runs, whatever happens.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

from xmcp.client.hooks.callbacks import call
from xmcp.wire import ErrorInfo, ToolResponse

if TYPE_CHECKING:
    from xmcp.chat.completions import Completion
    from xmcp.chat.tool_schemas import ToolSchemas
    from xmcp.chat.usage import UsageRecord
    from xmcp.client.hooks.log import EventLog


HOOK_SECONDS: Final = 900.0
"""How long a hook may take. It is long because a hook may wait for a rate limit, for example."""


IdLike: TypeAlias = str | UUID | int
"""What an application may pass as the id of a tenant or of a session; it becomes a string."""


def named(option: str, value: Any) -> str | None:
    """Return the id of a tenant or a session as a string; UUIDs and integers are accepted too.

    Raises:
        TypeError: `value` is of another type.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, UUID | int) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"{option} must be a string or a UUID, not {type(value).__name__}.")


@dataclass(frozen=True, slots=True)
class ChatContext:
    """Identifies a chat. `chat_id` is new for every chat; `state` is a dict of this chat for middleware to use.

    `metadata` is what the application passed to `chat()`, as JSON values.
    """

    chat_id: str
    tenant_id: str | None = None
    session_id: str | None = None
    state: dict[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class LLMState:
    """One call of the model. `before_llm` may change `messages`, for this call only: they are copies."""

    chat: ChatContext
    turn: int
    provider: str
    model: str | None
    messages: Sequence[Mapping[str, Any]]
    tools: ToolSchemas
    completion: Completion | None = None
    """The model's answer; `None` before the call, and if the call failed or was cancelled."""
    usage: UsageRecord | None = None
    """The usage of the call; of one that was cancelled or broke off, what was received (`estimated`). `None` before the
    call, and if it failed without anything to account for."""
    error: BaseException | None = None
    """Why there is no completion; a cancelled call has `asyncio.CancelledError` or `GeneratorExit`."""

    @property
    def tenant_id(self) -> str | None:
        """The tenant given to `chat()`."""
        return self.chat.tenant_id

    @property
    def session_id(self) -> str | None:
        """The session given to `chat()`."""
        return self.chat.session_id


@dataclass(slots=True, kw_only=True)
class ToolState:
    """One call of a tool, retries included. `before_tool` may replace `arguments`, `after_tool` the `response`."""

    chat: ChatContext
    turn: int
    call_id: str
    tool_name: str
    """The tool as the model knows it."""
    server: str | None
    """The name of the server that the call goes to."""
    arguments: dict[str, Any]
    """What the model wrote, and the values that predecessors pass on. Parameters of the application are added later."""
    read_only: bool = False
    """Whether the server says that the tool changes nothing (`readOnlyHint`)."""
    response: ToolResponse | None = None
    """The answer to the call; `None` before the call, and if the call was cancelled."""
    error: BaseException | None = None
    """Why there is no response: the call was cancelled."""
    attempts: int = 0
    """Number of attempts at the server."""
    cached: bool = False
    """Whether the response came from the cache, or from an equal call that was running."""

    @property
    def tenant_id(self) -> str | None:
        """The tenant given to `chat()`."""
        return self.chat.tenant_id

    @property
    def session_id(self) -> str | None:
        """The session given to `chat()`."""
        return self.chat.session_id


class Middleware:
    """Base class whose hooks do nothing: override those you need, each sync or async."""

    async def before_llm(self, state: LLMState) -> None:
        """Run before the model is asked. Raise to stop the chat: `QuotaExceeded`, or another exception."""

    async def after_llm(self, state: LLMState) -> None:
        """Run after the model answered, failed or was cancelled."""

    async def before_tool(self, state: ToolState) -> ToolResponse | ErrorInfo | None:  # noqa: ARG002 - for others
        """Run before a tool is called. A response or an error that it returns is the answer; the tool is not called.

        `QuotaExceeded` stops the chat; any other exception fails this call (`INTERNAL`).
        """
        return None

    async def after_tool(self, state: ToolState) -> None:
        """Run after the tool answered or was cancelled; errors are responses too."""


class Stack:
    """The middleware of a client, in order."""

    def __init__(self, middleware: Sequence[Any]) -> None:
        """Raises TypeError for an object without any of the four hooks, or with a hook of another name."""
        for one in middleware:
            if isinstance(one, type) or not any(callable(getattr(one, hook, None)) for hook in _HOOKS):
                raise TypeError(f"middleware takes objects with a hook of {', '.join(_HOOKS)}, not {one!r}.")
            # A hook with a misspelt name would silently never run.
            unknown = [name for name in dir(one) if name.startswith(("before_", "after_")) and name not in _HOOKS]
            if unknown:
                raise TypeError(f"middleware {one!r} has {', '.join(unknown)}; the hooks are {', '.join(_HOOKS)}.")
        self._members = tuple(middleware)

    def __bool__(self) -> bool:
        return bool(self._members)

    @asynccontextmanager
    async def around(
        self, kind: str, state: LLMState | ToolState, log: EventLog, deadline: float | None = None
    ) -> AsyncIterator[Any]:
        """Run `before_{kind}` of all, yield what one of them answered in the call's place, then run `after_{kind}`.

        An exception of a `before` hook is raised after the `after` hooks of the objects before it have run. One of an
        `after` hook is logged and changes nothing. No hook may take longer than `HOOK_SECONDS`, and no `before` hook
        longer than until `deadline`.
        """
        passed: list[Any] = []
        answer: Any = None
        try:
            for member in self._members:
                answer = await _call(member, f"before_{kind}", state, deadline)
                passed.append(member)
                if isinstance(answer, ToolResponse | ErrorInfo):
                    break
                answer = None
            yield answer
        except BaseException as exc:
            state.error = exc
            raise
        finally:
            await self._out(passed, f"after_{kind}", state, log)

    async def _out(self, passed: list[Any], hook: str, state: LLMState | ToolState, log: EventLog) -> None:
        """Call the `after` hooks; all of them, also when one is cancelled."""
        while passed:
            member = passed.pop()
            try:
                await _call(member, hook, state)
            except Exception:
                log.exception("middleware_failed", hook=hook, middleware=type(member).__name__)
            except BaseException:
                await self._out(passed, hook, state, log)
                raise


async def _call(member: Any, hook: str, state: Any, deadline: float | None = None) -> Any:
    method = getattr(member, hook, None)
    if method is None or getattr(method, "__func__", None) is getattr(Middleware, hook):
        return None
    return await call(method, state, seconds=HOOK_SECONDS, deadline=deadline)


_HOOKS = ("before_llm", "after_llm", "before_tool", "after_tool")
