"""The log of `xmcp serve` on stderr: the level of each logger, and records as lines of text or JSON."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import IO, Any, Final, Literal

Format = Literal["text", "json"]
LEVELS: Final = ("debug", "info", "warning", "error")
FORMATS: Final[tuple[Format, ...]] = ("text", "json")

# Below warnings they log their internals, and at debug whole requests with arguments.
_QUIET_LIBRARIES: Final = ("fastmcp", "mcp", "sse_starlette", "asyncio", "httpx2", "httpcore2", "docket", "watchfiles")


def logging_config(level: str, log_format: Format, worker: int | None = None) -> dict[str, Any]:
    """Return the argument of `logging.config.dictConfig`: records from `level` on, one line each, on stderr.

    `worker` is the number of this process among those of a command, which then stands in each line. The result can be
    pickled, for the serving processes.
    """
    at_least_warnings = level if level == "error" else "warning"
    quiet = {"level": at_least_warnings.upper(), "handlers": [], "propagate": True}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": f"{__name__}.{_FORMATTERS[log_format].__name__}", "worker": worker}},
        "filters": {"without_query": {"()": f"{__name__}.{WithoutQuery.__name__}"}},
        "handlers": {"stderr": {"class": f"{__name__}.{StderrHandler.__name__}", "formatter": "line"}},
        "root": {"level": level.upper(), "handlers": ["stderr"]},
        "loggers": {
            **dict.fromkeys(_QUIET_LIBRARIES, quiet),
            "uvicorn.error": {**quiet, "level": level.upper() if level == "debug" else at_least_warnings.upper()},
            "uvicorn.access": {"handlers": [], "propagate": True, "filters": ["without_query"]},
        },
    }


class TextLine(logging.Formatter):
    """A record as a line of text."""

    def __init__(self, worker: int | None = None) -> None:
        place = "" if worker is None else f"[worker {worker}] "
        super().__init__(f"%(asctime)s %(levelname)s {place}%(name)s: %(message)s")


_OWN_FIELDS: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "color_message"})


class JSONLine(logging.Formatter):
    """A record as a JSON object: time (UTC), level, logger, message, the fields of `extra`, the exception."""

    def __init__(self, worker: int | None = None) -> None:
        super().__init__()
        self._place = {} if worker is None else {"worker": worker}

    def format(self, record: logging.LogRecord) -> str:
        """Return the object in one line of ASCII."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": record.process,
            **self._place,
            "logger": record.name,
            "message": record.getMessage(),
        }
        extra = {key: value for key, value in vars(record).items() if key not in _OWN_FIELDS and key not in line}
        if record.exc_info:
            extra["exception"] = self.formatException(record.exc_info)
        return json.dumps({**line, **extra}, default=str)


_FORMATTERS: Final[dict[Format, type[logging.Formatter]]] = {"text": TextLine, "json": JSONLine}


class StderrHandler(logging.StreamHandler[IO[str]]):
    """Writes to the current stderr, which an embedding program or a test may have replaced."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record."""
        self.stream = sys.stderr
        super().emit(record)


class WithoutQuery(logging.Filter):
    """Removes the query from the access log, because it can contain session ids and keys."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Accept every record, with its request target cut before the query."""
        if isinstance(record.args, tuple):
            record.args = tuple(arg.partition("?")[0] if isinstance(arg, str) else arg for arg in record.args)
        return True


def say(sentence: str, log_format: Format) -> None:
    """Write a sentence for the person to stderr; if the log is JSON, as a record, so that every line is JSON."""
    if log_format == "json":
        sentence = JSONLine().format(logging.LogRecord("xmcp.serve", logging.INFO, "", 0, sentence, None, None))
    print(sentence, file=sys.stderr, flush=True)  # noqa: T201 - the command's own output
