"""What happened: counters and histograms, which runs and requests move. All of it happens on the event loop.

The values of labels come from the configuration, from the tools of the servers, or from this program; never from a
caller, and none is a person, a session, a conversation or a key.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from itertools import product
from typing import Any, Final, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from xmcp.gateway.metrics.label_values import OTHER, LabelValues
from xmcp.gateway.runs.events import RunEvent
from xmcp.gateway.runs.record import RunRecord
from xmcp.gateway.runs.request import Surface
from xmcp_models.registry import ERROR_CODES

MAX_TENANTS: Final = 200
MAX_TOOLS: Final = 500

SECONDS: Final = tuple(0.01 * 2**power for power in range(14))
"""The upper ends of the buckets of every duration: 0.01 to 81.92, as OpenTelemetry has them for generative AI."""

_OPENING: Final = frozenset({"run.started", "step.started"})
"""Events that come before a model or a tool has done anything."""

_TOKENS: Final = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cached": "cached_tokens",
    "reasoning": "reasoning_tokens",
}
"""The kinds of tokens, and the members of a record of usage that count them."""

OUTCOMES: Final = ("finished", "error", "cancelled", "interrupted")

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Counts:
    """The instruments of one gateway, and the observer of its runs that moves them.

    Args:
        models: The models that it offers.
        registry: Gets the instruments.
    """

    def __init__(self, models: Collection[str], registry: CollectorRegistry) -> None:
        self._models = frozenset(models)
        self._tenants = LabelValues(MAX_TENANTS)
        self._tools = LabelValues(MAX_TOOLS)
        self._begun: dict[str, float] = {}
        """When the runs began that have shown nothing yet."""

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"xmcp_{name}", text, labels, registry=registry)

        def seconds(name: str, text: str, *labels: str) -> Histogram:
            return Histogram(f"xmcp_{name}_seconds", text, labels, registry=registry, buckets=SECONDS)

        self._requests = counter("http_requests", "Requests that were answered.", "route", "method", "status")
        self._request_seconds = seconds("http_request_duration", "Of a request, its stream included.", "route")
        self._streams = Gauge("xmcp_sse_streams", "Streams that are being sent.", registry=registry)
        self._dropped = counter("sse_dropped", "Streams that were not sent to their end.", "reason")
        self._refused = counter("quota_rejections", "Requests that were answered with 429.", "tenant", "kind")
        self._runs = counter("runs", "Chats that have ended.", "surface", "model", "outcome")
        self._run_seconds = seconds("run_duration", "Of a chat.", "surface", "model")
        self._first_event = seconds("time_to_first_event", "Until the model or a tool did something.", "model")
        self._calls = counter("tool_calls", "Calls of tools.", "server", "tool", "outcome")
        self._call_seconds = seconds("tool_duration", "Of a call of a tool, retries included.", "server", "tool")
        self._tokens = counter("tokens", "Tokens that models counted.", "model", "kind")
        self._cost = counter("cost_micros", "What models cost, in millionths of a US dollar.", "model")

        # A series that begins with its first event hides that event: Prometheus sees no increase of it.
        for labels in product(get_args(Surface), self._models, OUTCOMES):
            self._runs.labels(*labels)
        for reason in ("client_gone", "slow"):
            self._dropped.labels(reason)

    def accepted(self, run: RunRecord) -> None:
        """Note when a run began."""
        self._begun[run.id] = time.perf_counter()

    def event(self, run: RunRecord, event: RunEvent) -> None:
        """Count what an event says."""
        kind = event.type
        if kind not in _OPENING and (begun := self._begun.pop(run.id, None)) is not None and not event.is_last:
            self._first_event.labels(self._model(run)).observe(time.perf_counter() - begun)
        if kind == "tool.finished":
            self._called(event.data)
        elif kind == "usage":
            self._used(self._model(run), event.data)

    def ended(self, run: RunRecord) -> None:
        """Count a run."""
        self._begun.pop(run.id, None)
        surface, model = run.request.surface, self._model(run)
        self._runs.labels(surface, model, run.state.status).inc()
        self._run_seconds.labels(surface, model).observe((run.latency_ms or 0.0) / 1000)

    def request(self, route: str | None, method: str, status: int, seconds: float) -> None:
        """Count a request; `route` is the template of its path, `None` if there is none."""
        known = route or OTHER
        self._requests.labels(known, method if method in _METHODS else OTHER, status).inc()
        self._request_seconds.labels(known).observe(seconds)

    def refused(self, tenant: str | None, kind: str) -> None:
        """Count a request that was answered with 429; `kind` is the code of its error."""
        self._refused.labels(self._tenants.of(tenant or ""), kind).inc()

    def stream_begun(self) -> None:
        """Count a stream that is being sent."""
        self._streams.inc()

    def stream_ended(self, dropped: str | None) -> None:
        """Count it no longer; `dropped`: why it was not sent to its end, if it was not."""
        self._streams.dec()
        if dropped is not None:
            self._dropped.labels(dropped).inc()

    def _model(self, run: RunRecord) -> str:
        model = run.request.model
        return model if model in self._models else OTHER

    def _called(self, call: Any) -> None:
        server = call.get("server")
        # A name without a server is one that the model made up.
        where = (OTHER, OTHER) if server is None else (server, self._tools.of(call["tool"]))
        code = call["error"]["code"] if "error" in call else "cached" if call["cached"] else "ok"
        # A server writes the codes of its errors.
        outcome = code if "error" not in call or code in ERROR_CODES else OTHER
        self._calls.labels(*where, outcome).inc()
        self._call_seconds.labels(*where).observe(call["ms"] / 1000)

    def _used(self, model: str, usage: Any) -> None:
        for kind, member in _TOKENS.items():
            if number := usage.get(member):
                self._tokens.labels(model, kind).inc(number)
        if cost := usage.get("cost_usd"):
            self._cost.labels(model).inc(cost * 1_000_000)
