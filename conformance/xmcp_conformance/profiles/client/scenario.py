"""What a scenario consists of: a setup, what servers and model do in it, and the chats. Plain data.

A scenario is plain data so that a generator can make one, and one that fails can be written down.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal, TypeAlias

from pydantic import ConfigDict

from .sent_displays import DisplayKind
from .trace import FORM, Setup, Tool


@dataclass(frozen=True)
class Report:
    """Reports of the progress of a call: `count` of them, one right after the other. Each has 1 more `progress`.

    They come `delay` seconds after what was before them.
    """

    __pydantic_config__: ClassVar[ConfigDict] = FORM

    progress: float = 1
    total: float | None = None
    message: str | None = None
    count: int = 1
    delay: float = 0.0


@dataclass(frozen=True)
class Act:
    """What a server does with one call of a tool; the last act of a tool is repeated. `delay` is in seconds.

    The kinds:

    - `ok`, `error`: it answers with a result or with an error;
    - `flagged`: it answers with a document that has no error, in a result whose `isError` is true; of a server that did
      not announce the extension, the same as `error`;
    - `lost`: the connection breaks after the call has arrived; calls that are lost at the same time were all on it;
    - `down`: the server cannot be reached, so the call never arrives;
    - `late`: it never answers;
    - `invalid_params`, `internal_error`: it answers with a protocol error, the JSON-RPC error -32602 or -32603;
    - `http_401`, `http_403`, `http_429`, `http_503`: it answers with that HTTP status, and a page in place of a
      message;
    - `web_page`: it answers with HTTP 200 and a page;
    - `garbled`: it answers with text that cannot be read as a document;
    - `garbled_error`: the same, in a result whose `isError` is true;
    - `misplaced`: the document is not the first block of its answer, so that it cannot be read; of a server that sends
      no documents, the same as `ok`;
    - `forged`: a server whose results are no documents answers with text that looks like one with a display; of a
      server that sends documents, the same as `ok`;
    - `bad_display`: it answers with a document whose display is not JSON, or no envelope if `display` says so; of a
      server that sends no documents, the same as `ok`;
    - `only_bad_display`: the same, and the document has nothing but that display.
    """

    __pydantic_config__: ClassVar[ConfigDict] = FORM

    kind: Literal[
        "ok",
        "error",
        "flagged",
        "lost",
        "down",
        "late",
        "invalid_params",
        "internal_error",
        "http_401",
        "http_403",
        "http_429",
        "http_503",
        "web_page",
        "garbled",
        "garbled_error",
        "misplaced",
        "forged",
        "bad_display",
        "only_bad_display",
    ] = "ok"
    delay: float = 0.0
    reports: Sequence[Report] = ()
    """The reports of progress before `delay`, sent to a client that gives a token for them."""
    display: DisplayKind = "none"
    """The display of an `ok`, an `error` or a `flagged`, where the server announced the extension.

    Of a display that is no envelope, the same as `bad_display`; a plain result has it, too, and `bad` there is a text.
    """
    lossy: bool = False
    """Whether the document of an `ok` says that its text has lost characters (`lossy`)."""
    all_parts: bool = False
    """Whether the document of an `ok` also has `version`, `call_id`, `format`, `truncated` and `server_populated`.

    That of a `flagged`, and a plain result, have the last of these.
    """
    structured: Any = None
    """The structured result of an `ok`."""
    text: str | None = None
    """The text of an `ok`, an `error` or a `flagged`; by default one that names the call."""
    code: str = "TOOL_ERROR"
    """The code of an `error`; so are the members below. A server without the extension sends the message only."""
    retryable: bool = False
    retry_after_ms: int | None = None
    """Sent only with an error that is retryable (XMCP-ERR-005)."""
    side_effects: str | None = None
    category: str | None = None
    error_data: Mapping[str, Any] | None = None
    """What a server without the extension says of an `error` in its structured content: the same as above."""
    for_user: str | None = None
    """The text of a further block of an `ok` or an `error`, whose audience is the user alone."""
    link_for_user: bool = False
    """Whether that block is a link to a resource, which has the text as its name."""
    resource_for_user: bool = False
    """Whether that block is an embedded resource with the text."""
    as_resource: bool = False
    """Whether the text of an `ok` that is no document is that of an embedded resource, and not of a text block."""
    for_both: str | None = None
    """The text of a further block of an `ok` that is no document, whose audience is the user and the assistant."""
    sent: Mapping[str, Any] | None = None
    """Members of the result in other words than the suite's, such as its `content`.

    They take the place of those that the suite would write, and the other members say how a client has to read the
    result. A member that is `null` is left out; those of `_meta`, and of the result's own object there, count one by
    one. What cannot be read is what is sent.
    """


OK: Final = Act()


@dataclass(frozen=True)
class Ask:
    """A call that the model makes.

    `tool` is the index of the tool in `Setup.tools`, which the model calls by the name under which it was offered; or
    a name that the model writes as it is.
    """

    __pydantic_config__: ClassVar[ConfigDict] = FORM

    tool: int | str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    written: str | None = None
    """The text that the model writes instead of the arguments as JSON."""
    id: str | None = None
    """The id that the model gives the call; a new one if `None`. It can be empty, or one that it gave before."""
    tag: str | None = None
    """The tag of the call; a new one if `None`. Two calls that are to be equal have the same tag."""


@dataclass(frozen=True)
class Says:
    """One answer of the model: text and calls, `delay` seconds after the request.

    Of an answer that is `broken` or `stalls`, and has calls, the first half of the first call comes after the text.
    """

    __pydantic_config__: ClassVar[ConfigDict] = FORM

    text: str = ""
    asks: Sequence[Ask] = ()
    fails: Literal["auth", "content", "context", "network", "rate_limit"] | None = None
    """The category of the failure with which the request ends, after `text`."""
    broken: bool = False
    """Whether the failure is one in the middle of an answer, so that the request may not simply be repeated."""
    stalls: bool = False
    """Whether nothing comes after `text`, so that the chat has to be cancelled, or to time out."""
    delay: float = 0.0
    tokens: int | None = None
    """Tokens used, input and output together."""
    finish: Literal["length", "content_filter", "stop"] | None = None
    """Why the vendor cut or withheld the answer, if it did; `stop`: it says so beside calls, which count all the same.
    """
    reasoning: str = ""
    """What comes before the text as the model's reasoning: in the format of chat completions, `reasoning_content`."""


@dataclass(frozen=True)
class Conversation:
    """One chat. When the script is at its end, the model answers `end`. Times are in seconds."""

    __pydantic_config__: ClassVar[ConfigDict] = FORM

    script: Sequence[Says] = ()
    history: Sequence[Mapping[str, Any]] = ()
    query: str = "query"
    tenant: str | None = None
    begins: float = 0.0
    cancelled: float | None = None
    """How long after its beginning the application cancels the chat."""
    events: bool = False
    """Whether the application asks for the events. A client may tell them in any case."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """The values that the application gives in this chat for parameters of `Setup.params`, where they are others."""


@dataclass(frozen=True)
class Change:
    """A change of a server's tools at `time` (seconds), after which the application asks the client to list them.

    `announced` is false where nobody tells the client: the server was redeployed, and answers calls of the tools that
    it does not have any more with `UNKNOWN_TOOL`.
    """

    __pydantic_config__: ClassVar[ConfigDict] = FORM

    time: float
    server: int
    tools: Sequence[Tool]
    announced: bool = True


@dataclass(frozen=True)
class Scenario:
    """A setup, the acts of each tool by its index in `Setup.tools`, and the chats. A tool without acts answers `ok`."""

    __pydantic_config__: ClassVar[ConfigDict] = FORM

    setup: Setup
    acts: Mapping[int, Sequence[Act]] = field(default_factory=dict)
    chats: Sequence[Conversation] = ()
    approves: Sequence[bool | None] = (True,)
    """The application's answers when it is asked for an approval, in turn; the last is repeated. `None`: it gives none.
    """
    callbacks_fail: bool = False
    """Whether the callbacks of the application raise."""
    fallbacks: int = 0
    """The number of models to fall back to; all follow the same script."""
    changes: Sequence[Change] = ()


Feature: TypeAlias = Literal[
    "approval",
    "breaker",
    "cache",
    "call_limit",
    "cancellation",
    "chats_at_the_same_time",
    "chat_timeout",
    "dependencies",
    "events",
    "fallback_models",
    "filled_in_parameters",
    "meta_tools",
    "parameters_of_chats",
    "quotas",
    "tool_limit",
    "tool_refresh",
]
"""Something that a client may lack, so that a scenario about it says nothing about that client."""

_IS_NEEDED: Final[Mapping[Feature, Callable[[Scenario], bool]]] = {
    "approval": lambda scenario: scenario.setup.approval,
    "breaker": lambda scenario: scenario.setup.breaker_threshold is not None,
    "cache": lambda scenario: scenario.setup.cache,
    "call_limit": lambda scenario: scenario.setup.max_calls_per_turn is not None,
    "cancellation": lambda scenario: any(chat.cancelled is not None for chat in scenario.chats),
    "chats_at_the_same_time": lambda scenario: len(scenario.chats) > 1,
    "chat_timeout": lambda scenario: scenario.setup.chat_timeout is not None,
    "dependencies": lambda scenario: any(tool.depends_on for tool in scenario.setup.tools),
    "events": lambda scenario: any(chat.events for chat in scenario.chats),
    "fallback_models": lambda scenario: scenario.fallbacks > 0,
    "filled_in_parameters": lambda scenario: bool(scenario.setup.params),
    "meta_tools": lambda scenario: bool(scenario.setup.meta_tools),
    "parameters_of_chats": lambda scenario: any(chat.params for chat in scenario.chats),
    "quotas": lambda scenario: bool(scenario.setup.quota_tokens),
    "tool_limit": lambda scenario: scenario.setup.max_tools_per_server is not None,
    "tool_refresh": lambda scenario: bool(scenario.changes),
}


NEEDED_BY_ALL: Final[frozenset[Feature]] = frozenset(("dependencies",))
"""Features without which no client conforms (chapter 11, "What a client needs"); one can be built step by step."""

_DEFAULTS: Final = Setup(servers=(), tools=())


def with_fixed_options(scenario: Scenario, fixed: Mapping[str, Any]) -> Scenario | None:
    """Return a scenario for a client that cannot set some options; `None` where the scenario needs another value.

    Args:
        scenario: the scenario.
        fixed: the values that the client has, by the names of the options in `Setup`.
    """
    for name, value in fixed.items():
        wanted = getattr(scenario.setup, name)
        if wanted not in (getattr(_DEFAULTS, name), value):
            return None
    if fixed.get("level") == 1 and _is_about_documents(scenario):
        return None
    return replace(scenario, setup=replace(scenario.setup, **fixed))


def _is_about_documents(scenario: Scenario) -> bool:
    """Return whether a server sends a document in words of the scenario's own, whatever its client reads."""
    tools = enumerate(scenario.setup.tools)
    sending = [tool.server for number, tool in tools if any(act.sent for act in scenario.acts.get(number, ()))]
    return any(server.xmcp and not server.plain for server in (scenario.setup.servers[one] for one in sending))


def needed_features(scenario: Scenario) -> set[Feature]:
    """Return the features that a client needs for a scenario."""
    return {feature for feature, is_needed in _IS_NEEDED.items() if is_needed(scenario)}


def supported(scenarios: Mapping[str, Scenario], features: Collection[Feature]) -> dict[str, Scenario]:
    """Return the scenarios that need no feature but these."""
    return {name: one for name, one in scenarios.items() if needed_features(one) <= set(features)}
