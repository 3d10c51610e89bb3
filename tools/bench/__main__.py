"""Measure XMCP against named floors, interleaved in one run, as ratios: milliseconds are for the curious.

    uv run nox -s bench                 everything
    uv run nox -s bench -- --quick      fewer rounds
    uv run nox -s bench -- wire         only the codec (bench_wire.py says what its floors are)
    uv run nox -s bench -- server       only tools/call, against a bare FastMCP server (bench_server.py)
    uv run nox -s bench -- client       only AIClient, against a loop by hand on the raw SDKs (bench_client.py)

A line that misses its bar ends in `!`. Nothing here fails a build: a busy machine is no fault of the code.
"""

from __future__ import annotations

import argparse
import asyncio

import bench_client
import bench_server
import bench_wire


def line(name: str, value: float, bar: float | None, rest: str = "", *, at_least: bool = False) -> None:
    """One figure with its bar, above which it misses, or below which if it is a bar for `at_least`."""
    missed = " !" if bar is not None and (value < bar if at_least else value > bar) else ""
    print(f"{name:<34}{value:>8.2f}{'' if bar is None else f'{bar:g}':>7}  {rest}{missed}", flush=True)


def report(figure: bench_server.Figure) -> None:
    """The same, of a figure of the server or the client."""
    line(f"{figure.name:<44}", figure.value, figure.bar, figure.rest, at_least=figure.at_least)


def wire(rounds: int) -> None:
    """The codec."""
    print(f"{'':<34}{'x floor':>8}{'bar':>7}")
    for speed in bench_wire.speeds(rounds):
        line(speed.name, speed.floor, 1.3, f"{speed.lxml:5.2f} x lxml  {speed.ms:10.3f} ms")
    print(f"\n{'decode: time for each byte':<34}{'ns':>8}")
    for name, nanoseconds in bench_wire.growth(rounds).items():
        line(name, nanoseconds, None)
    print(f"\n{'decode 10 MB: peak memory':<34}{'x size':>8}{'bar':>7}")
    for name, peak in bench_wire.peaks().items():
        line(name, peak, 4 if name == "xmcp" else None)
    print(f"\n{'hostile input of 1 MB and more':<34}{'x benign':>8}{'bar':>7}")
    for cost in bench_wire.costs(max(3, rounds // 3)):
        line(cost.name, cost.benign, 2, f"{cost.floor:5.2f} x floor  {cost.outcome}")
    print(f"\n{'incremental decode':<34}{'x expat':>8}{'bar':>7}")
    for name, cost in bench_wire.pieces(max(3, rounds // 3)):
        line(name, cost, None)


def server(rounds: int) -> None:
    """The server."""

    async def measure() -> None:
        print(f"\n{'':<44}{'x floor':>8}{'bar':>7}")
        report(await bench_server.in_memory(rounds))
        async for figure in bench_server.over_http(rounds):
            report(figure)
        async for figure in bench_server.of_5_mb(max(3, rounds // 2)):
            report(figure)

    asyncio.run(measure())


def client(rounds: int) -> None:
    """The client."""
    print(f"\n{'':<44}{'x floor':>8}{'bar':>7}")
    for figure in bench_client.figures(rounds):
        report(figure)


PARTS = {"wire": wire, "server": server, "client": client}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", metavar="part", choices=[*PARTS, []], help="wire, server, client; all if none is named"
    )
    parser.add_argument("--quick", action="store_true", help="5 rounds instead of 15")
    arguments = parser.parse_args()
    for name in arguments.parts or PARTS:
        PARTS[name](5 if arguments.quick else 15)


if __name__ == "__main__":
    main()
