"""Measure XMCP against named floors, interleaved in one run, as ratios. Milliseconds are for orientation only.

    uv run nox -s bench                 everything
    uv run nox -s bench -- --quick      fewer rounds
    uv run nox -s bench -- wire         only the codec (wire.py describes its floors)
    uv run nox -s bench -- server       only tools/call, against a bare FastMCP server (server.py)
    uv run nox -s bench -- client       only AIClient, against a loop by hand on the raw SDKs (client.py)
    uv run nox -s bench -- providers    only the providers, against their vendors' raw SDKs (providers.py), and how long
                                        a very large event holds up the event loop (large_events.py)
    uv run nox -s bench -- audit        only the audit store of the gateway (audit.py)
    uv run nox -s bench -- gateway      only the gateway, against the AIClient that it serves (gateway.py), and what
                                        its metrics cost (gateway_metrics.py)
    uv run nox -s bench -- gateway_litellm   only the gateway against LiteLLM's proxy, for which the package index is
                                        needed once (gateway_litellm.py); not a part of everything
    uv run nox -s bench -- render       only the drawing of displays (render.py)
    uv run nox -s bench -- suite        only the suite: with the tool of section 1.7, against bare calls (fixture.py),
                                        and whole runs of `xmcp check server` (whole_check.py)

A line that misses its bar ends in `!`. No figure fails a build, because a busy machine can change any of them.
"""

from __future__ import annotations

import argparse
import asyncio

from tools.bench import (
    audit,
    client,
    fixture,
    gateway,
    gateway_litellm,
    gateway_metrics,
    large_events,
    providers,
    render,
    server,
    whole_check,
    wire,
)
from tools.bench.figure import Figure


def line(name: str, value: float, bar: float | None, rest: str = "", *, at_least: bool = False) -> None:
    """Print a value and its bar. The value must not be greater than the bar, or not less than it if `at_least`."""
    missed = " !" if bar is not None and (value < bar if at_least else value > bar) else ""
    print(f"{name:<34}{value:>8.2f}{'' if bar is None else f'{bar:g}':>7}  {rest}{missed}", flush=True)


def report(figure: Figure) -> None:
    """Print a figure of the server or the client."""
    line(f"{figure.name:<44}", figure.value, figure.bar, figure.rest, at_least=figure.at_least)


def measure_wire(rounds: int) -> None:
    """Measure the codec and print its figures."""
    print(f"{'':<34}{'x floor':>8}{'bar':>7}")
    for speed in wire.speeds(rounds):
        line(speed.name, speed.floor, 1.3, f"{speed.lxml:5.2f} x lxml  {speed.ms:10.3f} ms")
    print(f"\n{'decode: time for each byte':<34}{'ns':>8}")
    for name, nanoseconds in wire.growth(rounds).items():
        line(name, nanoseconds, None)
    print(f"\n{'decode 10 MB: peak memory':<34}{'x size':>8}{'bar':>7}")
    for name, peak in wire.peaks().items():
        line(name, peak, 4 if name == "xmcp" else None)
    print(f"\n{'hostile input of 1 MB and more':<34}{'x benign':>8}{'bar':>7}")
    for cost in wire.costs(max(3, rounds // 3)):
        line(cost.name, cost.benign, 2, f"{cost.floor:5.2f} x floor  {cost.outcome}")
    print(f"\n{'incremental decode':<34}{'x expat':>8}{'bar':>7}")
    for name, times in wire.pieces(max(3, rounds // 3)):
        line(name, times, None)


def measure_server(rounds: int) -> None:
    """Measure the server and print its figures."""

    async def measure() -> None:
        print(f"\n{'':<44}{'x floor':>8}{'bar':>7}")
        report(await server.in_memory(rounds))
        async for figure in server.over_http(rounds):
            report(figure)
        async for figure in server.of_5_mb(max(3, rounds // 2)):
            report(figure)

    asyncio.run(measure())


def measure_client(rounds: int) -> None:
    """Measure the client and print its figures."""
    print(f"\n{'':<44}{'x floor':>8}{'bar':>7}")
    for figure in client.figures(rounds):
        report(figure)


def measure_providers(rounds: int) -> None:
    """Measure the providers and print their figures."""
    print(f"\n{'':<44}{'x floor':>8}{'bar':>7}")
    for figure in providers.figures(rounds):
        report(figure)
    for figure in large_events.figures(max(3, rounds // 3)):
        report(figure)


def measure_audit(rounds: int) -> None:
    """Measure the audit store and print its figures."""
    print(f"\n{'':<44}{'value':>8}{'bar':>7}")
    for figure in audit.figures(max(rounds, 5)):
        report(figure)


def measure_gateway(rounds: int) -> None:
    """Measure the gateway and print its figures."""
    print(f"\n{'':<44}{'value':>8}{'bar':>7}")
    for figure in gateway.figures(rounds):
        report(figure)
    for figure in gateway_metrics.figures(max(rounds, 10)):
        report(figure)


def measure_gateway_litellm(rounds: int) -> None:
    """Measure the gateway against LiteLLM's proxy and print the figures."""
    print(f"\n{'':<44}{'ratio':>8}{'bar':>7}")
    for figure in gateway_litellm.figures(rounds):
        report(figure)


def measure_render(rounds: int) -> None:
    """Measure the drawing of displays and print its figures."""
    print(f"\n{'':<44}{'ms':>8}{'bar':>7}")
    for figure in render.figures(rounds):
        report(figure)


def measure_suite(rounds: int) -> None:
    """Measure the suite and print its figures."""
    print(f"\n{'':<44}{'x floor':>8}{'bar':>7}")
    for figure in fixture.figures(rounds):
        report(figure)
    for figure in whole_check.figures():
        report(figure)


PARTS = {
    "wire": measure_wire,
    "server": measure_server,
    "client": measure_client,
    "providers": measure_providers,
    "audit": measure_audit,
    "gateway": measure_gateway,
    "render": measure_render,
    "suite": measure_suite,
    "gateway_litellm": measure_gateway_litellm,
}
ASKED_FOR = frozenset({"gateway_litellm"})
"""The parts that only run when they are named."""


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", metavar="part", choices=[*PARTS, []], help=f"{', '.join(PARTS)}; default: all but the last"
    )
    parser.add_argument("--quick", action="store_true", help="5 rounds instead of 15")
    arguments = parser.parse_args()
    for name in arguments.parts or (name for name in PARTS if name not in ASKED_FOR):
        PARTS[name](5 if arguments.quick else 15)


if __name__ == "__main__":
    main()
