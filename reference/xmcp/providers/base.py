"""What every model provider implements: the protocol `LLMProvider`, and the request it is given. No I/O, no vendor."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from xmcp.chat.completions import Completion
from xmcp.chat.messages import Message
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.tool_schemas import ToolSchemas
from xmcp.chat.usage import Usage


@dataclass(slots=True)
class Received:
    """What has arrived of an answer besides its pieces; the provider updates it while the answer streams.

    A request that is cancelled, or whose answer breaks off, is accounted for by it. A provider may leave it alone.
    """

    bytes: int = 0
    """Of what the model wrote apart from the pieces that are yielded, such as arguments of calls. The client adds the
    reasoning that is."""
    usage: Usage = field(default_factory=Usage)
    """The tokens as far as the vendor has counted them."""
    model: str | None = None
    """The model that answers, as the vendor names it."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model. `model=None` means the provider's own default.

    If earlier answers contain opaque state of vendors, `messages` has only the state that the provider of this name
    wrote (`xmcp.chat.vendor_state`).
    """

    messages: Sequence[Message]
    tools: ToolSchemas = field(default_factory=ToolSchemas)
    model: str | None = None
    sampler: SamplerConfig = field(default_factory=SamplerConfig)
    received: Received = field(default_factory=Received, compare=False)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A piece of what a model writes as its reasoning, as it arrives. It is no part of the text of the answer."""

    text: str


Piece: TypeAlias = str | Reasoning
"""A piece of an answer as it arrives: of its text, or of the model's reasoning."""


@runtime_checkable
class LLMProvider(Protocol):
    """A source of completions. Implement it to use your own model with `AIClient(llm_provider=...)`.

    One object serves any number of concurrent calls. `stream` yields pieces of text as they arrive and then exactly one
    `Completion`, whose text is all of them together. Before and between them it can yield `Reasoning`. It raises
    `ProviderError` for every failure, also for an answer that breaks off; when it is closed or cancelled it releases
    its connection.

    A provider whose vendor holds no model to a JSON Schema, or not each, has a method `takes_schema(model, tools)` too.
    Where it returns False, a typed answer is asked for by a tool, and `response_format` is not set. `model` may be
    `None`.
    """

    name: str
    """The name in usage records, events of the log, and opaque vendor state."""
    supports_tools: bool
    """Whether the model can call tools; if not, it is asked without any."""
    max_context_tokens: int | None
    """Size of the context window in tokens; `None` if it is not known."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Piece | Completion, None]:
        """Ask the model once; see `LLMProvider`."""
        ...
