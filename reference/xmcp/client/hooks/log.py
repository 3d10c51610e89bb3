"""Log events with fields, written to a logger of the standard library or one like structlog's."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from xmcp.chat.untrusted_text import printable


class EventLog:
    """Writes events; `bind` adds fields to all of them.

    A standard logger gets the fields in the text and, as `record.xmcp`, as a mapping. Any other object is called like
    structlog's: `logger.info(event, **fields)`. No argument and no result of a tool is ever a field. Some fields are
    texts of peers, so a field has no control character: `\\x1b` is written in its place.
    """

    def __init__(self, logger: Any = None, fields: Mapping[str, Any] | None = None) -> None:
        self._logger = logging.getLogger("xmcp") if logger is None else logger
        self._fields = dict(fields or {})

    def bind(self, **fields: Any) -> EventLog:
        """Return the same log with more fields; those that are `None` are left out."""
        return EventLog(self._logger, {**self._fields, **{k: v for k, v in fields.items() if v is not None}})

    def debug(self, event: str, **fields: Any) -> None:
        """Log what is of interest only when looking for a fault."""
        self._write("debug", event, fields)

    def info(self, event: str, **fields: Any) -> None:
        """Log the normal course of a chat."""
        self._write("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Log something that did not work, after which the chat goes on."""
        self._write("warning", event, fields)

    def exception(self, event: str, **fields: Any) -> None:
        """Log a fault in code, with the traceback of the exception being handled."""
        self._write("exception", event, fields)

    def _write(self, level: str, event: str, fields: Mapping[str, Any]) -> None:
        standard = isinstance(self._logger, logging.Logger | logging.LoggerAdapter)
        if standard and not self._logger.isEnabledFor(_LEVELS[level]):
            return
        every = {**self._fields, **fields}
        safe = {
            key: printable(value) if isinstance(value, str) and not value.isprintable() else value
            for key, value in every.items()
        }
        if standard:
            getattr(self._logger, level)("%s", _Line(event, every), extra={"xmcp": safe})
        else:
            getattr(self._logger, level)(event, **safe)


_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "exception": logging.ERROR}


class _Line:
    """An event whose text is made only when a handler writes it. `repr` escapes what is not printable."""

    __slots__ = ("_event", "_fields")

    def __init__(self, event: str, fields: Mapping[str, Any]) -> None:
        self._event = event
        self._fields = fields

    def __str__(self) -> str:
        return " ".join([self._event, *(f"{key}={value!r}" for key, value in self._fields.items())])
