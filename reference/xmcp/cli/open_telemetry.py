"""The SDK of OpenTelemetry for a program of ours, if the environment asks for it by the usual variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final

_LAST_EXPORT_MS: Final = 5_000
"""How long a collector that does not answer can hold up the end of the program, for metrics."""


class CannotExport(ValueError):
    """The environment asks for an export in a way that there is not; the message says what to change."""


@contextmanager
def exporting(service: str, environment: Mapping[str, str]) -> Iterator[None]:
    """Export the spans and metrics of the block, where the environment says so.

    It does for each of them with `OTEL_TRACES_EXPORTER` and `OTEL_METRICS_EXPORTER`, or the address of a collector.
    `service` is the name of the program, unless `OTEL_SERVICE_NAME` says another. The SDK reads the other variables.

    Raises:
        CannotExport: an exporter is none of `otlp`, `console`, `none`; the protocol is not HTTP; a package is missing.
    """
    chosen = {signal: _chosen(signal, environment) for signal in ("TRACES", "METRICS")}
    with ExitStack() as exits:
        try:
            if chosen["TRACES"] is not None:
                exits.callback(_export_spans(service, environment, chosen["TRACES"]).shutdown)
            if chosen["METRICS"] is not None:
                exits.callback(
                    _export_metrics(service, environment, chosen["METRICS"]).shutdown, timeout_millis=_LAST_EXPORT_MS
                )
        except ModuleNotFoundError as error:
            raise CannotExport(
                'The environment asks for OpenTelemetry (OTEL_...): pip install "xmcp[otel]".'
            ) from error
        yield


def _chosen(signal: str, environment: Mapping[str, str]) -> str | None:
    """Return the exporter of a signal; `None` if the environment asks for none.

    Raises:
        CannotExport: there is no such exporter.
    """
    asking = (f"OTEL_{signal}_EXPORTER", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    kind = environment.get(asking[0]) or "otlp"
    disabled = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if disabled or kind == "none" or not any(environment.get(name) for name in asking):
        return None
    if kind == "console":
        return kind
    if kind != "otlp":
        raise CannotExport(f"{asking[0]} is {kind!r}. There are: otlp, console, none.")
    protocols = (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((value for name in protocols if (value := environment.get(name))), "http/protobuf")
    if protocol != "http/protobuf":
        raise CannotExport(f"Exported is by http/protobuf, not by {protocol!r}: set {protocols[1]} to it.")
    return kind


def _export_spans(service: str, environment: Mapping[str, str], kind: str) -> Any:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

    exporter: SpanExporter
    if kind == "console":
        exporter = ConsoleSpanExporter()
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        exporter = OTLPSpanExporter()
    provider = TracerProvider(resource=_resource(service, environment))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return provider


def _export_metrics(service: str, environment: Mapping[str, str], kind: str) -> Any:
    from opentelemetry import metrics
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, MetricExporter, PeriodicExportingMetricReader

    exporter: MetricExporter
    if kind == "console":
        exporter = ConsoleMetricExporter()
    else:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        exporter = OTLPMetricExporter()
    provider = MeterProvider([PeriodicExportingMetricReader(exporter)], _resource(service, environment))
    metrics.set_meter_provider(provider)
    return provider


def _resource(service: str, environment: Mapping[str, str]) -> Any:
    from opentelemetry.sdk.resources import Resource

    return Resource.create({} if environment.get("OTEL_SERVICE_NAME") else {"service.name": service})
