"""What DeepSeek's chat completions have besides OpenAI's, without I/O: what the model thinks, and when it goes back.

`reasoning_content` stands beside the content of an answer. If a request has tools, DeepSeek wants it back with each
earlier answer, and refuses a request in which one lacks it; without tools it has no use for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from xmcp.chat.completions import Completion, VendorState
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.messages import Message
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.vendor_state import vendor_state
from xmcp.providers.base import Received
from xmcp.providers.formats import chat_completions
from xmcp.providers.formats.files import refuse_files

NAME: Final = "deepseek"

_REASONING: Final = "reasoning_content"


def request_body(model: str, messages: Sequence[Message], tools: ToolSchemas, sampler: SamplerConfig) -> bytes:
    """Return the body of a streaming request.

    Raises:
        TypeError: the messages hold something that JSON cannot.
        ProviderError: they hold a file.
    """
    refuse_files(messages, "DeepSeek")
    if tools.tools or _has_calls(messages):
        messages = [_with_reasoning(message) for message in messages]
    if sampler.response_format is not None:
        # DeepSeek has no schemas, and a model that is not told of JSON writes blanks without end.
        told = chat_completions.schema_in_words(sampler.response_format)
        messages = [*messages, {"role": "system", "content": told}]
    return chat_completions.request_body(model, messages, tools, _options(sampler), vendor=NAME)


def _options(sampler: SamplerConfig) -> SamplerConfig:
    more: dict[str, Any] = {}
    if sampler.response_format is not None:
        more["response_format"] = {"type": "json_object"}  # in the place of the schema
    if sampler.reasoning_effort == "none":
        more["thinking"] = {"type": "disabled"}
        sampler = replace(sampler, reasoning_effort=None)
    return replace(sampler, extra_body={**more, **(sampler.extra_body or {})})


def _with_reasoning(message: Message) -> Message:
    """Return an answer of another vendor's model with an empty `reasoning_content`, which DeepSeek takes."""
    if message.get("role") != "assistant":
        return message
    state = vendor_state(message)
    return message if state is not None and state.vendor == NAME else {**message, _REASONING: ""}


def _has_calls(messages: Sequence[Message]) -> bool:
    return any(message.get("role") == "tool" for message in messages)


class Assembly(chat_completions.Assembly):
    """Builds one completion as its chunks arrive; what the model thinks becomes its state."""

    def __init__(
        self, provider: str, received: Received, messages: Sequence[Message] = (), tools: ToolSchemas | None = None
    ) -> None:
        super().__init__(provider, received)
        self._goes_back = bool(tools and tools.tools) or _has_calls(messages)
        self._thoughts: list[str] = []

    def finish(self, *, done: bool) -> Completion:
        """Return the completion. `done`: the vendor marked the end of the stream (`[DONE]`).

        Raises:
            ProviderError: the stream broke off before a finish reason, or DeepSeek had no resources for the rest.
        """
        if self._finish == "insufficient_system_resource":
            raise ProviderError(
                f"{self._provider} had not enough resources to end its answer.",
                category=ErrorCategory.NETWORK,
                provider=self._provider,
            )
        whole = super().finish(done=done)
        if not self._thoughts or not (self._goes_back or whole.tool_calls):
            return whole
        return replace(whole, vendor_state=VendorState(NAME, {_REASONING: "".join(self._thoughts)}))

    def _reasoning(self, delta: Mapping[str, Any]) -> str:
        thought = delta.get(_REASONING)
        if isinstance(thought, str) and thought:
            self._grow(len(thought))
            self._thoughts.append(thought)
        return super()._reasoning(delta)
