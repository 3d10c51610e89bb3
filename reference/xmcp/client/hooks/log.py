"""Log events with fields, to whatever logger the application has: the standard library's or one like structlog's."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final


class EventLog:
    """Writes events; `bind` adds fields to all of them.

    A standard logger gets the fields in the text and, as `record.xmcp`, as a mapping. Any other object is called like
    structlog's: `logger.info(event, **fields)`. No argument and no result of a tool is ever a field.
    """

    def __init__(self, logger: Any = None, fields: Mapping[str, Any] | None = None) -> None:
        self._logger = logging.getLogger("xmcp") if logger is None else logger
        self._fields = dict(fields or {})

    def bind(self, **fields: Any) -> EventLog:
        """The same logger with more fields; those that are `None` are left out."""
        return EventLog(self._logger, {**self._fields, **{k: v for k, v in fields.items() if v is not None}})

    def debug(self, event: str, **fields: Any) -> None:
        """Of interest while looking for a fault."""
        self._write("debug", event, fields)

    def info(self, event: str, **fields: Any) -> None:
        """The normal course of things."""
        self._write("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Something did not work and the chat went on."""
        self._write("warning", event, fields)

    def exception(self, event: str, **fields: Any) -> None:
        """A fault in somebody's code; the traceback of the exception being handled goes along."""
        self._write("exception", event, fields)

    def _write(self, level: str, event: str, fields: Mapping[str, Any]) -> None:
        if not isinstance(self._logger, logging.Logger | logging.LoggerAdapter):
            getattr(self._logger, level)(event, **{**self._fields, **fields})
        elif self._logger.isEnabledFor(_LEVELS[level]):
            every = {**self._fields, **fields}
            getattr(self._logger, level)("%s", _Line(event, every), extra={"xmcp": every})


_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "exception": logging.ERROR}


class _Line:
    """An event as text, made when a handler writes it: not every handler does."""

    __slots__ = ("_event", "_fields")

    def __init__(self, event: str, fields: Mapping[str, Any]) -> None:
        self._event = event
        self._fields = fields

    def __str__(self) -> str:
        return " ".join([self._event, *(f"{key}={value!r}" for key, value in self._fields.items())])
