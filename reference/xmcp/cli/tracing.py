"""The SDK of OpenTelemetry for a program of ours, if the environment asks for it by the usual variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_ASKING = ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class CannotTrace(ValueError):
    """The environment asks for traces in a way that there is not; the message says what to change."""


@contextmanager
def tracing(service: str, environment: Mapping[str, str]) -> Iterator[None]:
    """Export the spans of the block, where `OTEL_TRACES_EXPORTER` or the address of a collector is set.

    `service` is the name of the program, unless `OTEL_SERVICE_NAME` says another. The SDK reads the other variables.

    Raises:
        CannotTrace: the exporter is none of `otlp`, `console`, `none`; the protocol is not HTTP; a package is missing.
    """
    kind = environment.get("OTEL_TRACES_EXPORTER") or "otlp"
    asked = any(environment.get(name) for name in _ASKING)
    if not asked or kind == "none" or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        yield
        return
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        exporter = _exporter(kind, environment)
    except ModuleNotFoundError as error:
        raise CannotTrace('The environment asks for traces (OTEL_...): pip install "xmcp[otel]".') from error
    named = {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": service}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        provider.shutdown()


def _exporter(kind: str, environment: Mapping[str, str]) -> Any:
    if kind == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    if kind != "otlp":
        raise CannotTrace(f"OTEL_TRACES_EXPORTER is {kind!r}. There are: otlp, console, none.")
    protocols = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((value for name in protocols if (value := environment.get(name))), "http/protobuf")
    if protocol != "http/protobuf":
        raise CannotTrace(f"Traces are exported by http/protobuf, not by {protocol!r}: set {protocols[1]} to it.")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()
