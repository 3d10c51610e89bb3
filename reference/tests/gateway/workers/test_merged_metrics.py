"""The metrics of all workers as one: each series once, with its worker, whoever answers."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import choose_encoder, generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from support.prometheus_server import program

from xmcp.gateway.metrics import merged
from xmcp.gateway.metrics.exposed import exposed
from xmcp.gateway.metrics.merged import Merged, readings
from xmcp.gateway.workers.sockets import PathTooLong, bound, sockets_folder


@pytest.fixture(autouse=True)
def without_created() -> None:
    disable_created_metrics()  # type: ignore[no-untyped-call]


def of(runs: int) -> CollectorRegistry:
    registry = CollectorRegistry()
    counter = Counter("xmcp_runs", "Chats that have ended.", ["model"], registry=registry)
    counter.labels('a "b"\n\\c').inc(runs)
    Gauge("xmcp_lag", "Of the loop.", registry=registry).set(0.1 + 0.2)
    Histogram("xmcp_duration_seconds", "Of a chat.", buckets=(1, 2), registry=registry).observe(1.5)
    return registry


def text_of(runs: int) -> str:
    return generate_latest(of(runs)).decode()


def told(accept: str, *texts: str | None, restarts: tuple[int, ...] = (0, 0)) -> str:
    encode, _ = choose_encoder(accept)
    return encode(Merged(texts, restarts)).decode()


@pytest.mark.parametrize("accept", ["text/plain;version=0.0.4", "application/openmetrics-text;version=1.0.0"])
def test_families_are_one_and_series_have_their_worker(accept: str) -> None:
    text = told(accept, text_of(3), text_of(4), restarts=(0, 2))
    read = openmetrics if "openmetrics" in accept else text_string_to_metric_families
    samples = {(one.name, *sorted(one.labels.items())): one.value for family in read(text) for one in family.samples}
    for worker, runs in (("0", 3), ("1", 4)):
        assert samples["xmcp_runs_total", ("model", 'a "b"\n\\c'), ("worker", worker)] == runs
        assert samples["xmcp_lag", ("worker", worker)] == 0.1 + 0.2
        assert samples["xmcp_duration_seconds_bucket", ("le", "2.0"), ("worker", worker)] == 1
        assert samples["xmcp_worker_up", ("worker", worker)] == 1
    assert samples["xmcp_worker_restarts_total", ("worker", "1")] == 2
    lines = [line for line in text.splitlines() if line.startswith(("# HELP", "# TYPE"))]
    assert len(set(lines)) == len(lines)
    assert len({line.split(" ")[2] for line in lines}) == len(lines) / 2


def test_promtool_finds_nothing_wrong() -> None:
    text = told("", text_of(3), text_of(4))
    words = [program("promtool"), "check", "metrics"]
    checked = subprocess.run(words, input=text, text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout


def test_of_a_worker_that_does_not_answer_only_that_is_told() -> None:
    text = told("", text_of(3), None)
    assert 'xmcp_worker_up{worker="1"} 0.0' in text
    assert 'xmcp_worker_restarts_total{worker="1"} 0.0' in text
    about = [line for line in text.splitlines() if 'worker="1"' in line]
    assert len(about) == 2


async def test_workers_are_asked_on_their_sockets_and_none_is_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(merged, "PATIENCE", 0.5)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    async def read() -> CollectorRegistry:
        return of(3)

    with sockets_folder(4) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        paths = [folder / f"{number}.sock" for number in range(4)]
        bound(paths[1]).close()  # a process that died has left it
        silent = bound(paths[2])
        silent.listen()
        with bound(paths[0]) as listener, exposed(listener, read) as url, silent:
            assert url == ""
            async with asyncio.timeout(60):
                # The first is only slow if the machine is.
                while (found := await readings(paths))[0] is None:
                    continue
        with bound(paths[1]):  # is replaced
            pass
    assert found[0] is not None
    assert "xmcp_runs_total" in found[0]
    assert found[1:] == [None] * 3
    assert not folder.exists()


def test_a_folder_with_too_long_a_name_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long: Any = tmp_path / ("x" * 90)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    with pytest.raises(PathTooLong, match="Set TMPDIR to a shorter one"), sockets_folder(2):
        pass
    assert not list(long.iterdir())
