"""Decide which model is asked next after a failure. No I/O, but providers are created from their class names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeAlias

from xmcp.chat.errors import CONSEQUENCES, ProviderError
from xmcp.providers import LLMProvider

Fallback: TypeAlias = "str | tuple[LLMProvider | str, str | None]"
"""The name of a model of the same provider, or a provider (or the name of its class) with the name of a model."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model to ask; `name=None` uses the provider's default."""

    provider: LLMProvider
    name: str | None
    made: bool = False
    """Whether the provider was made here, from the name of its class, so that the client must close it."""


def chain(provider: LLMProvider, model: str | None, fallbacks: Sequence[Fallback]) -> tuple[Model, ...]:
    """Return the models in the order in which they are asked.

    Raises:
        TypeError, ValueError: an entry of `fallbacks` is neither the name of a model nor a pair (provider, name).
        ProviderError: a provider given by the name of its class has no key.
    """
    if isinstance(fallbacks, str):
        raise TypeError(f"fallback_models takes a list, such as [{fallbacks!r}], not a string.")
    return (Model(provider, model), *(_model(provider, fallback, "fallback_models", made) for fallback in fallbacks))


def first(models: Sequence[Model], given: Any, make: Callable[[str, str], LLMProvider]) -> tuple[Model, ...]:
    """Return the models for a chat that begins with the model `given`; the fallbacks stay, without that one.

    `make` returns the provider of a class name, given the option for messages. Raises what `chain` raises.
    """
    model = _model(models[0].provider, given, "model", make)
    rest = (one for one in models[1:] if (one.provider, one.name) != (model.provider, model.name))
    return (model, *rest)


def next_step(error: ProviderError, *, repeated: bool, more: bool) -> Literal["repeat", "next", "raise"]:
    """Return what to do after a model failed, when the SDK's own retries are over.

    `CONSEQUENCES` says which failures end the chat, and for which a model whose answer broke off is asked once more:
    no SDK retries that.
    """
    follows = CONSEQUENCES[error.category]
    if error.began and follows.repeats and not repeated:
        return "repeat"
    return "next" if more and follows.then == "next" else "raise"


def _model(provider: LLMProvider, given: Any, option: str, make: Callable[[str, str], LLMProvider]) -> Model:
    if isinstance(given, str):
        return Model(provider, given)
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise TypeError(f"{option} has {given!r}; it takes names of models, or pairs (provider, model).")
    chosen, name = given
    by_name = isinstance(chosen, str)
    if isinstance(chosen, str):
        chosen = make(chosen, option)
    if not isinstance(chosen, LLMProvider):
        raise TypeError(f"{option} has {chosen!r} as a provider; it takes a provider, or the name of its class.")
    return Model(chosen, name, by_name)


def made(name: str, option: str) -> LLMProvider:
    """Return a new provider of the class of this name; `option` is where it was given.

    Raises:
        ValueError: there is no such class.
        ProviderError: it has no key.
    """
    providers = import_module("xmcp.providers")
    known = [known for known in providers.__all__ if known.endswith("Provider") and known != "LLMProvider"]
    if name not in known:
        raise ValueError(f"{option} names the provider {name!r}; there are {', '.join(known)}.")
    provider: LLMProvider = getattr(providers, name)()
    return provider
