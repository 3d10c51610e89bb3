"""A program that uses every public name, for type checkers. It is never run: `test_types.py` checks it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal, assert_never, assert_type
from uuid import UUID

import httpx2
from fastmcp import FastMCP
from mcp_types import CallToolResult, TextContent

from xmcp import (
    XMCP,
    AIClient,
    ChatChunk,
    CircuitOpenError,
    Conversation,
    DecodeError,
    DependencyError,
    DisplayEnvelope,
    ErrorInfo,
    ParamRequest,
    QuotaExceeded,
    SamplerConfig,
    SyncAIClient,
    ToolResponse,
    XMCPError,
    use_xmcp,
)
from xmcp.client import (
    SSE_HEADERS,
    AnswerInvalid,
    CallFailed,
    CallReport,
    ChatContext,
    ChatFailed,
    ChatOptions,
    ChatResult,
    ChatStream,
    ChatUsage,
    ChatWarning,
    ConversationReply,
    Done,
    EventStream,
    FilePart,
    ImagePart,
    LLMDelta,
    LLMReasoning,
    LLMRetry,
    LLMState,
    LLMUsage,
    MCPClient,
    Middleware,
    Quota,
    ResourceManager,
    RetryPolicy,
    SamplingRequest,
    ServerStatus,
    ServersUnavailable,
    ServerTarget,
    SnapshotError,
    StopReason,
    SyncEventStream,
    TenantQuotas,
    TextPart,
    ToolChanges,
    ToolClient,
    ToolDisplay,
    ToolError,
    ToolEvent,
    ToolProgress,
    ToolRequested,
    ToolResult,
    ToolRetry,
    ToolStarted,
    ToolState,
    ToolWarning,
    UsageRecord,
    UserInput,
)
from xmcp.gateway.audit import (
    AuditError,
    AuditLog,
    AuditMiddleware,
    RunOutcome,
    RunStart,
    WriterLimits,
    WriterStatistics,
    uuid7,
)
from xmcp.providers import (
    AnthropicProvider,
    ChatComplete,
    Completion,
    DeepSeekProvider,
    ErrorCategory,
    GeminiCLIProvider,
    GeminiProvider,
    LLMProvider,
    LocalProvider,
    Message,
    MiniMaxProvider,
    MistralProvider,
    ModelRequest,
    OpenAIProvider,
    OpenAIResponsesProvider,
    ProviderError,
    Reasoning,
    ScriptedProvider,
    ToolCall,
    ToolSchemas,
    Turn,
    Usage,
)
from xmcp.render import (
    STYLE_SHEET,
    NoChart,
    View,
    draw,
    framed,
    plan,
    render,
    to_html,
    to_markdown,
    to_png,
    to_svg,
    to_text,
)
from xmcp.render.notebook import ENVELOPE, ChatCell, bundle_of, bundle_of_result, show_chat
from xmcp.render.web import MEDIA_TYPE, SCRIPT, VEGA_SCRIPT, VEGA_WORKER
from xmcp.server import UsedXMCP
from xmcp.storage import (
    Admitted,
    BreakerState,
    BreakerStore,
    Cache,
    CacheError,
    CacheStatistics,
    MemoryBreakers,
    MemoryCache,
    Outcome,
    RedisBreakers,
    RedisCache,
    Refused,
    StoreError,
)
from xmcp.testing import add_conformance_tool
from xmcp.xml_formatters import (
    NAMED_FORMATTERS,
    DataFormatter,
    DeclarativeXMLFormatter,
    Field,
    XMLFormatter,
    default_formatter,
)


def use(*values: object) -> None:
    """Do something with values."""


# -- a server ---------------------------------------------------------------------------------------------------------

mcp = XMCP("shop", wire="negotiated", on_param_override="reject")
beside: UsedXMCP = use_xmcp(FastMCP("plain"), wire="plain")


@beside.display_tool
def price_list() -> DisplayEnvelope:
    return DisplayEnvelope(type="text", payload="x")


add_conformance_tool(mcp)
add_conformance_tool(beside)
beside.remove()


class Cities(DeclarativeXMLFormatter):
    """Keeps the cities."""

    top_level_fields: Sequence[Field] | None = ["city", "customer.name", {"address": ["street"]}]


def upper(data: Any, indent_level: int = 0, /) -> str:
    """Writes in capitals."""
    return default_formatter(data, indent_level).upper()


formatter: XMLFormatter = upper
mcp.add_xml_formatter(formatter, "upper")


@mcp.tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@mcp.tool()
async def slow(seconds: float) -> None:
    """Wait."""


@mcp.tool("find", depends_on=["add"], provides="found", cacheable=True, xml_formatter=Cities)
def find(query: str) -> dict[str, Any]:
    """Find."""
    if not query:
        raise XMCPError("VALIDATION_FAIL", "The query is empty.", retryable=False, meta={"side_effects": "none"})
    return {"city": query}


@mcp.tool(xml_formatter=Cities(root="places"), server_populated=["user_id"], sensitive=["user_id"])
def whoami(user_id: str = "") -> str:
    """Say who it is."""
    return user_id


@mcp.display_tool
def chart(show_user: bool = False) -> DisplayEnvelope | str:
    """Draw."""
    return DisplayEnvelope(type="text", payload="seen", title="Seen") if show_user else "3"


@mcp.display_tool(annotations={"readOnlyHint": True})
async def table(year: int) -> list[dict[str, Any]]:
    """Tabulate."""
    return [{"year": year}]


@mcp.param_provider("user_id")
def user_id_of(request: ParamRequest) -> str:
    """Return who calls."""
    return str(request.headers["x-user"])


@mcp.param_provider
async def anything() -> str | None:
    """Return nothing."""
    return None


def decorated_functions_keep_their_types() -> None:
    """A decorator returns the function itself."""
    assert_type(add(1, 2), int)
    assert_type(find("x"), dict[str, Any])
    assert_type(whoami(), str)
    assert_type(chart(show_user=True), DisplayEnvelope | str)
    assert_type(default_formatter({}), str)
    assert_type(NAMED_FORMATTERS["xml"]({}, 0), str)
    assert_type(DataFormatter(repr, "text/x-python")([]), str)


def serve() -> None:
    """Run the server."""
    try:
        mcp.serve(port=0)
    except DependencyError as exc:
        use(exc)


def documents(text: str) -> ErrorInfo | None:
    """Read and write a document."""
    try:
        response = ToolResponse.from_xml(text)
    except DecodeError as exc:
        return ErrorInfo("INVALID_XML", exc.kind)
    assert_type(response.display, DisplayEnvelope | None)
    assert_type(response.to_xml(), str)
    return response.error


# -- providers --------------------------------------------------------------------------------------------------------


class Echo:
    """A provider of one's own."""

    name = "echo"
    supports_tools = True
    max_context_tokens: int | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Completion, None]:
        """Say what the person said."""
        message: Message = request.messages[-1]
        tools: ToolSchemas = request.tools
        text = f"{message['content']} {len(tools.tools)} {request.sampler.temperature}"
        if not text:
            raise ProviderError("Nothing to say.", category=ErrorCategory.CONTENT, provider=self.name)
        yield Reasoning("They said something, and want to hear it.")
        yield text
        calls = (ToolCall("c1", "add", "{}"),)
        yield Completion(text, calls, "tool_calls", Usage(1, 2, None), request.model)


class Whole:
    """A source of whole answers, as an older protocol has it."""

    async def chat_complete(
        self,
        model: str,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        stream: bool = False,
    ) -> dict[str, Any]:
        """Say nothing."""
        return {"choices": [{"message": {"content": f"{model} {len(messages)} {tools} {stream}"}}]}


def taken_as_providers() -> AIClient:
    """Return a client of such sources."""
    whole: ChatComplete = Whole()
    return AIClient([], llm_provider=whole, fallback_models=[(Whole(), "m")])


def scripted(messages: list[Message], tools: list[Mapping[str, Any]]) -> Turn:
    """Answer with a call."""
    return Turn(f"{len(messages)} {len(tools)}", [("add", {"a": 1, "b": 2})])


providers: list[LLMProvider] = [
    Echo(),
    GeminiCLIProvider("gemini", model="gemini-2.5-pro"),
    OpenAIProvider("sk-1", model="gpt-4o"),
    OpenAIResponsesProvider("sk-1", model="gpt-5"),
    AnthropicProvider("k", model="claude-opus-5"),
    GeminiProvider("k", model="gemini-3.8-flash"),
    MistralProvider("k", model="mistral-small-latest"),
    DeepSeekProvider("k", model="deepseek-v4-pro"),
    MiniMaxProvider("k", "https://api.minimaxi.com/v1"),
    LocalProvider("llama3.2", supports_tools=False),
    MistralProvider("k", http_client=httpx2.AsyncClient(proxy="http://proxy.corp:3128")),
    ScriptedProvider(scripted),
    ScriptedProvider(["hello", Turn(calls=[("add", "{}")])]),
]

# -- audit store -----------------------------------------------------------------------------------------------------


async def audited() -> None:
    """Record a chat."""
    try:
        log = await AuditLog.open("audit.db", secrets=["key"], keep_days=30, limits=WriterLimits(queue_records=100))
    except AuditError as exc:
        use(exc)
        return
    async with AIClient([], llm_provider=ScriptedProvider(["ok"]), middleware=[AuditMiddleware(log)]) as ai:
        with log.running(RunStart(id=uuid7(), tenant="t")) as run:
            assert_type(run, str)
            await ai.chat("hello", [])
    log.begin(RunStart(id="r"))
    log.end("r", RunOutcome("error", error_code="TIMEOUT"))
    assert_type(await log.flush(), Literal["committed", "spilled", "lost"])
    assert_type(log.statistics, WriterStatistics)
    assert_type(await log.aclose(), bool)


# -- stores -----------------------------------------------------------------------------------------------------------


async def stores() -> None:
    """Use the stores."""
    memory = MemoryCache(max_entries=10)
    assert_type(memory.statistics, CacheStatistics)
    caches: list[Cache] = [memory, RedisCache("redis://localhost")]
    breakers: list[BreakerStore] = [MemoryBreakers(), RedisBreakers("redis://localhost")]
    try:
        assert_type(await caches[0].get("k"), str | None)
        await caches[0].set("k", "v", 5)
    except CacheError as exc:
        use(exc)
    try:
        verdict = await breakers[0].admit("s")
        match verdict:
            case Refused(retry_after=seconds):
                assert_type(seconds, float)
            case Admitted():
                outcome: Outcome = "ok"
                state: BreakerState = await breakers[0].record("s", verdict, outcome)
                use(state)
    except StoreError as exc:
        use(exc)


# -- a client ---------------------------------------------------------------------------------------------------------


class Local:
    """A source of tools that is an object of this program."""

    async def discover_tools(self) -> Sequence[Mapping[str, Any]]:
        """List them."""
        return [{"name": "add", "inputSchema": {"type": "object"}}]

    async def execute_tool_call(
        self, tool_name: str, arguments: dict[str, Any], on_progress: Callable[..., None] = print
    ) -> CallToolResult | str:
        """Call one."""
        on_progress(1, 2, "half")
        if tool_name != "add":
            raise CallFailed(ErrorInfo("UNKNOWN_TOOL", tool_name), transport=False)
        return CallToolResult(content=[TextContent(type="text", text=str(arguments))])


class Watching(Middleware):
    """Hooks around models and tools."""

    async def before_llm(self, state: LLMState) -> None:
        """See a model call."""
        context: ChatContext = state.chat
        use(context.chat_id, state.turn)

    async def after_tool(self, state: ToolState) -> None:
        """See a tool call."""
        assert_type(state.response, ToolResponse | None)
        if state.response is not None:
            assert_type(state.response.for_person, tuple[DisplayEnvelope, ...])
            assert_type(state.response.displays, tuple[DisplayEnvelope, ...])


def shown(envelope: DisplayEnvelope, history: list[dict[str, Any]]) -> None:
    """Show a display."""
    use(envelope.title, len(history))


async def failed(error: ErrorInfo, history: list[dict[str, Any]]) -> None:
    """Report an error."""
    use(error.code, len(history))


def used(record: UsageRecord) -> None:
    """Keep what a model call used."""
    use(record["model"], record["cost_usd"])


def price(provider: str, model: str, usage: Usage) -> float | None:
    """Return dollars."""
    return (usage.input_tokens or 0) * 1e-6 if provider == model else None


def approved(call: ToolState) -> bool | str:
    """Ask the person."""
    return call.read_only or "Not today."


async def person(call: ToolState) -> str | None:
    """Return the person that calls."""
    return call.tenant_id


def client() -> AIClient:
    """Return a client with many options."""
    tools: ToolClient = Local()
    return AIClient(
        {
            "crm": ServerTarget("https://crm.example", auth="token", http_client=httpx2.AsyncClient()),
            "own": tools,
            "files": "files.py",
        },
        llm_provider=providers[0],
        llm_model="m",
        fallback_models=["n", (Echo(), "o"), ("OpenAIProvider", None)],
        tool_timeout={"add": 5, "*": 60.0},
        retry_policy=RetryPolicy(max_attempts=2),
        breakers=MemoryBreakers(),
        cache=MemoryCache(),
        display="continue",
        meta_tools=["think"],
        params={"user_id": person, "region": "EMEA"},
        approve=approved,
        middleware=[Watching(), TenantQuotas(tokens=1000, limits={"acme": Quota(spend_usd=2.0)})],
        on_display=shown,
        on_error=failed,
        sampling=sampled,
        usage_sink=used,
        price=price,
    )


def sampled(request: SamplingRequest) -> str | None:
    """Answer a server that asks the client's model."""
    return f"{request.server} asks {len(request.messages)}" if request.max_tokens < 100 else None


def documents_of(source: MCPClient) -> ResourceManager:
    """Return a source of tools and documents as one of documents."""
    return source


async def chat() -> StopReason:
    """Chat in every way there is."""
    history: list[dict[str, Any]] = []
    try:
        async with client() as ai:
            result: ChatResult = await ai.chat("hello", history, tenant_id=UUID(int=7), session_id="s")
            assert_type(result["answer"], str | None)
            assert_type(result["display"], DisplayEnvelope | None)
            assert_type(result["displays"], list[DisplayEnvelope])
            usage: ChatUsage = result["usage"]
            assert_type(usage["llm_calls"], int)
            statuses: list[ServerStatus] = ai.servers
            changes: ToolChanges = await ai.refresh_tools()
            about: int = ai.estimate_tokens("query", [], system="Be brief.", tools=["find"])
            use(statuses[0].connected, changes.added, about)
            use(result.to_dict(), statuses[0].to_dict(), changes.to_dict())
            brief = SamplerConfig(temperature=0, max_tokens=100, stop=["END"])
            stream: ChatStream = ai.stream_chat("again", result["history"], sampler=brief)
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    assert_type(chunk, ChatChunk)
                    by_class(chunk)
                    by_type(chunk)
            conversation = Conversation(ai, system="Be brief.")
            use((await ai.chat("how many?", [], answer_type=list[int])).value)
            question: UserInput = ["what?", TextPart("x"), ImagePart(b"x", "image/png"), FilePart(b"x", "text/plain")]
            await ai.chat(question, [])
            await ai.chat(["what?", ImagePart("https://x.example/a.png")], [])
            options: ChatOptions = {
                "model": (Echo(), "m"),
                "tools": ["add"],
                "max_turns": 3,
                "display": "continue",
                "metadata": {"plan": "pro"},
            }
            reply: ConversationReply = await conversation.chat("hello", **options)
            await ai.chat("hello", [], model="m", system="Be brief.", tools=lambda name: name.startswith("crm__"))
            assert_type(reply.displays, list[DisplayEnvelope])
            talk: EventStream = conversation.stream_chat("again")
            async for chunk in talk:
                by_class(chunk)
            async for text in ai.stream_chat("again", []).sse(types={"llm_delta", "done"}, keep_alive=None):
                assert_type(text, str)
            assert_type(SSE_HEADERS, Mapping[str, str])
            Conversation.resume(ai, conversation.snapshot())
            assert_type(await ai.call_tool("show_sales", {"region": "EMEA"}), ToolResponse)
            return reply.stop_reason
    except AnswerInvalid as exc:
        assert_type(exc.faults, tuple[str, ...])
        use(exc.text)
    except (ProviderError, QuotaExceeded) as exc:
        assert_type(exc.history, list[dict[str, Any]] | None)
        if isinstance(exc, ProviderError):
            assert_type(exc.ui_message(), str)
    except CircuitOpenError as exc:
        assert_type(exc.retry_after, float)
    except (ServersUnavailable, SnapshotError) as exc:
        use(exc)
    return "empty"


def forms(envelope: DisplayEnvelope) -> list[str]:
    """Draw a display in each form."""
    view: View = plan({"type": "text", "payload": "x"})
    use(
        draw(view),
        render(envelope, width=80, lines="blocks"),
        framed(envelope, "sales", "shop"),
        bundle_of(envelope)[ENVELOPE],
    )
    use(SCRIPT.read_bytes(), VEGA_SCRIPT.read_bytes(), VEGA_WORKER.read_bytes(), MEDIA_TYPE.upper())
    try:
        use(to_png({"type": "chart", "payload": {}}, scale=1.0))
    except NoChart:
        use(to_svg(envelope))
    page = to_html(envelope, page=True, styles="inline", heading_level=1, lang="de")
    return [
        page,
        to_html(envelope, styles="none"),
        STYLE_SHEET,
        to_markdown(envelope, heading_level=2),
        to_text(envelope),
    ]


async def in_a_notebook(ai: AIClient) -> dict[str, Any]:
    """Show a chat in a cell."""
    result: ChatResult = await show_chat(ai.stream_chat("How many?", history=[]))
    cell = ChatCell()
    cell.show(Done(turn=1, result=result))
    return bundle_of_result(result)


def sync_chat() -> None:
    """Chat without `await`."""
    with SyncAIClient(["https://crm.example"], openai_api_key="sk-1", max_turns=3) as ai:
        result = ai.chat("hello", [])
        assert_type(result, ChatResult)
        talk: SyncEventStream = ai.conversation().stream_chat("again")
        for text in talk.sse(history=True):
            assert_type(text, str)
        for chunk in ai.stream_chat("again", result["history"]):
            by_class(chunk)
        assert_type(ai.call_tool("show_sales"), ToolResponse)
        assert_type(ai.conversation(system="Be brief.").chat("hello"), ConversationReply)


def by_class(chunk: ChatChunk) -> None:
    """Every class of event, and its fields."""
    match chunk:
        case LLMDelta(text=text) | LLMReasoning(text=text) | ChatWarning(text=text) | ToolWarning(text=text):
            assert_type(text, str)
        case ToolProgress(progress=progress, total=total, text=text):
            assert_type((progress, total, text), tuple[float, float | None, str])
        case LLMRetry(error=error) | ToolRetry(error=error):
            assert_type(error, ErrorInfo)
        case LLMUsage(usage=usage):
            assert_type(usage, UsageRecord)
        case ToolRequested(arguments=arguments):
            assert_type(arguments, dict[str, Any] | None)
        case ToolStarted(report=report) | ToolResult(report=report) | ToolError(report=report):
            assert_type(report, CallReport)
        case ToolDisplay(envelope=envelope):
            assert_type(envelope, DisplayEnvelope)
        case Done(result=result):
            assert_type(result, ChatResult)
        case ChatFailed(error=error, history=history):
            assert_type(error, ErrorInfo)
            assert_type(history, list[dict[str, Any]])
        case _:
            assert_never(chunk)
    if isinstance(chunk, ToolEvent):
        assert_type(chunk.call_id, str)


def by_type(chunk: ChatChunk) -> None:
    """Every `type` tells which fields there are."""
    assert_type(chunk.turn, int)
    assert_type(chunk.to_json(), dict[str, Any])
    if chunk.type == "tool_display":
        assert_type(chunk.envelope, DisplayEnvelope)
        assert_type(chunk.tool_name, str)
    elif chunk.type == "llm_delta":
        assert_type(chunk.text, str)
    elif chunk.type == "llm_reasoning":
        assert_type(chunk, LLMReasoning)
    elif chunk.type == "tool_progress":
        assert_type(chunk.total, float | None)
    elif chunk.type == "tool_call":
        assert_type(chunk.arguments, dict[str, Any] | None)
    elif chunk.type == "tool_started":
        assert_type(chunk.report, CallReport)
    elif chunk.type == "tool_result":
        assert_type(chunk.response, ToolResponse)
        assert_type(chunk.text, str)
    elif chunk.type == "tool_error":
        assert_type(chunk.error, ErrorInfo)
    elif chunk.type == "retry":
        assert_type(chunk.attempt, int)
    elif chunk.type == "warning":
        assert_type(chunk.text, str)
    elif chunk.type == "usage":
        assert_type(chunk.usage, UsageRecord)
    elif chunk.type == "failed":
        assert_type(chunk.error, ErrorInfo)
    else:
        assert_type(chunk.result, ChatResult)
