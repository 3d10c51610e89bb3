"""The state of a gateway when it is read: the event loop is asked for it, and the time until it answers is its lag."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

import xmcp

if TYPE_CHECKING:
    from xmcp.gateway.audit.writer import WriterStatistics
    from xmcp.gateway.service import Gateway
    from xmcp.storage import BreakerState

LOSSES: Final = ("text", "queue_full", "spill_full", "disk", "refused", "torn", "failed")
"""Why records are lost, as `WriterStatistics.dropped` has it."""

BREAKER_NUMBERS: Final[Mapping[BreakerState, int]] = {"closed": 0, "half_open": 1, "open": 2}

PATIENCE: Final = 1.0
"""Seconds in which the event loop must answer. After it, the reader gets this lag, and nothing else of the state."""


@dataclass(frozen=True, slots=True)
class State:
    """What a gateway is at one moment.

    Attributes:
        runs: Number of chats, by `running` and `waiting`.
        draining: Whether it is about to stop.
        servers: Whether each tool server can be reached.
        breakers: The state of the circuit breaker of each tool server.
        backends: Whether each store outside of the process can be used.
        audit: What the writer of the audit store does; `None` if there is none.
        cache: Number of calls, by whether their answer was in the cache; empty without a cache.
    """

    runs: dict[str, int]
    draining: bool
    servers: dict[str, bool]
    breakers: dict[str, BreakerState]
    backends: dict[str, bool]
    audit: WriterStatistics | None
    cache: dict[str, int]


class StateCollector(Collector):
    """Reads a gateway. Its methods are called in the thread of whoever reads the metrics."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def collect(self) -> Iterable[Metric]:
        """Return the metrics of this moment; of a gateway that does not run only which version it is."""
        yield _gauge("build_info", "1; the label has the version.", {xmcp.__version__: 1}, "version")
        loop = self._gateway.loop
        if loop is None or loop.is_closed():
            return
        begun = time.monotonic()
        answer: Future[tuple[float, State]] = Future()
        loop.call_soon_threadsafe(_answer, self._gateway, answer, begun)
        try:
            lag, state = answer.result(PATIENCE)
        except TimeoutError:
            lag, state = PATIENCE, None
        yield _gauge("event_loop_lag_seconds", f"How long the event loop took to answer, {PATIENCE:g} at most.", lag)
        if state is not None:
            yield from metrics_of(state)


def _answer(gateway: Gateway, answer: Future[tuple[float, State]], begun: float) -> None:
    """Answer; on the event loop."""
    lag = time.monotonic() - begun
    try:
        answer.set_result((lag, state_of(gateway)))
    except Exception as error:
        answer.set_exception(error)


def state_of(gateway: Gateway) -> State:
    """Return the state at this moment; on the event loop."""
    places = gateway.runs.places
    return State(
        runs={"running": places.running, "waiting": places.waiting},
        draining=gateway.stopping,
        servers={server.name: server.connected for server in gateway.ai.servers},
        breakers={**gateway.ai.breaker_states},
        backends=gateway.backends,
        audit=None if gateway.audit is None else gateway.audit.statistics,
        cache={"hit": kept.statistics["hits"], "miss": kept.statistics["misses"]} if (kept := gateway.cache) else {},
    )


def metrics_of(state: State) -> Iterator[Metric]:
    """Yield the metrics of a state."""
    yield _gauge("runs_in_flight", "Chats that run, or wait for a place.", state.runs, "state")
    yield _gauge("draining", "1 while the gateway is about to stop.", state.draining)
    yield _gauge("server_up", "Whether a tool server can be reached.", state.servers, "server")
    breakers = {server: BREAKER_NUMBERS[state] for server, state in state.breakers.items()}
    yield _gauge(
        "breaker_state", "Of a tool server: 0 gets calls, 1 gets one to try it, 2 gets none.", breakers, "target"
    )
    yield _gauge("backend_up", "Whether a store can be reached.", state.backends, "backend")
    yield _counter("cache_requests", "Calls of tools whose answers can be kept.", state.cache, "result")
    if (audit := state.audit) is None:
        return
    yield _gauge("audit_queue_records", "Records that wait in memory for the database.", audit.queue_records)
    yield _gauge("audit_queue_bytes", "Bytes that they take.", audit.queue_bytes)
    yield _gauge("audit_spilled_bytes", "Bytes on the disk that the database has not taken.", audit.spilled_bytes)
    yield _gauge("audit_flush_seconds", "How long the last batch took.", audit.flush_seconds)
    yield _counter("audit_rows", "Rows that the database has taken.", audit.rows)
    # With zeros: of a series that begins with the first loss Prometheus sees no increase.
    yield _counter("audit_dropped", "Records that were lost.", {**dict.fromkeys(LOSSES, 0), **audit.dropped}, "reason")


def _gauge(name: str, text: str, values: Any, *labels: str) -> Metric:
    return _filled(GaugeMetricFamily(f"xmcp_{name}", text, labels=labels), values)


def _counter(name: str, text: str, values: Any, *labels: str) -> Metric:
    return _filled(CounterMetricFamily(f"xmcp_{name}", text, labels=labels), values)


def _filled(family: Any, values: Any) -> Metric:
    """Add a value, or values by their only label."""
    for label, value in values.items() if isinstance(values, dict) else [(None, values)]:
        family.add_metric([] if label is None else [label], float(value))
    metric: Metric = family
    return metric
