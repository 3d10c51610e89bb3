"""Twelve wrong clients. Each function changes the reference client so that it breaks one sentence."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xmcp.chat import client_made_errors
from xmcp.chat.events import ChatChunk, Done, LLMRetry, StopReason
from xmcp.client.calls import cache, content_blocks, context_budget, retry_policy, server_results
from xmcp.client.calls.foreign_errors import error_in
from xmcp.client.loop.chat import Chat
from xmcp.client.loop.turn import ToolTurn
from xmcp.client.tools import catalogue, meta_tools, schemas

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from xmcp.chat.completions import VendorState
    from xmcp.chat.messages import Message
    from xmcp.client.calls.context_budget import Budgets
    from xmcp.client.calls.server_results import Reading
    from xmcp.client.hooks.middleware import LLMState
    from xmcp.client.loop.fallback import Model
    from xmcp.client.tools.catalogue import Catalogue, Entry
    from xmcp.wire import ErrorInfo, ToolResponse


def mark_lost_with_a_text_of_its_own() -> None:
    """XMCP-RSP-029: where the client adds to the text, or cuts it, the document that it writes is not marked as lossy.

    A document that is written anew only because of its display keeps the mark.
    """
    original = context_budget.for_model

    def for_model(response: ToolResponse, document: str | None = None, budgets: Budgets | None = None) -> str:
        limits = budgets or context_budget.Budgets()
        text = response.llm_output
        cut = text is not None and len(text.encode("utf-8", "replace")) > limits.result
        # The thought behind it: the text is now the client's, which has replaced no character.
        if response.lossy and response.error is None and (cut or response.for_person):
            response = replace(response, lossy=False)
        return original(response, document, limits)

    context_budget.for_model = for_model


def displays_in_parts_are_not_measured() -> None:
    """XMCP-DSP-040: in a history of the application, only contents that are a text are searched for large displays."""
    original = context_budget.can_be_large

    def can_be_large(message: Message, budget: int) -> bool:
        # A content that is a list of parts was thought to be for pictures, which no tool message has.
        return isinstance(message.get("content"), str) and original(message, budget)

    context_budget.can_be_large = can_be_large


def recovery_makes_a_retry_safe() -> None:
    """XMCP-ERR-040: an error whose `recovery` is `retry` is retried, also one of a tool that changes something."""
    original = retry_policy.allowed

    def allowed(error: ErrorInfo, entry: Entry) -> bool:
        # The server itself says that the same call helps, so it must be safe.
        told_to = error.retryable is True and (error.meta or {}).get("recovery") == "retry"
        return original(error, entry) or (told_to and error.code != "CIRCUIT_OPEN")

    retry_policy.allowed = allowed


def unknown_metadata_are_a_mistake() -> None:
    """XMCP-TOL-003: metadata with a member that is not known, and has no vendor prefix, count as none at all."""
    original = catalogue.metadata
    known = {"display", "depends_on", "provides", "server_populated", "xml_formatter", "cacheable", "wrapped_in"}

    def metadata(tool: Any) -> Mapping[str, Any]:
        members = original(tool)
        # As a model class does that forbids further members: such a name is taken for a misspelt one.
        return {} if any(name not in known and "/" not in str(name) for name in members) else members

    catalogue.metadata = metadata


def structured_code_of_a_failed_document() -> None:
    """XMCP-MCP-052: a failed result whose document has no `error` gets the code in its structured content.

    Without one there, it is `TOOL_ERROR`, as it should be.
    """
    original = server_results._read_document

    def read_document(result: CallToolResult, tool_name: str) -> Reading:
        reading = original(result, tool_name)
        error = reading.response.error
        described = error_in(result.structured_content) if result.is_error else None
        # An error of the document's own is kept: only the one that the client made for it is replaced.
        made = (
            error is not None and error.code == "TOOL_ERROR" and "<error" not in content_blocks.held(result.content[0])
        )
        if error is None or described is None or not made:
            return reading
        return replace(reading, response=replace(reading.response, error=replace(described, message=error.message)))

    server_results._read_document = read_document


def each_model_counts_from_one() -> None:
    """XMCP-REC-006: `attempt` in a `retry` without `call_id` counts the failures of the model that failed alone."""
    original = Chat._ask

    async def ask(self: Chat, catalogue: Catalogue) -> AsyncGenerator[ChatChunk, None]:
        asked, failures = self._model, 0
        async with aclosing(original(self, catalogue)) as events:
            async for event in events:
                if not isinstance(event, LLMRetry):
                    yield event
                    continue
                failures += 1
                told = replace(event, attempt=failures)
                if self._model != asked:
                    asked, failures = self._model, 0
                yield told

    Chat._ask = ask  # type: ignore[method-assign]


def begun_text_is_kept_in_the_first_turn_only() -> None:
    """XMCP-CLI-116: in a later turn, the text that had come when the chat was ended is not in the history.

    The answer of a chat whose time was over has it all the same.
    """
    begun, answered = Chat._begun, Chat._answered

    def begun_text(self: Chat) -> list[dict[str, Any]]:
        # After calls the history goes back to the last turn that was complete.
        return [] if self._turn > 1 else begun(self)

    def answer(self: Chat, stop_reason: StopReason, text: str, vendor_state: VendorState | None = None) -> Done:
        if stop_reason == "timeout" and self._turn > 1:
            self._text.clear()
            return self._done(stop_reason, text)
        return answered(self, stop_reason, text, vendor_state)

    Chat._begun = begun_text  # type: ignore[method-assign]
    Chat._answered = answer  # type: ignore[method-assign]


def filtered_answers_have_no_calls() -> None:
    """XMCP-CLI-123: the calls of an answer that the vendor's filter cut are dropped, and the chat ends."""
    original = Chat._pieces

    async def pieces(self: Chat, model: Model, state: LLMState) -> AsyncGenerator[str, None]:
        async with aclosing(original(self, model, state)) as texts:
            async for text in texts:
                yield text
        # What was filtered is not to be trusted.
        if self._completion.finish_reason == "content_filter":
            self._completion = replace(self._completion, tool_calls=())

    Chat._pieces = pieces  # type: ignore[method-assign]


def wrapper_counts_as_the_result() -> None:
    """XMCP-CLI-037: what a tool provides is looked for in its output schema as it is listed, wrapper included.

    So a parameter that a wrapped text or list can fill is still listed under `required`. The value is handed on.
    """

    def result_schema(entry: Entry) -> Any:
        return entry.output_schema

    schemas._result_schema = result_schema


def whole_seconds_until_the_probe() -> None:
    """XMCP-CLI-043: `CIRCUIT_OPEN` has its wait in whole seconds, and none in the last second before the probe."""
    original = client_made_errors.circuit_open

    def circuit_open(server: str, retry_after: float, *, sent: bool = False) -> ErrorInfo:
        error = original(server, retry_after, sent=sent)
        # A wait of 0 counts as none: `if seconds`.
        return replace(error, retry_after_ms=int(retry_after) * 1000 or None)

    client_made_errors.circuit_open = circuit_open


def null_arguments_count_as_left_out() -> None:
    """XMCP-CLI-051: for the cache, a call with an argument that is `null` is the same as one without it."""
    original = cache.key

    def key(tenant_id: str | None, entry: Entry, arguments: dict[str, Any]) -> str | None:
        # Models write `null` for "not set"; the server gets the arguments as they are.
        return original(tenant_id, entry, {name: value for name, value in arguments.items() if value is not None})

    cache.key = key


def failures_go_before_the_question() -> None:
    """XMCP-CLI-085: a question ends the chat only if no other call of its turn failed: the model reads the error."""
    original = ToolTurn.meta_tool_text

    def meta_tool_text(self: ToolTurn, tool: str) -> str:
        failed = any(outcome is None or outcome.response.error is not None for outcome in self.outcomes)
        return "" if tool == meta_tools.CLARIFY and failed else original(self, tool)

    ToolTurn.meta_tool_text = meta_tool_text  # type: ignore[method-assign]
