"""What an application sets for one chat: the keywords of `chat` and `stream_chat` of every client, and their checks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypedDict

from xmcp.chat.json_values import as_json, refuser
from xmcp.chat.sampler_config import NOT_A_NAME, SamplerConfig
from xmcp.client.loop import fallback
from xmcp.client.loop.chat import ChatSettings
from xmcp.client.loop.fallback import Fallback
from xmcp.client.loop.stop_reason import DisplayMode
from xmcp.client.loop.typed_answer import answer_type
from xmcp.client.options import Check, function_of, is_async, one_of, sampler_config, whole_number
from xmcp.client.tools.external import ExternalTools
from xmcp.option_names import refuse_unknown
from xmcp.providers import LLMProvider

ToolSubset: TypeAlias = "Collection[str] | Callable[[str], object]"
"""Names of tools as the model knows them, or a function that is true for the names of those tools."""


class ChatOptions(TypedDict, total=False):
    """The keywords of one chat, on every client and on conversations. Where one is `None`, that of the client holds."""

    sampler: SamplerConfig | None
    """How models are to write their answers; what it leaves open is that of the client."""
    model: Fallback | None
    """The model to ask first: a name of the client's provider, or a pair of a provider (or the name of its class) and a
    name. The client's `fallback_models` stay."""
    system: str | None
    """Instructions for this chat alone: they reach the model, and do not stand in the history. They take the place of
    system messages at the beginning of the history, which keeps its own; a blank text leaves those out."""
    tools: ToolSubset | None
    """The tools to offer: their names as in `AIClient.tools`, or a function of a name that is true for them; the
    client's own (`__think__`, ...) count as tools. No other tool is offered or called; `[]`: none is."""
    external_tools: Sequence[Mapping[str, Any]] | None
    """Tools in the OpenAI format that the application runs itself, for this chat. The model is offered them too; a call
    of one ends the chat with the stop reason `tool_calls`, after the turn's other calls were made
    (`ChatResult.open_calls`). No middleware, `approve` or cache sees such a call."""
    max_turns: int | None
    """Maximum number of answers of the model in this chat."""
    display: DisplayMode | None
    """Whether a turn that shows the answer ends this chat: `exit` or `continue`, as for the client."""
    metadata: Mapping[str, Any] | None
    """A JSON object of the application, for middleware, `approve` and `params` (`ChatContext.metadata`) and log lines.
    The model, the history and usage records do not get it."""
    answer_type: Any
    """The type of the answer: a pydantic model, a dataclass, or another type that pydantic reads from JSON. The value
    is `ChatResult.value`. A model that answers with something else is asked once more."""


def check(owner: str, options: Mapping[str, Any], *others: str) -> None:
    """Check the options of a chat. `owner` is the method for messages, `others` are its further keywords.

    Raises:
        TypeError, ValueError: one does not exist or is not valid, or two exclude each other; the message names it and
            says what to pass.
    """
    refuse_unknown(owner, options, [*ChatOptions.__annotations__, *others])
    for name, value in options.items():
        if value is not None and name in _CHECKS:
            _CHECKS[name](name, value)
    sampler = options.get("sampler")
    if options.get("answer_type") is not None and sampler is not None and sampler.response_format is not None:
        raise ValueError("Pass either answer_type or the response_format of sampler, not both.")


def settings_of(
    common: ChatSettings, options: ChatOptions, make_provider: Callable[[str, str], LLMProvider]
) -> ChatSettings:
    """Return the settings of a chat: those of its client, with the options in their place.

    `make_provider` is as for `fallback.first`.

    Raises:
        ValueError: `tool_choice` names a tool that is not among the tools of the chat.
        TypeError, ValueError, ProviderError: as `fallback.first` does.
    """
    changed: dict[str, Any] = {}
    if (sampler := options.get("sampler")) is not None:
        changed["sampler"] = sampler.over(common.sampler)
    if (model := options.get("model")) is not None:
        changed["models"] = fallback.first(common.models, model, make_provider)
    if (tools := options.get("tools")) is not None:
        wanted = wants(tools)
        changed["meta_tools"] = tuple(name for name in common.meta_tools if wanted(name))
        external = ExternalTools.of(options.get("external_tools") or ()).names
        _refuse_choice(
            changed.get("sampler", common.sampler).tool_choice, lambda name: name in external or wanted(name)
        )
    if (given := options.get("answer_type")) is not None:
        answer = changed["answer"] = answer_type(given)
        changed["sampler"] = replace(changed.get("sampler", common.sampler), response_format=answer.schema)
    for name in ("system", "max_turns", "display"):
        if (value := options.get(name)) is not None:
            changed[name] = value
    return replace(common, **changed) if changed else common


def wants(tools: ToolSubset) -> Callable[[str], object]:
    """Return a function that is true for the names of the tools in a subset."""
    return frozenset(tools).__contains__ if isinstance(tools, Collection) else tools


def _refuse_choice(choice: str | None, wanted: Callable[[str], object]) -> None:
    """Refuse a named tool that is not offered: no vendor can have its model call it."""
    if choice not in (None, *NOT_A_NAME) and not wanted(choice):
        raise ValueError(
            f"tool_choice names the tool {choice!r}, which tools=... leaves out: add it there, or pass "
            "sampler=SamplerConfig(tool_choice='auto') for this chat."
        )


def _text(option: str, value: Any) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{option} must be a text, not {value!r}.")


def _subset(option: str, value: Any) -> None:
    if callable(value) and not isinstance(value, Collection):
        function_of("name")(option, value)
        if is_async(value):
            raise TypeError(f"{option} must not be async: its answer would be true for every name.")
        return
    if (
        not isinstance(value, Collection)
        or isinstance(value, str | bytes)
        or not all(isinstance(n, str) for n in value)
    ):
        sample = [value] if isinstance(value, str) else ["search"]
        raise TypeError(
            f"{option} must be a list of names, such as {sample!r}, or a function of (name), not {value!r}."
        )


def _json_object(option: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"{option} must be a JSON object, such as {{'user': 'u-1'}}, not {value!r}.")
    as_json(dict(value), refuser(option))


def _external_tools(_: str, value: Any) -> None:
    ExternalTools.of(value)


def _answer_type(_: str, value: Any) -> None:
    answer_type(value)


_CHECKS: Final[Mapping[str, Check]] = {
    "sampler": sampler_config,
    "system": _text,
    "tools": _subset,
    "external_tools": _external_tools,
    "max_turns": whole_number,
    "display": one_of("exit", "continue"),
    "metadata": _json_object,
    "answer_type": _answer_type,
}
"""The model is checked when its provider is looked up."""
