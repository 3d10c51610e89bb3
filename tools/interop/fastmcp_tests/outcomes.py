"""A pytest plugin: `--write-outcomes FILE` writes the outcome of each test as JSON, by its id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

_OUTCOMES: Final[dict[str, str]] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--write-outcomes", type=Path, required=True, help="file for the outcomes, as JSON")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note a file that cannot be collected as a failed test."""
    if report.failed:
        _OUTCOMES[report.nodeid] = "failed"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the outcome of a test: failed if its set-up, its body or its tear-down fails."""
    if report.failed:
        _OUTCOMES[report.nodeid] = "failed"
    elif (report.when == "call" or report.skipped) and _OUTCOMES.get(report.nodeid) != "failed":
        _OUTCOMES[report.nodeid] = report.outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the outcomes, in the process that has those of every other process of the run."""
    if not hasattr(session.config, "workerinput"):
        session.config.getoption("--write-outcomes").write_text(json.dumps(_OUTCOMES), encoding="utf-8")
