"""The options of a client, held against what they can be. Each fault is an exception that names the option."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any, Final

from xmcp.providers import LLMProvider

_HOOKS: Final[dict[str, tuple[str, ...]]] = {
    "on_display": ("envelope", "history"),
    "on_error": ("error", "history"),
    "usage_sink": ("record",),
    "price": ("provider", "model", "usage"),
    "approve": ("call",),
}
"""What each function of the application is given."""


def whole(**options: int) -> None:
    """Whole numbers above 0.

    Raises:
        TypeError, ValueError: one is none.
    """
    for option, value in options.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{option} must be a whole number, not {value!r}.")
        if not value > 0:
            raise ValueError(f"{option} must be above 0, not {value!r}.")


def positive(**options: float | None) -> None:
    """Numbers above 0, or `None`.

    Raises:
        TypeError, ValueError: one is neither.
    """
    for option, value in options.items():
        if value is not None and (not isinstance(value, int | float) or isinstance(value, bool)):
            raise TypeError(f"{option} must be a number, not {value!r}.")
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"{option} must be above 0, not {value!r}.")


def functions(**options: Any) -> None:
    """Functions, each with as many parameters as it will be given; or `None`.

    Raises:
        TypeError: one is no function, or cannot be called so.
    """
    for option, function in options.items():
        if function is None:
            continue
        given = ", ".join(_HOOKS[option])
        if not callable(function) or isinstance(function, type):
            raise TypeError(f"{option} must be a function of ({given}), not {function!r}.")
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            continue  # a function of C that does not say
        try:
            signature.bind(*_HOOKS[option])
        except TypeError:
            raise TypeError(f"{option} is called with ({given}), which {function!r} does not take.") from None


def mapping(option: str, value: Any) -> dict[str, Any]:
    """A mapping from names, as a dict.

    Raises:
        TypeError: it is none.
    """
    if value is not None and (not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value)):
        raise TypeError(f"{option} must be a mapping from names, not {value!r}.")
    return dict(value or {})


def provider(value: Any) -> None:
    """A source of completions.

    Raises:
        TypeError: it is none, with what it lacks.
    """
    if isinstance(value, type):
        raise TypeError(f"llm_provider must be an object, not the class {value.__name__}: give {value.__name__}(...).")
    if not isinstance(value, LLMProvider):
        lacks = [
            name for name in ("name", "supports_tools", "max_context_tokens", "stream") if not hasattr(value, name)
        ]
        raise TypeError(f"llm_provider must be a provider (xmcp.providers.LLMProvider); it lacks {', '.join(lacks)}.")


def store(option: str, value: Any, protocol: type, example: str) -> None:
    """A store of `xmcp.storage`, or one like it.

    Raises:
        TypeError: it is none.
    """
    if value is not None and (isinstance(value, type) or not isinstance(value, protocol)):
        raise TypeError(f"{option} must be a store such as {example} (xmcp.storage), not {value!r}.")


def logger(value: Any) -> None:
    """A standard logger, or one like structlog's.

    Raises:
        TypeError: it is none.
    """
    if value is not None and not all(callable(getattr(value, level, None)) for level in ("debug", "info", "warning")):
        raise TypeError(f"logger must have the methods of a logger (debug, info, warning, exception), not {value!r}.")
