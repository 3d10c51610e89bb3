"""What the tests of the command line share."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from xmcp.cli import run
from xmcp.cli.logs import logging_config


@pytest.fixture(autouse=True)
def loggers_as_before() -> Iterator[None]:
    """Undo what a command set up for logging: it ran in this process, and its handlers would write for other tests."""
    loggers = [logging.getLogger(name) for name in ("", *logging_config("info", "text")["loggers"])]
    before = [(logger.level, logger.propagate, logger.handlers[:], logger.filters[:]) for logger in loggers]
    yield
    for logger, (level, propagate, handlers, filters) in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.propagate, logger.handlers[:], logger.filters[:] = propagate, handlers, filters


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current directory; what a command imports from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def failing(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run a command that must fail: its exit code and its last line of stderr; nothing may look like a traceback."""

    def fail(*args: str) -> tuple[int, str]:
        code = run(args)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, err.strip().splitlines()[-1]

    return fail
