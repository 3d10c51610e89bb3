"""Show the defaults of `AIClient` as values on the API page: `10` instead of `ClientOptions.max_turns`.

An extension of griffe, which reads the code for the page.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from griffe import Extension, Function


class ApiDefaults(Extension):
    """Replace each default that is written as `Class.attribute` by its value."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Replace the defaults of one function."""
        for parameter in func.parameters:
            owner, dot, attribute = str(parameter.default or "").partition(".")
            if dot and owner.isidentifier() and attribute.isidentifier():
                names = import_module(func.module.path)
                parameter.default = repr(inspect.getattr_static(getattr(names, owner), attribute))
