"""The message for an option that does not exist, with the name that was probably meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")


def refuse_unknown(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse the first of the options `given` that `owner` does not have.

    Raises:
        TypeError: There is one; the message names the nearest that exist.
    """
    names = list(known)
    for name in given:
        if name not in names:
            near = " or ".join(map(repr, get_close_matches(name, names, n=2)))
            raise TypeError(f"{owner} has no option {name!r}." + (f" Did you mean {near}?" if near else ""))


def checking_options(
    owner: str | None = None,
) -> Callable[[Callable[Concatenate[_S, _P], _R]], Callable[Concatenate[_S, _P], _R]]:
    """Return a decorator for a method that refuses options which are no parameters of it.

    `owner` is what messages name; `None`: the class of the object, for constructors that subclasses share.
    """

    def decorate(method: Callable[Concatenate[_S, _P], _R]) -> Callable[Concatenate[_S, _P], _R]:
        known = [name for name in inspect.signature(method).parameters if name != "self"]

        @wraps(method)
        def checked(self: _S, /, *args: _P.args, **options: _P.kwargs) -> _R:
            refuse_unknown(owner or type(self).__name__, options, known)
            return method(self, *args, **options)

        return checked

    return decorate


def checking_fields(made: type[_S]) -> type[_S]:
    """Decorate a dataclass, whose constructor is generated, as `checking_options` does a constructor."""
    changed: Any = made
    changed.__init__ = checking_options()(changed.__init__)
    return made
