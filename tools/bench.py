"""Measure XMCP against named floors, interleaved in one run, as ratios: milliseconds are for the curious.

    uv run nox -s bench                 everything
    uv run nox -s bench -- --quick      fewer rounds
    uv run nox -s bench -- wire         only the codec (bench_wire.py says what its floors are)
    uv run nox -s bench -- call         only tools/call: the same tool on a bare FastMCP server, in memory

A line that misses its bar ends in `!`. Nothing here fails a build: a busy machine is no fault of the code.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time

import bench_wire

from xmcp import XMCP


async def call_ratio(rounds: int, calls: int = 200) -> tuple[float, float]:
    """tools/call in memory: an XMCP server against a FastMCP server with the same tool."""
    from fastmcp import Client, FastMCP

    servers = {"xmcp": XMCP("bench"), "fastmcp": FastMCP("bench")}
    for server in servers.values():

        @server.tool
        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            return a + b

    async def timed(client: Client) -> float:
        begin = time.perf_counter()
        for n in range(calls):
            await client.call_tool("add", {"a": n, "b": 1})
        return (time.perf_counter() - begin) / calls

    async with Client(servers["xmcp"]) as ours, Client(servers["fastmcp"]) as floor:
        await timed(ours), await timed(floor)
        pairs = [(await timed(ours), await timed(floor)) for _ in range(rounds)]
    return statistics.median(a / b for a, b in pairs), statistics.median(a for a, _ in pairs) * 1000


def line(name: str, value: float, bar: float | None, rest: str = "") -> None:
    """One figure with its bar."""
    missed = " !" if bar is not None and value > bar else ""
    print(f"{name:<34}{value:>8.2f}{'' if bar is None else f'{bar:g}':>7}  {rest}{missed}", flush=True)


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


def call(rounds: int) -> None:
    """The server."""
    times, ms = asyncio.run(call_ratio(rounds))
    print(f"\n{'':<34}{'x floor':>8}{'bar':>7}")
    line("tools/call in memory", times, 1.3, f"{ms:10.3f} ms")


PARTS = {"wire": wire, "call": call}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", metavar="part", choices=[*PARTS, []], help="wire, call; all if none is named"
    )
    parser.add_argument("--quick", action="store_true", help="5 rounds instead of 15")
    arguments = parser.parse_args()
    for name in arguments.parts or PARTS:
        PARTS[name](5 if arguments.quick else 15)


if __name__ == "__main__":
    main()
