"""The message for an option that does not exist, with the name that was probably meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

_P = ParamSpec("_P")
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
    owner: str,
) -> Callable[[Callable[Concatenate[_S, _P], None]], Callable[Concatenate[_S, _P], None]]:
    """Return a decorator for the constructor of `owner` that refuses options which are no parameters of it."""

    def decorate(init: Callable[Concatenate[_S, _P], None]) -> Callable[Concatenate[_S, _P], None]:
        known = inspect.signature(init).parameters

        @wraps(init)
        def checked(self: _S, /, *args: _P.args, **options: _P.kwargs) -> None:
            refuse_unknown(owner, options, known)
            init(self, *args, **options)

        return checked

    return decorate
