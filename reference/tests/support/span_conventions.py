"""What OpenTelemetry's conventions say of spans of MCP and of generative AI, as far as a program can check it.

Source: open-telemetry/semantic-conventions-genai, model/mcp/spans.yaml, model/mcp/common.yaml and the spans of
model/gen-ai, as of version 1.43 of the general conventions.
"""

from __future__ import annotations

from collections.abc import Iterator

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

_OF_MCP = {
    "client.address", "client.port", "error.type", "gen_ai.operation.name", "gen_ai.prompt.name", "gen_ai.tool.name",
    "jsonrpc.protocol.version", "jsonrpc.request.id", "mcp.method.name", "mcp.protocol.version", "mcp.resource.uri",
    "mcp.session.id", "network.protocol.name", "network.protocol.version", "network.transport",
    "rpc.response.status_code", "server.address", "server.port",
}  # fmt: skip
_OF_GEN_AI = {
    "error.type", "gen_ai.agent.name", "gen_ai.conversation.id", "gen_ai.operation.name", "gen_ai.provider.name",
    "gen_ai.request.model", "gen_ai.response.finish_reasons", "gen_ai.response.model", "gen_ai.tool.call.id",
    "gen_ai.tool.name", "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens", "gen_ai.usage.reasoning.output_tokens", "server.address", "server.port",
}  # fmt: skip
_OWN = ("xmcp.", "fastmcp.")
"""Names that the conventions do not define begin with who defines them."""
_GEN_AI = {
    "invoke_agent": (None, SpanKind.INTERNAL, ()),
    "chat": ("gen_ai.request.model", SpanKind.CLIENT, ("gen_ai.provider.name",)),
    "execute_tool": ("gen_ai.tool.name", SpanKind.INTERNAL, ("gen_ai.tool.name",)),
}
"""For each operation: the attribute in the name of its span, its kind, and what it must have."""


def faults(span: ReadableSpan) -> Iterator[str]:
    """Yield what is not as the conventions say, of a span of an MCP request or of an operation of generative AI."""
    told = dict(span.attributes or {})
    failed = span.status.status_code is StatusCode.ERROR
    if failed != ("error.type" in told):
        yield f"{span.name}: failed is {failed}, and error.type is {told.get('error.type')}"
    is_mcp = "mcp.method.name" in told
    for name in told:
        if name not in (_OF_MCP if is_mcp else _OF_GEN_AI) and not name.startswith(_OWN):
            yield f"{span.name}: the attribute {name} is in no convention"
    yield from _of_mcp(span, told, failed) if is_mcp else _of_gen_ai(span, told)


def _of_mcp(span: ReadableSpan, told: dict[str, object], failed: bool) -> Iterator[str]:
    method, target = told["mcp.method.name"], told.get("gen_ai.tool.name") or told.get("gen_ai.prompt.name")
    wanted = f"{method} {target}" if target else method
    if span.name != wanted:
        yield f"{span.name}: its name should be {wanted}"
    if span.kind is not SpanKind.SERVER:
        yield f"{span.name}: its kind is {span.kind}"
    calls = method == "tools/call"
    needed = ("jsonrpc.request.id", "mcp.protocol.version", *(("gen_ai.tool.name",) if calls else ()))
    yield from (f"{span.name}: it has no {name}" for name in needed if name not in told)
    if (told.get("gen_ai.operation.name") == "execute_tool") != calls:
        yield f"{span.name}: gen_ai.operation.name is {told.get('gen_ai.operation.name')}"
    if calls and failed and told.get("error.type") != "tool_error":
        yield f"{span.name}: error.type is {told.get('error.type')}, and the error is in a result"


def _of_gen_ai(span: ReadableSpan, told: dict[str, object]) -> Iterator[str]:
    operation = str(told.get("gen_ai.operation.name"))
    if operation not in _GEN_AI:
        yield f"{span.name}: gen_ai.operation.name is {operation}"
        return
    target, kind, needed = _GEN_AI[operation]
    wanted = f"{operation} {told[target]}" if target is not None and target in told else operation
    if span.name != wanted:
        yield f"{span.name}: its name should be {wanted}"
    if span.kind is not kind:
        yield f"{span.name}: its kind is {span.kind}"
    yield from (f"{span.name}: it has no {name}" for name in needed if name not in told)
