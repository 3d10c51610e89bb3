"""The metrics of all workers of a gateway as one: each series with the number of its worker as a label."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import httpx2
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

LABEL: Final = "worker"

PATIENCE: Final = 2.0
"""Seconds in which a worker must answer; after them its series are missing."""


class Merged(Collector):
    """What the workers said at one moment.

    Args:
        readings: The metrics of each in Prometheus's text format; `None` of one that did not answer.
        restarts: How often each was started again.
    """

    def __init__(self, readings: Sequence[str | None], restarts: Sequence[int]) -> None:
        self._readings = readings
        self._restarts = restarts

    def collect(self) -> Iterable[Metric]:
        """Return one family for those of the same name, and two of the workers themselves."""
        families: dict[str, Metric] = {}
        for number, reading in enumerate(self._readings):
            for family in text_string_to_metric_families(reading or ""):
                kept = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                kept.samples += [one._replace(labels={**one.labels, LABEL: str(number)}) for one in family.samples]
        up = GaugeMetricFamily("xmcp_worker_up", "Whether a process of the gateway tells its metrics.", labels=[LABEL])
        restarts = CounterMetricFamily("xmcp_worker_restarts", "How often it was started again.", labels=[LABEL])
        for number, reading in enumerate(self._readings):
            up.add_metric([str(number)], reading is not None)
            restarts.add_metric([str(number)], self._restarts[number])
        return [*families.values(), up, restarts]


async def readings(sockets: Sequence[Path]) -> list[str | None]:
    """Return what is served at each Unix socket, or `None` where nothing answers in time; all are asked at once."""
    return list(await asyncio.gather(*map(_reading, sockets)))


async def _reading(socket: Path) -> str | None:
    transport = httpx2.AsyncHTTPTransport(uds=str(socket))
    try:
        async with asyncio.timeout(PATIENCE), httpx2.AsyncClient(transport=transport) as http:
            answer = await http.get("http://worker/metrics")
    except (OSError, httpx2.HTTPError):  # a TimeoutError is an OSError
        return None
    return answer.text if answer.status_code == 200 else None
