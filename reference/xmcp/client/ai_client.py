"""`AIClient`: the options, the servers, `chat` and `stream_chat`. It holds what all chats share, no state of a chat."""

from __future__ import annotations

import asyncio
import uuid
import weakref
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, MutableSequence, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, Unpack

from xmcp.chat import client_made_errors, messages, user_input
from xmcp.chat.arguments import of_application
from xmcp.chat.completions import ToolCall
from xmcp.chat.errors import CircuitOpenError
from xmcp.chat.events import ChatResult, Done
from xmcp.chat.json_values import object_as_json
from xmcp.chat.messages import Message
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.chat.token_estimate import estimated_tokens
from xmcp.chat.tool_schemas import ToolSchemas, legal_name
from xmcp.chat.user_input import UserInput, content_of
from xmcp.client.calls import cache as caching
from xmcp.client.calls.active_call import ChatScope, Request
from xmcp.client.calls.app_parameters import hidden
from xmcp.client.calls.approval import Approve
from xmcp.client.calls.cache import ResponseCache
from xmcp.client.calls.context_budget import Budgets
from xmcp.client.calls.pipeline import Pipeline
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.calls.worker_threads import in_worker_if_large
from xmcp.client.chat_options import ChatOptions, ToolSubset, check, settings_of, wants
from xmcp.client.chat_stream import ChatStream
from xmcp.client.hooks.callbacks import DisplayCallback, ErrorCallback, UsageSink
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import ChatContext, IdLike, Stack, named
from xmcp.client.hooks.telemetry import ChatTelemetry
from xmcp.client.loop import fallback
from xmcp.client.loop.chat import Chat, ChatSettings
from xmcp.client.loop.fallback import Fallback, Model
from xmcp.client.loop.library_prices import LibraryPrices, billed_url
from xmcp.client.loop.stop_reason import DisplayMode
from xmcp.client.loop.turn import Hooks
from xmcp.client.loop.usage import Price
from xmcp.client.options import ClientOptions
from xmcp.client.servers.chat_servers import ChatServers
from xmcp.client.servers.pool import Servers, ToolChanges
from xmcp.client.servers.pool_member import ServerStatus
from xmcp.client.servers.sampling import Sampling
from xmcp.client.servers.targets import Target
from xmcp.client.slots import Slots
from xmcp.client.tools.catalogue import Catalogue, Entry
from xmcp.client.tools.external import ExternalTools
from xmcp.client.tools.meta_tools import openai_tools, selected
from xmcp.client.tools.schemas import offered
from xmcp.client.tools.subset import Subsets, missing, unknown
from xmcp.option_names import checking_options
from xmcp.providers import LLMProvider, OpenAIProvider
from xmcp.providers.chat_complete import ChatComplete
from xmcp.providers.sdk_provider import MissingKey
from xmcp.storage import BreakerState, BreakerStore, Cache, MemoryBreakers
from xmcp.wire import ToolResponse

if TYPE_CHECKING:
    import httpx2

_NO_HISTORY: Final = (
    "chat() and stream_chat() need the history: the list of messages so far, [] for a new conversation. "
    "Keep result['history'] and pass it with the next query."
)

_FROM_GOOD_TO_BAD: Final[tuple[BreakerState, ...]] = ("closed", "half_open", "open")


class AIClient:
    """A language model with the tools of any number of MCP servers.

    ```python
    async with AIClient(["http://localhost:3333"], openai_api_key="sk-...") as ai:
        result = await ai.chat("Show me sales for EMEA", history=[])
    ```

    One client serves any number of chats at the same time. Each chat has its own history, which the client does not
    store. Times are seconds.

    Args:
        servers: A list of targets, or a mapping from names to targets. A target is a URL, a command that speaks MCP on
            stdio, a server object in this process, a `ToolClient`, or a `ServerTarget`. With a list, tools keep their
            names unless two are the same; with a mapping, each tool is offered as `name__tool`. A server that cannot
            be reached is left out until it can be reached, with a warning in the log and in every chat.
        urls: Another name for `servers`.
        openai_api_key: Key for the built-in `OpenAIProvider`. `None`: the environment variable `OPENAI_API_KEY`.
        openai_base_url: Address of another server with OpenAI's format, for the built-in provider.
        llm_provider: A provider to use instead of the built-in one, or an object that has only `chat_complete`.
        llm_model: Model to ask for; `None` leaves it to the provider.
        http_client: An `httpx2.AsyncClient` that sends the requests of the built-in provider, and of those that
            `fallback_models` and chats name by their classes; the caller closes it. Another provider gets its own, and
            so does each server (`ServerTarget`).
        fallback_models: Models to ask in this order when one fails: each is a name, or a pair of a provider (or the
            name of its class) and a name. The chat then stays with the model that answered. A model that is there twice
            is asked once.
        sampler: How models are to write their answers (temperature, most tokens, ...); a chat can set more.
        max_turns: Maximum number of answers of the model in one chat.
        max_calls_per_turn: Maximum number of tool calls that are made of one answer of the model. Each further call is
            answered with the error `RATE_LIMIT`, so that the model can make it in its next answer.
        max_concurrency: Maximum number of tool calls at the same time, in all chats together; further calls wait.
            Tenants whose calls wait get the next free place in turn.
        tool_timeout: Time limit of one attempt at a tool call, without the wait for a free slot: a number, or a
            mapping from names of tools, as the model knows them, with `*` for all others.
        connect_timeout: Time limit for connecting to a server and listing its tools.
        llm_timeout: Maximum time for which a model may send nothing, before its answer and within it.
        chat_timeout: Time limit of a chat, which then ends with the stop reason `timeout`. `None`: no limit.
        retry_policy: A `RetryPolicy`, or a mapping with its members (`max_attempts`, `backoff_base`, ...).
        breaker_threshold: Number of consecutive failures of a server after which its calls are answered with
            `CIRCUIT_OPEN`. `None`: there are no circuit breakers.
        breaker_reset_after: Time after which one call tries whether the server works again.
        breakers: Store for the state of the breakers, in place of the two options above; `RedisBreakers` of
            `xmcp.storage` shares it between processes.
        cache: Store for answers of cacheable tools (`xmcp.storage`). `None`: nothing is cached.
        cache_ttl: Time for which answers are cached. `None`: the default of the cache.
        cache_read_only: Whether answers of all tools with `readOnlyHint` are cached too.
        display: `exit`: a turn that shows the answer ends the chat, and the model is not asked again. `continue`: the
            model is always asked again.
        display_budget: Maximum bytes of a display's JSON for the model; it gets a reference in place of a larger one.
        result_budget: Maximum bytes of the text of one result for the model; from a longer one, the middle is left out.
        meta_tools: Whether the model is offered `__think__`, `__clarify__` and `__summarize__`; or which of them, such
            as `["think"]`.
        params: Values of parameters that the model neither sees nor sets, by the parameter's name: a value, or a
            function that gets the call (`ToolState`) and returns the value, sync or async.
        approve: Called with the call (`ToolState`) before a tool is called, sync or async. Returns `True`, `False`, or
            a text that says why not.
        approval_timeout: Time limit of `approve`; without an answer in time, the call is refused.
        middleware: Objects with hooks around model and tool calls (`xmcp.client.Middleware`), outermost first.
        on_display: Called with each display and the history at that moment, in call order; sync or async. The history
            is a new list of copies, which the callbacks of one turn share.
        on_error: Called likewise with each error of a tool, of the client or of the model (`ErrorInfo`).
        sampling: Called with what a server asks the client's model (`SamplingRequest`), sync or async; returns the
            answer, or `None` to refuse. Without it, every such request is refused. A `fastmcp.Client` that is a target
            keeps its own handler.
        usage_sink: Called with the `UsageRecord` of each request to a model when it ends; sync or async.
        price: Called with provider, model and `Usage`; returns the cost of the request in US dollars, or `None` if it
            is not known. `library`: the prices of the package genai-prices, by the address that a provider asks
            (`api_url`); a model that it does not know has no cost. `None`: `cost_usd` is always `None`.
        max_tools_per_server: Maximum number of tools that are offered of one server: the first of its list. A warning
            says what is left out.
        refresh_interval: Time between two listings of the tools of each connected server. 0: they are listed again only
            when it announces changes, or answers that it does not have a tool.
        require_servers: Whether a server that cannot be reached at the start is an error (`ServersUnavailable`).
        logger: A standard logger, or one with structlog's interface. `None`: `logging.getLogger("xmcp")`.

    Raises:
        TypeError, ValueError: An option is not valid; the message names it.
        ProviderError: There is neither a provider nor a key (category `auth`).
    """

    @checking_options("AIClient")
    def __init__(
        self,
        servers: Sequence[Target] | Mapping[str, Target] | None = None,
        *,
        urls: Sequence[Target] | Mapping[str, Target] | None = None,
        openai_api_key: str | None = None,
        llm_provider: LLMProvider | ChatComplete | None = None,
        llm_model: str | None = None,
        fallback_models: Sequence[Fallback] = (),
        openai_base_url: str | None = None,
        http_client: httpx2.AsyncClient | None = None,
        sampler: SamplerConfig | None = None,
        max_turns: int = ClientOptions.max_turns,
        max_calls_per_turn: int = ClientOptions.max_calls_per_turn,
        max_concurrency: int = ClientOptions.max_concurrency,
        tool_timeout: float | Mapping[str, float] = ClientOptions.tool_timeout,
        connect_timeout: float = ClientOptions.connect_timeout,
        llm_timeout: float = ClientOptions.llm_timeout,
        chat_timeout: float | None = None,
        retry_policy: RetryPolicy | Mapping[str, Any] | None = None,
        breaker_threshold: int | None = ClientOptions.breaker_threshold,
        breaker_reset_after: float = ClientOptions.breaker_reset_after,
        breakers: BreakerStore | None = None,
        cache: Cache | None = None,
        cache_ttl: float | None = None,
        cache_read_only: bool = False,
        display: DisplayMode = ClientOptions.display,
        display_budget: int = ClientOptions.display_budget,
        result_budget: int = ClientOptions.result_budget,
        meta_tools: bool | Collection[str] = False,
        params: Mapping[str, Any] | None = None,
        approve: Approve | None = None,
        approval_timeout: float = ClientOptions.approval_timeout,
        middleware: Sequence[Any] = (),
        on_display: DisplayCallback | None = None,
        on_error: ErrorCallback | None = None,
        sampling: Sampling | None = None,
        usage_sink: UsageSink | None = None,
        price: Price | Literal["library"] | None = ClientOptions.price,
        max_tools_per_server: int = ClientOptions.max_tools_per_server,
        refresh_interval: float = ClientOptions.refresh_interval,
        require_servers: bool = False,
        logger: Any = None,
    ) -> None:
        options = ClientOptions(
            servers=servers,
            urls=urls,
            openai_api_key=openai_api_key,
            llm_provider=llm_provider,
            llm_model=llm_model,
            fallback_models=fallback_models,
            openai_base_url=openai_base_url,
            http_client=http_client,
            sampler=sampler,
            max_turns=max_turns,
            max_calls_per_turn=max_calls_per_turn,
            max_concurrency=max_concurrency,
            tool_timeout=tool_timeout,
            connect_timeout=connect_timeout,
            llm_timeout=llm_timeout,
            chat_timeout=chat_timeout,
            retry_policy=retry_policy,
            breaker_threshold=breaker_threshold,
            breaker_reset_after=breaker_reset_after,
            breakers=breakers,
            cache=cache,
            cache_ttl=cache_ttl,
            cache_read_only=cache_read_only,
            display=display,
            display_budget=display_budget,
            result_budget=result_budget,
            meta_tools=meta_tools,
            params=params,
            approve=approve,
            approval_timeout=approval_timeout,
            middleware=middleware,
            on_display=on_display,
            on_error=on_error,
            sampling=sampling,
            usage_sink=usage_sink,
            price=price,
            max_tools_per_server=max_tools_per_server,
            refresh_interval=refresh_interval,
            require_servers=require_servers,
            logger=logger,
        )
        self._log = EventLog(options.logger)
        # The client closes only providers that it made itself, not `llm_provider`.
        built_in = None
        if options.llm_provider is None:
            try:
                built_in = OpenAIProvider(
                    options.openai_api_key, options.openai_base_url, http_client=options.http_client
                )
            except MissingKey:
                raise MissingKey(OpenAIProvider, "openai_") from None
        provider: Any = options.llm_provider or built_in
        self._made = partial(fallback.made, http_client=options.http_client)
        self._own_providers: list[Any] = [built_in] if built_in else []
        self._named_providers: dict[str, LLMProvider] = {OpenAIProvider.__name__: built_in} if built_in else {}
        models = fallback.chain(provider, options.llm_model, options.fallback_models, self._provider_named)
        meta_tool_names = selected(options.meta_tools)
        self._settings = ChatSettings(
            models=models,
            sampler=options.sampler or SamplerConfig(),
            max_turns=options.max_turns,
            max_calls=options.max_calls_per_turn,
            display=options.display,
            llm_timeout=options.llm_timeout,
            meta_tools=meta_tool_names,
            hooks=Hooks(options.on_display, options.on_error),
            usage_sink=options.usage_sink,
            price=LibraryPrices(self._log) if options.price == "library" else options.price,
        )
        self._cache = options.cache
        self._breakers = _breakers(options)
        self._params = dict(options.params or {})
        self._max_concurrency = options.max_concurrency
        self._responses = None if options.cache is None else ResponseCache(options.cache, options.cache_ttl, self._log)
        self._pipeline = Pipeline(
            slots=Slots(options.max_concurrency),
            timeouts=options.time_limits,
            retry=RetryPolicy.of(options.retry_policy),
            breakers=self._breakers,
            cache=self._responses,
            cache_read_only=options.cache_read_only,
            middleware=Stack(options.middleware),
            approve=options.approve,
            approval_timeout=options.approval_timeout,
            params=self._params,
            budgets=Budgets(options.display_budget, options.result_budget),
        )
        if not self._has_prices and any(getattr(member, "counts_spend", False) for member in options.middleware):
            self._log.warning("quota_without_price", message="A quota with spend_usd has no effect without price=...")
        self._chat_timeout = options.chat_timeout
        self._servers = Servers(
            options.targets,
            connect_timeout=options.connect_timeout,
            log=self._log,
            refresh_interval=options.refresh_interval,
            max_tools=options.max_tools_per_server,
            require=options.require_servers,
            offer=self._openai_tool,
            extra=openai_tools(meta_tool_names),
            sampling=options.sampling,
        )
        self._subsets = Subsets(self._openai_tool)
        self._entered = False
        self._running: dict[int, weakref.ref[ChatStream]] = {}

    async def __aenter__(self) -> Self:
        """Connect to all servers at the same time. It takes little more than `connect_timeout`, whatever they do.

        Raises:
            DependencyError: Tools of each server depend on each other in a circle, or of one, and `require_servers` is
                true; or a server of this process does not start because of what its tools depend on.
            ServersUnavailable: A server cannot be reached, and `require_servers` is true.
        """
        if self._entered:
            raise RuntimeError("This AIClient is already in use: enter it once and share it, or create another one.")
        self._entered = True
        # Calls of an earlier event loop that was stopped may never have given their slots back.
        self._pipeline = replace(self._pipeline, slots=Slots(self._max_concurrency))
        loading = asyncio.create_task(self._load_prices(self._settings), name="xmcp prices")
        try:
            await self._servers.open()
            await loading
        except BaseException:
            loading.cancel()
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Call `aclose`."""
        await self.aclose()

    async def aclose(self) -> None:
        """Disconnect from every server and close the built-in providers. Running chats end with `RuntimeError`."""
        self._entered = False
        await self._servers.close()
        for provider in self._own_providers:
            await provider.aclose()

    @property
    def _has_prices(self) -> bool:
        """Whether the cost of any request can be known."""
        if isinstance(self._settings.price, LibraryPrices):
            return _are_billed(self._settings.models)
        return self._settings.price is not None

    async def _load_prices(self, settings: ChatSettings) -> None:
        """Load the prices of models that have any, once; a chat can ask another vendor than its client."""
        if isinstance(settings.price, LibraryPrices) and not settings.price.loaded and _are_billed(settings.models):
            await settings.price.load()

    @property
    def tools(self) -> list[Mapping[str, Any]]:
        """The tools that the model is offered at the moment, in the OpenAI format."""
        return list(self._servers.catalogue.schemas.tools)

    @property
    def servers(self) -> list[ServerStatus]:
        """The status of each server, in the order given."""
        return self._servers.status()

    @property
    def breaker_states(self) -> Mapping[str, BreakerState]:
        """The state of each server's circuit breaker, by the name of the server; where it has several connections with
        credentials of chats, the worst of them. Empty without breakers, and where their store does not tell."""
        if not isinstance(self._breakers, MemoryBreakers):
            return {}
        worst: dict[str, BreakerState] = {}
        for name, identities in self._servers.identities():
            states = [worst.get(name, "closed"), *map(self._breakers.state_of, identities)]
            worst[name] = max(states, key=_FROM_GOOD_TO_BAD.index)
        return worst

    async def refresh_tools(self) -> ToolChanges:
        """List the tools of every server again, and return what was added, removed and changed.

        Running calls are not affected. Chats offer the new tools from their next turn on.
        """
        self._check_entered()
        return await self._servers.refresh()

    async def clear_cache(self, tenant_id: IdLike | None = None, *, every_tenant: bool = False) -> None:
        """Delete the cached answers of one tenant (`None`: of chats without a tenant), or of all tenants.

        Raises:
            RuntimeError: There is no cache, or it has no method `clear`.
        """
        if self._responses is None or not hasattr(self._cache, "clear"):
            raise RuntimeError("There is no cache that can be cleared: pass one as AIClient(cache=...).")
        await self._responses.clear("" if every_tenant else caching.tenant_prefix(named("tenant_id", tenant_id)))

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        tenant_id: IdLike | None = None,
        session_id: IdLike | None = None,
    ) -> ToolResponse:
        """Call one tool without asking a model, for example when a person presses a button beside a display.

        The call goes the way of a model's calls: middleware, `approve`, `params`, cache, retries, circuit breaker,
        `max_concurrency` and `tool_timeout`. `on_display` and `on_error` are not called.

        Args:
            name: The tool as the model knows it (`tools`).
            arguments: Its arguments, without those of `params`; they have the limits of a model's.
            tenant_id: As for `chat`.
            session_id: As for `chat`.

        Returns:
            The response. Errors are in `response.error`, with the exceptions below. The message of `UNKNOWN_TOOL` also
            has the warnings that a chat gets, such as that a server cannot be reached.

        Raises:
            CircuitOpenError: The server failed too often, and is not called for `retry_after` seconds.
            QuotaExceeded: A quota of the tenant is used up.
            RuntimeError: The client is not entered.
            TypeError: `arguments` holds a value that has no form in JSON.
        """
        self._check_entered()
        if not isinstance(name, str):
            raise TypeError(f"name must be the name of a tool, not {type(name).__name__}.")
        if not isinstance(arguments, Mapping | None):
            raise TypeError(f"arguments must be a mapping, not {type(arguments).__name__}.")
        context = ChatContext(uuid.uuid4().hex, named("tenant_id", tenant_id), named("session_id", session_id))
        log = self._log.bind(tenant_id=context.tenant_id, session_id=context.session_id, chat_id=context.chat_id)
        scope = ChatScope(context, ChatTelemetry(log), deadline=None)
        call = ToolCall(f"call_{uuid.uuid4().hex}", name, "")
        with ChatServers(self._servers, context) as servers:
            catalogue = await servers.catalogue()
            if (entry := catalogue.entries.get(name)) is None:
                error = (
                    client_made_errors.no_connection_free(min(servers.busy))
                    if servers.busy
                    else client_made_errors.unknown_tool(name, list(catalogue.entries))
                )
                # The tool may be one of a server that cannot be used now: the warnings say which, and why.
                told = replace(error, message=" ".join((error.message, *catalogue.warnings)))
                return ToolResponse(legal_name(name), error=told)
            request = Request(call, name, entry, of_application(arguments or {}))
            response = (await self._pipeline.run(request, 0, scope, lambda _: None)).response
        if response.error is not None and response.error.code == "CIRCUIT_OPEN":
            raise CircuitOpenError(entry.server.name, (response.error.retry_after_ms or 0) / 1000)
        return response

    async def chat(
        self,
        user_query: UserInput | None,
        history: Sequence[Message] | None = None,
        *,
        tenant_id: IdLike | None = None,
        session_id: IdLike | None = None,
        **options: Unpack[ChatOptions],
    ) -> ChatResult:
        """Answer one query: ask the model and run the tools that it calls, until it has answered or shown the answer.

        Args:
            user_query: What the person says: a text, or a list of parts (texts, `ImagePart`, `FilePart`) of at most
                20 MiB. It is appended to the history unless it is its last message already. `None`: the history ends
                with what is to be answered, such as results of `external_tools`.
            history: The conversation so far, in the OpenAI chat format; required, `[]` for a new one. It is not
                changed.
            tenant_id: The tenant whose chat this is; middleware, cache, usage records and log have it. No other tenant
                gets anything of the chat.
            session_id: An id for every usage record and log event of this chat.
            options: What else is set for this chat (`ChatOptions`): `sampler`, `model`, `system`, `tools`,
                `external_tools`, `max_turns`, `display`, `metadata`, `answer_type`.

        Returns:
            `ChatResult`: `answer`, `display`, `displays`, `history`, `usage`, `stop_reason`; and its attributes `value`
            and `open_calls`.

        Raises:
            TypeError, ValueError: There is no history, or it is one that no model accepts; or an option is not valid.
            RuntimeError: The same list is in use by another running chat, or the client is not entered.
            AnswerInvalid: The answer is not of the `answer_type`, nor is a second one. It is a `ProviderError`.
            ProviderError: No model could be asked, after the retries of its SDK. Its `history` has all turns that
                were completed and can be passed to `chat()` again. Errors of tools are never raised: the model gets
                them.
            QuotaExceeded: A quota of the tenant is used up. It has a `history` too.
        """
        check("chat()", options, "tenant_id", "session_id")
        stream = self.stream_chat(user_query, history, tenant_id=tenant_id, session_id=session_id, **options)
        async with aclosing(stream) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Done):
                    return chunk.result
        raise AssertionError("a chat ended without its last event")

    def stream_chat(
        self,
        user_query: UserInput | None,
        history: Sequence[Message] | None = None,
        *,
        tenant_id: IdLike | None = None,
        session_id: IdLike | None = None,
        **options: Unpack[ChatOptions],
    ) -> ChatStream:
        """Answer one query as `chat` does, and yield its events as they happen (`ChatChunk`).

        The last one is `Done`, or `ChatFailed` before an exception. `sse()` of the stream yields them as server-sent
        events for a web page instead.

        To end the chat early, use `aclose()` (or `contextlib.aclosing`), or cancel the task: running calls are
        cancelled at their servers. `ChatStream.history` is then the history with which you can continue. Raises what
        `chat` raises.
        """
        if history is None:
            raise ValueError(_NO_HISTORY)
        if isinstance(history, str | bytes) or not isinstance(history, Sequence):
            raise TypeError(f"history must be a list of messages, not {type(history).__name__}.")
        size = 0 if user_query is None else user_input.check(user_query)
        query = user_query if isinstance(user_query, str | None) else tuple(user_query)
        tenant, session = named("tenant_id", tenant_id), named("session_id", session_id)
        check("stream_chat()", options, "tenant_id", "session_id")
        settings, offer = settings_of(self._settings, options, self._provider_named), self._offer_of(options)
        metadata = object_as_json(options.get("metadata") or {})
        context = ChatContext(uuid.uuid4().hex, tenant, session, metadata=metadata)
        stream = ChatStream(history, context.chat_id)
        stream.attach(self._stream(query, size, history, settings, offer, context, weakref.ref(stream)))
        return stream

    def estimate_tokens(
        self, user_query: UserInput | None, history: Sequence[Message] = (), **options: Unpack[ChatOptions]
    ) -> int:
        """Return about how many input tokens the first request of this chat would have, with the tools of the moment.

        Nothing is sent, and no tokenizer is needed: four bytes are a token, the rule of thumb for English. Code, JSON
        and other languages have more tokens than that. Of pictures and files the size and the media type count, very
        roughly: a picture has from 100 to 1,600 tokens, or 1,000 if it is a URL; a PDF has one for 100 bytes, from
        1,500 to 200,000; a file of text as much as text. Large parts are encoded for it, in some milliseconds a MiB.

        Args:
            user_query: As for `chat`.
            history: As for `chat`.
            options: As for `chat`; `system`, `tools`, `external_tools` and `model` matter.

        Raises:
            ValueError: The history is one that no model accepts, or an option is not valid.
            TypeError: An option is not valid.
        """
        check("estimate_tokens()", options)
        settings, offer = settings_of(self._settings, options, self._provider_named), self._offer_of(options)
        offered = offer(self._servers.catalogue)
        schemas = offered.schemas if settings.models[0].provider.supports_tools else ToolSchemas()
        content = None if user_query is None else content_of(user_query)
        asked = messages.instructed(messages.begin(history, content), settings.system)
        return estimated_tokens(asked, schemas)

    async def _stream(
        self,
        query: UserInput | None,
        size: int,
        history: Sequence[Message],
        settings: ChatSettings,
        offer: Callable[[Catalogue], Catalogue],
        context: ChatContext,
        stream: weakref.ref[ChatStream],
    ) -> AsyncGenerator[Any, None]:
        self._check_entered()
        # An immutable history may be used by several chats at once.
        other = self._running.get(id(history)) if isinstance(history, MutableSequence) else None
        if other is not None and other() is not None:
            raise RuntimeError("This history is in use by another running chat: give each conversation its own list.")
        telemetry = ChatTelemetry.begin(self._log, context)
        deadline = None
        if self._chat_timeout is not None:
            deadline = asyncio.get_running_loop().time() + self._chat_timeout
        scope = ChatScope(context, telemetry, deadline)
        failed = "cancelled"
        self._running[id(history)] = stream
        try:
            with ChatServers(self._servers, context) as servers:
                await self._load_prices(settings)
                content = None if query is None else await in_worker_if_large(size, content_of, query)
                chat = Chat(settings, self._pipeline, partial(self._tools_of, servers, offer), scope, history, content)
                if (own := stream()) is not None:
                    own.chat = chat
                    del own
                async with aclosing(chat.run()) as chunks:
                    async for chunk in chunks:
                        yield chunk
        except Exception as exc:
            failed = type(exc).__name__
            raise
        finally:
            if self._running.get(id(history)) is stream:
                del self._running[id(history)]
            telemetry.ended(failed)

    async def _tools_of(self, servers: ChatServers, offer: Callable[[Catalogue], Catalogue]) -> Catalogue:
        if not self._entered:
            raise RuntimeError("The AIClient was closed while this chat was running.")
        return offer(await servers.catalogue())

    def _offer_of(self, options: ChatOptions) -> Callable[[Catalogue], Catalogue]:
        """Return the function that makes the offer of a chat out of all tools.

        Raises:
            ValueError: a tool that is to be offered does not exist, or two would have the same name.
        """
        tools, given = options.get("tools"), options.get("external_tools")
        self._refuse_unknown_tools(tools)
        external = ExternalTools.of(given) if given else None
        known = self._servers.catalogue
        if external is not None and self._entered and (name := external.clash(self._chosen(tools, known))):
            raise ValueError(
                f"external_tools has a tool {name!r}, and so has a server: give yours another name, or leave the other "
                "out with tools=..."
            )
        return partial(self._offer, tools, external)

    def _offer(self, tools: ToolSubset | None, external: ExternalTools | None, catalogue: Catalogue) -> Catalogue:
        chosen = self._chosen(tools, catalogue)
        if external is None:
            return chosen
        if name := external.clash(chosen):  # it came later, or with the credentials of this chat
            told = f"The tool {name!r} of a server is not offered: the application has one of this name."
            chosen = self._subsets.of(chosen, lambda name: name not in external.names)
            chosen = replace(chosen, warnings=(*chosen.warnings, told))
        return external.beside(chosen)

    def _chosen(self, tools: ToolSubset | None, catalogue: Catalogue) -> Catalogue:
        if tools is None:
            return catalogue
        absent = missing(catalogue, tools) if isinstance(tools, Collection) else []
        warnings = (f"The tool {name!r} is not offered: no server has it now." for name in absent)
        chosen = self._subsets.of(catalogue, wants(tools))
        return replace(chosen, warnings=(*catalogue.warnings, *warnings)) if absent else chosen

    def _refuse_unknown_tools(self, tools: ToolSubset | None) -> None:
        """Raise a `ValueError` if a name in `tools` is that of no tool, as far as all tools are known now."""
        if not (self._entered and isinstance(tools, Collection)):
            return
        complete = all(server.error is None for server in self.servers) and not self._servers.credential_pools
        if complete and (wrong := unknown(self._servers.catalogue, tools)):
            raise ValueError(f"tools is not valid: {wrong}")

    def _provider_named(self, name: str, option: str) -> LLMProvider:
        """Return the provider of a class name, which may be the built-in one; it is made once, and closed with the
        client."""
        if name not in self._named_providers:
            provider = self._named_providers[name] = self._made(name, option)
            self._own_providers += [provider] if hasattr(provider, "aclose") else []
        return self._named_providers[name]

    def _check_entered(self) -> None:
        if not self._entered:
            raise RuntimeError("The AIClient is not connected: use it inside `async with AIClient(...) as ai:`.")

    def _openai_tool(self, entry: Entry, siblings: Mapping[str, Entry]) -> Mapping[str, Any]:
        return offered(entry, siblings, hidden(self._params, entry))


def _are_billed(models: Sequence[Model]) -> bool:
    """Return whether the price library can know what a request to one of the models costs."""
    return any(billed_url(model.provider) is not None for model in models)


def _breakers(options: ClientOptions) -> BreakerStore | None:
    """Return the store for the state of the circuit breakers; `None` if there are no breakers."""
    if options.breakers is not None or options.breaker_threshold is None:
        return options.breakers
    # The lease must outlast a probe, which first waits for a slot, perhaps as long as a call may take, and then runs.
    lease = 2 * max(options.time_limits.values())
    return MemoryBreakers(options.breaker_threshold, options.breaker_reset_after, probe_timeout=lease)
