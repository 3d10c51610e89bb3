"""Which formatter writes the text that a model reads of a tool's result (spec section 2.3).

From what an author gave (a class, an object, a function or a name) to something that can be called, and what happens
when it fails. The formatters themselves are in `xmcp.xml_formatters`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from xmcp.server.errors import XMCPError
from xmcp.wire import is_media_type
from xmcp.xml_formatters import NAMED_FORMATTERS, DataFormatter, DeclarativeXMLFormatter, XMLFormatter


class NamedFormatter:
    """A formatter given by name, looked up when it is first needed, because it may be registered after the tool."""

    def __init__(self, name: str, registered: Mapping[str, XMLFormatter]) -> None:
        self.name = name
        self._registered = registered
        self._found: XMLFormatter | None = None

    def __call__(self, data: Any, indent_level: int, /) -> str:
        """Call the formatter of that name."""
        return self.found()(data, indent_level)

    def __str__(self) -> str:
        return self.name

    def found(self) -> XMLFormatter:
        """Return the formatter.

        Raises:
            LookupError: There is no formatter of that name, there are several, or it cannot be created.
        """
        if self._found is None:
            self._found = _named(self.name, self._registered)
        return self._found


class DefaultFormatter:
    """The formatter of all tools of a server that have none of their own; for objects and lists only."""

    def __init__(self, formatter: XMLFormatter) -> None:
        self.formatter = formatter

    def __call__(self, data: Any, indent_level: int, /) -> str:
        """Call the formatter."""
        return self.formatter(data, indent_level)


def _itself(formatter: XMLFormatter) -> XMLFormatter:
    """Return the formatter that writes, where it is given by name or for all tools of a server."""
    if isinstance(formatter, DefaultFormatter):
        formatter = formatter.formatter
    return formatter.found() if isinstance(formatter, NamedFormatter) else formatter


def check_found(formatter: XMLFormatter | None) -> None:
    """Check that a formatter that is given by name is there.

    Raises:
        LookupError: As `NamedFormatter.found`.
    """
    if formatter is not None:
        _itself(formatter)


def writes_data_only(formatter: XMLFormatter) -> bool:
    """Tell whether a formatter is for objects and lists only: one of a server, or one that every server knows."""
    return isinstance(formatter, DefaultFormatter) or isinstance(_itself(formatter), DataFormatter)


def keeps_nothing(formatter: XMLFormatter, data: Any) -> bool:
    """Tell whether a formatter selects members, and `data` has none of them."""
    selecting = _itself(formatter)
    return isinstance(selecting, DeclarativeXMLFormatter) and not selecting.keeps(data)


def media_type_of(formatter: XMLFormatter, text: str) -> str:
    """Return the media type of what a formatter wrote: that of the attribute `media_type` of either, or XML."""
    given = getattr(text, "media_type", None) or getattr(_itself(formatter), "media_type", None)
    return given if isinstance(given, str) and is_media_type(given) else "application/xml"


def bound(given: Any, registered: Mapping[str, XMLFormatter]) -> XMLFormatter:
    """Return the formatter for `given`: a class, an object, a function or a name.

    `registered` maps names to the formatters of the server; it may be filled later.

    Raises:
        TypeError: `given` is not one of these, is a class that cannot be created without arguments, is async, or cannot
            be called with the data and the indentation.
    """
    if isinstance(given, str):
        return NamedFormatter(given, registered)
    formatter = _made(given) if isinstance(given, type) else given
    if inspect.iscoroutinefunction(formatter) or inspect.iscoroutinefunction(type(formatter).__call__):
        raise TypeError(f"xml_formatter must not be async, as {name_of(given)!r} is: it returns the text itself.")
    try:
        inspect.signature(formatter).bind({}, 0)
    except ValueError:  # a function in C does not disclose its parameters
        pass
    except TypeError:
        raise TypeError(
            "xml_formatter must be a class or an object such as DeclarativeXMLFormatter, a function "
            f"(data, indent_level) -> str, or the name of a formatter, not {given!r}."
        ) from None
    return formatter  # type: ignore[no-any-return]


def name_of(given: Any) -> str:
    """Return the name of a formatter in the tool's metadata."""
    if isinstance(given, DefaultFormatter):
        return name_of(given.formatter)
    if isinstance(given, str | NamedFormatter):
        return str(given)
    own = getattr(given, "__name__", None)
    return own if isinstance(own, str) else type(given).__name__


class FormatterError(Exception):
    """A formatter failed. The caller is told no more than that; the cause is in the log."""


def formatted(formatter: XMLFormatter, data: Any) -> str:
    """Return the text that a model reads for `data`.

    Only the bound formatter writes it: the author may have chosen it to leave fields out (XMCP-RSP-091).

    Raises:
        FormatterError: The formatter failed, or returned something that is not a text.
        XMCPError: The formatter raised it, to answer with that error.
    """
    try:
        text: object = formatter(data, 0)
    except XMCPError:
        raise
    except Exception as error:
        raise FormatterError(f"The formatter {name_of(formatter)} failed.") from error
    if not isinstance(text, str):
        raise FormatterError(f"The formatter {name_of(formatter)} returned {type(text).__name__}, not str.")
    return text


def _made(given: type) -> Any:
    try:
        return given()
    except TypeError as error:
        raise TypeError(f"xml_formatter is the class {given.__name__}, which cannot be created: {error}") from None


def _named(name: str, registered: Mapping[str, XMLFormatter]) -> XMLFormatter:
    if name in registered:
        return registered[name]
    classes = {kind for kind in _subclasses(DeclarativeXMLFormatter) if kind.__name__ == name}
    if len(classes) == 1:
        try:
            return classes.pop()()
        except (TypeError, ValueError) as error:
            raise LookupError(f"the formatter {name!r} cannot be created: {error}") from None
    if classes:
        places = ", ".join(sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in classes))
        raise LookupError(f"there are several formatters named {name!r}: {places}. Give the class itself.")
    if name in NAMED_FORMATTERS:
        return NAMED_FORMATTERS[name]
    declared = (one.__name__ for one in _subclasses(DeclarativeXMLFormatter))
    available = ", ".join(sorted({*registered, *NAMED_FORMATTERS, *declared}))
    raise LookupError(
        f"there is no formatter named {name!r}; known formatters: {available}. Subclass DeclarativeXMLFormatter, or "
        "register a function with `mcp.add_xml_formatter(function)`."
    )


def _subclasses(kind: type[DeclarativeXMLFormatter]) -> Iterator[type[DeclarativeXMLFormatter]]:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)
