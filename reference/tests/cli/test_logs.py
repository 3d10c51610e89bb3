"""How a log record is written, and which loggers are enabled."""

from __future__ import annotations

import json
import logging
import logging.config
import os
import pickle
from typing import Any

import pytest

from xmcp.cli.logs import FORMATS, LEVELS, JSONLine, TextLine, WithoutQuery, logging_config


def record(message: str, *args: Any, **fields: Any) -> logging.LogRecord:
    made = logging.LogRecord("shop", logging.WARNING, __file__, 1, message, args, fields.pop("exc_info", None))
    vars(made).update(fields)
    return made


def test_a_record_is_one_object_with_its_extra_fields() -> None:
    line = JSONLine().format(record("sold %d\nof \ud800", 3, item="tea", when={1}))
    assert "\n" not in line
    told = json.loads(line)
    assert told.pop("time").endswith("+00:00")
    assert told.pop("process") == os.getpid()
    assert told == {"level": "warning", "logger": "shop", "message": "sold 3\nof \ud800", "item": "tea", "when": "{1}"}


def test_extra_fields_replace_no_field_of_the_record() -> None:
    assert json.loads(JSONLine().format(record("x", level="none", time="never")))["level"] == "warning"


def test_an_exception_is_a_field() -> None:
    try:
        raise ValueError("no")
    except ValueError as error:
        told = json.loads(JSONLine().format(record("failed", exc_info=(type(error), error, error.__traceback__))))
    assert told["message"] == "failed"
    assert told["exception"].startswith("Traceback")
    assert told["exception"].endswith("ValueError: no")


def test_text_has_time_level_logger_and_message() -> None:
    assert TextLine().format(record("sold")).endswith(" WARNING shop: sold")


def test_of_several_processes_each_line_names_its_own() -> None:
    assert TextLine(worker=1).format(record("sold")).endswith(" WARNING [worker 1] shop: sold")
    assert json.loads(JSONLine(worker=0).format(record("sold", worker="none")))["worker"] == 0


def test_a_query_is_cut_from_the_access_log() -> None:
    access = record('%s - "%s %s HTTP/%s" %d', "127.0.0.1:1", "POST", "/messages/?session_id=s3cr3t", "1.1", 202)
    assert WithoutQuery().filter(access)
    assert access.getMessage() == '127.0.0.1:1 - "POST /messages/ HTTP/1.1" 202'


@pytest.mark.parametrize("log_format", FORMATS)
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_and_format_can_be_set_up_in_another_process(level: str, log_format: Any) -> None:
    config = pickle.loads(pickle.dumps(logging_config(level, log_format)))
    logging.config.dictConfig(config)
    assert logging.getLogger("shop").isEnabledFor(logging.getLevelNamesMapping()[level.upper()])
    assert not logging.getLogger("mcp.server").isEnabledFor(logging.INFO)  # it would quote requests
    assert not logging.getLogger("fastmcp").isEnabledFor(logging.INFO)
