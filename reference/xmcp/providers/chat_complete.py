"""Providers with one method, `chat_complete`, which returns an answer in the format of OpenAI's chat completions."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final, Protocol, runtime_checkable

import orjson

from xmcp.chat.completions import Completion
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.messages import copied
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.vendor_state import for_vendor
from xmcp.providers.base import LLMProvider, ModelRequest, Piece, Reasoning
from xmcp.providers.errors import classify, is_unknown_model
from xmcp.providers.formats import chat_completions

MAX_REASON: Final = 2000
"""Maximum number of characters that are read of an exception."""

_MEMBERS: Final = ("name", "supports_tools", "max_context_tokens", "stream")


@runtime_checkable
class ChatComplete(Protocol):
    """A source of whole answers. `AIClient` takes it in the place of an `LLMProvider`.

    `chat_complete` is async and takes `model`, `messages` and `tools` (`None` if there are none) by name, in OpenAI's
    format. It returns a chat completion: a mapping, or an object with `model_dump`, as the SDKs have. An option of
    `SamplerConfig` is passed if the method has a parameter of its name. Of the attributes of an `LLMProvider` it may
    have `name`, `supports_tools` and `max_context_tokens`; `model` is the model for requests that name none.
    """

    @property
    def chat_complete(self) -> Callable[..., Awaitable[Any]]:
        """Ask the model once; see `ChatComplete`."""
        ...


def as_provider(option: str, value: Any) -> LLMProvider:
    """Return `value`, or an adapter around it if it has only `chat_complete`.

    Raises:
        TypeError: it is neither; the message names `option`.
    """
    if isinstance(value, type):
        raise TypeError(f"{option} must be an object, not the class {value.__name__}: pass {value.__name__}(...).")
    if isinstance(value, LLMProvider):
        return value
    if isinstance(value, ChatComplete):
        return ChatCompleteAdapter(value)
    missing = ", ".join(name for name in _MEMBERS if not hasattr(value, name))
    raise TypeError(
        f"{option} must be a provider (xmcp.providers.LLMProvider), not {value!r}: it lacks {missing}, and has no "
        "method chat_complete either."
    )


class ChatCompleteAdapter:
    """An `LLMProvider` that asks a `ChatComplete`. Each answer comes in one piece."""

    def __init__(self, asked: ChatComplete) -> None:
        self.asked = asked
        self.name = str(getattr(asked, "name", None) or type(asked).__name__)
        self.supports_tools = bool(getattr(asked, "supports_tools", True))
        self.max_context_tokens: int | None = getattr(asked, "max_context_tokens", None)

    def takes_schema(self, model: str | None, tools: ToolSchemas) -> bool:  # noqa: ARG002 - it does not matter
        """Return whether the method takes the schema of an answer; see `LLMProvider`."""
        return self._takes("response_format")

    def _takes(self, option: str) -> bool:
        parameters = inspect.signature(self.asked.chat_complete).parameters
        return option in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece | Completion, None]:
        """Ask the model once (see `LLMProvider`)."""
        model = request.model or getattr(self.asked, "model", None)
        arguments = self._arguments(request, model)
        try:
            answer = await self.asked.chat_complete(**arguments)
        except ProviderError:
            raise
        except Exception as exc:
            raise self._failed(exc, model) from exc
        reasoning, completion = self._read(answer, request, model)
        if reasoning:
            yield Reasoning(reasoning)
        if completion.text:
            yield completion.text
        yield completion

    def _arguments(self, request: ModelRequest, model: str | None) -> dict[str, Any]:
        signature = inspect.signature(self.asked.chat_complete)
        options = chat_completions.options(request.sampler, request.tools)
        arguments = {
            **({} if model is None else {"model": model}),
            # Copies: the tools belong to all chats, and the messages to the history.
            "messages": copied(for_vendor(request.messages, None)),
            "tools": orjson.loads(request.tools.json) or None,
            **{name: value for name, value in options.items() if self._takes(name)},
        }
        try:
            signature.bind(**arguments)
        except TypeError as exc:
            hint = "" if model else " Give llm_model=..., if it needs the name of a model."
            message = f"chat_complete of {self.name!r} cannot be called with {', '.join(arguments)}: {exc}.{hint}"
            raise self._error(message, ErrorCategory.UNKNOWN, model) from None
        return arguments

    def _read(self, answer: Any, request: ModelRequest, model: str | None) -> tuple[str, Completion]:
        try:
            data = orjson.dumps(answer, default=lambda value: value.model_dump(mode="json"))
            assembly = chat_completions.Assembly(self.name, request.received)
            return chat_completions.whole(chat_completions.parse(data, self.name), self.name, assembly)
        except (AttributeError, TypeError):  # orjson's own errors are TypeErrors
            message = f"chat_complete of {self.name!r} returned a {type(answer).__name__}, which is no chat completion."
            raise self._error(message, ErrorCategory.UNKNOWN, model) from None

    def _failed(self, exc: Exception, model: str | None) -> ProviderError:
        """Return what an exception of the object means. Its text may hold a key or an address, so that only its class
        and its status are told; whoever looks for more finds it as the cause."""
        said = str(exc)[:MAX_REASON]
        status = getattr(exc, "status_code", None)
        if not isinstance(status, int):
            status = None
            category = ErrorCategory.NETWORK if isinstance(exc, OSError) else ErrorCategory.UNKNOWN
        elif model is not None and is_unknown_model(status, said, model):
            category = ErrorCategory.MODEL
        else:
            category = classify(status, said)
        told = "" if status is None else f" (HTTP status {status})"
        return self._error(f"The provider {self.name!r} failed: {type(exc).__name__}{told}.", category, model, status)

    def _error(
        self, message: str, category: ErrorCategory, model: str | None, status: int | None = None
    ) -> ProviderError:
        return ProviderError(message, category=category, provider=self.name, model=model, status=status)
