"""Decide which model is asked, and which one after a failure. No I/O, but a provider is made from its class name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from xmcp.chat.errors import CONSEQUENCES, ErrorCategory, ProviderError
from xmcp.providers import LLMProvider
from xmcp.providers.chat_complete import ChatComplete, ChatCompleteAdapter, as_provider
from xmcp.providers.sdk_provider import SDKProvider

if TYPE_CHECKING:
    import httpx2

Fallback: TypeAlias = "str | tuple[LLMProvider | ChatComplete | str, str | None]"
"""The name of a model of the same provider, or a provider (or the name of its class) with the name of a model."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model to ask; `name=None` uses the provider's default."""

    provider: LLMProvider
    name: str | None


def chain(
    given: LLMProvider | ChatComplete,
    model: str | None,
    fallbacks: Sequence[Fallback],
    make: Callable[[str, str], LLMProvider],
) -> tuple[Model, ...]:
    """Return the models in the order in which they are asked; one that is there twice is asked once.

    `make` is as for `first`.

    Raises:
        TypeError, ValueError: an entry of `fallbacks` is neither the name of a model nor a pair (provider, name), or a
            name is empty.
        ProviderError: a provider given by the name of its class has no key.
    """
    if isinstance(fallbacks, str):
        raise TypeError(f"fallback_models takes a list, such as [{fallbacks!r}], not a string.")
    provider = as_provider("llm_provider", given)
    _check_name("llm_model", model)
    models = [Model(provider, model)]
    for fallback in fallbacks:
        other = _model(provider, fallback, "fallback_models", make)
        if not any(_same(other, one) for one in models):
            models.append(other)
    return tuple(models)


def first(models: Sequence[Model], given: Any, make: Callable[[str, str], LLMProvider]) -> tuple[Model, ...]:
    """Return the models for a chat that begins with the model `given`; the fallbacks stay, without that one.

    `make` returns the provider of a class name, the same one each time, given the option for messages. Raises what
    `chain` raises.
    """
    model = _model(models[0].provider, given, "model", make)
    return (model, *(one for one in models[1:] if not _same(one, model)))


def _same(one: Model, other: Model) -> bool:
    """Return whether two entries ask the same model of the same provider."""
    asked, also = (
        model.provider.asked if isinstance(model.provider, ChatCompleteAdapter) else model.provider
        for model in (one, other)
    )
    own = getattr(asked, "model", None)
    return asked is also and (one.name or own) == (other.name or own)


def next_step(error: ProviderError, *, repeated: bool, more: bool) -> Literal["repeat", "next", "raise"]:
    """Return what to do after a model failed, when the SDK's own retries are over.

    `CONSEQUENCES` says which failures end the chat, and for which a model whose answer broke off is asked once more:
    no SDK retries that.
    """
    follows = CONSEQUENCES[error.category]
    if error.began and follows.repeats and not repeated:
        return "repeat"
    return "next" if more and follows.then == "next" else "raise"


def first_that_fits(models: Sequence[Model], asked: int, tokens: int) -> int:
    """Return the place of the first model from `asked` on that reads so many tokens; `asked` itself if none does.

    A model whose size is not known counts as one that does.
    """
    sizes = enumerate((model.provider.max_context_tokens for model in models[asked:]), start=asked)
    return next((place for place, size in sizes if size is None or tokens <= size), asked)


def too_small(model: Model, tokens: int) -> ProviderError:
    """Return why a model was not asked that reads fewer tokens."""
    provider = model.provider
    message = (
        f"The conversation and the tools have about {tokens} tokens, and the model of provider {provider.name!r} reads "
        f"{provider.max_context_tokens}."
    )
    return ProviderError(message, category=ErrorCategory.CONTEXT, provider=provider.name, model=model.name)


def _model(provider: LLMProvider, given: Any, option: str, make: Callable[[str, str], LLMProvider]) -> Model:
    if isinstance(given, str):
        _check_name(option, given)
        return Model(provider, given)
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise TypeError(f"{option} has {given!r}; it takes names of models, or pairs (provider, model).")
    chosen, name = given
    _check_name(option, name)
    if isinstance(chosen, str):
        chosen = make(chosen, option)
    return Model(as_provider(f"The provider in {option}", chosen), name)


def _check_name(option: str, name: Any) -> None:
    if not isinstance(name, str | None):
        raise TypeError(f"{option} has {name!r} as the name of a model: give a text, or None for the provider's own.")
    if name is not None and not name.strip():
        raise ValueError(f"{option} has an empty text as the name of a model: leave it out for the provider's own.")


def made(name: str, option: str, http_client: httpx2.AsyncClient | None = None) -> LLMProvider:
    """Return a new provider of the class of this name; `option` is where it was given.

    Raises:
        ValueError: there is no such class, or it sends no requests itself, for which there is an `http_client`.
        ProviderError: it has no key.
    """
    providers = import_module("xmcp.providers")
    known = [known for known in providers.__all__ if known.endswith("Provider") and known != "LLMProvider"]
    if name not in known:
        raise ValueError(f"{option} names the provider {name!r}; there are {', '.join(known)}.")
    kind = getattr(providers, name)
    if http_client is None:
        provider: LLMProvider = kind()
    elif issubclass(kind, SDKProvider):
        provider = kind(http_client=http_client)
    else:
        raise ValueError(
            f"{option} names the provider {name!r}, which sends no HTTP requests itself, so that it cannot use the "
            f"http_client: pass the pair ({name}(...), model)."
        )
    return provider
