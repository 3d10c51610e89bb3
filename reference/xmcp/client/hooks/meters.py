"""OpenTelemetry metrics of chats, their model calls and their tool calls, by the GenAI semantic conventions.

Without an SDK in the process they cost next to nothing. Their attributes are of bounded sets: operations, providers,
models, tools of the servers, kinds of errors; never a tenant, a user, a session, or a word that was said.
"""

from __future__ import annotations

from typing import Final

from opentelemetry import metrics

from xmcp.chat.usage import Usage
from xmcp_models.registry import ERROR_CODES

_SECONDS: Final = tuple(0.01 * 2**n for n in range(14))
_TOKENS: Final = tuple(4**n for n in range(14))
_CALLS: Final = (0, 1, 2, 4, 8, 16, 32, 64, 128)


class Meters:
    """The instruments. `meter` makes them."""

    def __init__(self, meter: metrics.Meter) -> None:
        def histogram(name: str, unit: str, text: str, bounds: tuple[float, ...]) -> metrics.Histogram:
            return meter.create_histogram(f"gen_ai.{name}", unit, text, explicit_bucket_boundaries_advisory=bounds)

        self._model = histogram("client.operation.duration", "s", "How long a model took to answer.", _SECONDS)
        self._first = histogram("client.operation.time_to_first_chunk", "s", "Until an answer began.", _SECONDS)
        self._tokens = histogram("client.token.usage", "{token}", "Tokens of a request and its answer.", _TOKENS)
        self._chat = histogram("invoke_agent.duration", "s", "How long a chat took.", _SECONDS)
        self._asked = histogram("invoke_agent.inference_calls", "{call}", "Calls of models in a chat.", _CALLS)
        self._called = histogram("invoke_agent.tool_calls", "{call}", "Calls of tools in a chat.", _CALLS)
        self._tool = histogram("execute_tool.duration", "s", "How long a call of a tool took.", _SECONDS)

    def model_call(
        self,
        provider: str,
        model: str | None,
        seconds: float,
        *,
        first: float | None = None,
        usage: Usage | None = None,
        error: str | None = None,
    ) -> None:
        """Record a call of a model: how long it took, and until its answer began; what it used, or why it failed."""
        of_call = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": provider}
        if model is not None:
            of_call["gen_ai.request.model"] = model
        if first is not None:
            self._first.record(first, of_call)
        if usage is not None:
            for kind, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
                if tokens is not None:
                    self._tokens.record(tokens, {**of_call, "gen_ai.token.type": kind})
        self._model.record(seconds, of_call if error is None else {**of_call, "error.type": error})

    def tool_call(self, tool: str, seconds: float, error: str | None) -> None:
        """Record a call of a tool, retries included; `error` is its code, which a server can invent."""
        of_call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
        if error is not None:
            of_call["error.type"] = error if error in ERROR_CODES else "_OTHER"
        self._tool.record(seconds, of_call)

    def chat(self, seconds: float, *, models: int, tools: int, error: str | None) -> None:
        """Record a chat: how long it took, how often it called models and tools, and why it failed."""
        of_chat = {"gen_ai.operation.name": "invoke_agent"}
        self._chat.record(seconds, of_chat if error is None else {**of_chat, "error.type": error})
        self._asked.record(models, of_chat)
        self._called.record(tools, of_chat)


meters = Meters(metrics.get_meter("xmcp.client"))
"""Those of this process: an SDK that is set up later gets what is recorded from then on."""
