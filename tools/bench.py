"""Measure XMCP against named floors, interleaved in one run, as ratios: milliseconds are for the curious.

    uv run nox -s bench                 everything
    uv run nox -s bench -- --quick      fewer rounds

decode  pyexpat with DOCTYPE ban, buffered text, and pydantic_core.from_json of the display
encode  saxutils.escape of the text and json.dumps of the display
call    the same tool on a bare FastMCP server, in memory, one after the other
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Callable
from xml.parsers import expat
from xml.sax.saxutils import escape

from pydantic_core import from_json

from xmcp import XMCP, DisplayEnvelope, ToolResponse

Work = Callable[[], object]


def response_of(size: int) -> ToolResponse:
    """A response of about `size` bytes: half text with some markup in it, half a table."""
    line = "Revenue rose by 4 % & costs fell; see <b>table</b> for the regions of the year.\n"
    rows = [
        {"region": "EMEA", "month": f"2026-{n % 12 + 1:02}", "sales": n * 17 % 1000}
        for n in range(max(1, size // 2 // 48))
    ]
    return ToolResponse(
        "report", line * max(1, size // 2 // len(line)), display=DisplayEnvelope(type="table", payload=rows)
    )


def floor_decode(document: bytes) -> tuple[str, object]:
    """What any decoder has to do: parse, collect, read the JSON."""
    pieces: dict[str, list[str]] = {"llm_output": [], "display": []}
    current: list[str] = []

    def refuse(*_: object) -> None:
        raise ValueError("a DOCTYPE")

    def start(name: str, _attributes: dict[str, str]) -> None:
        nonlocal current
        current = pieces.get(name, [])

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.CharacterDataHandler = lambda text: current.append(text)
    parser.Parse(document, True)
    return "".join(pieces["llm_output"]), from_json("".join(pieces["display"]))


def floor_encode(text: str, display: object) -> str:
    """What any encoder has to do: escape, dump."""
    return (
        f'<tool_response tool_name="report"><llm_output>{escape(text)}</llm_output>'
        f"<display>{json.dumps(display)}</display></tool_response>"
    )


def ratio(ours: Work, floor: Work, rounds: int, seconds: float = 0.05) -> tuple[float, float]:
    """(median of ours / floor over the rounds, our median in ms); the two alternate within each round."""

    def timed(work: Work, times: int) -> float:
        begin = time.perf_counter()
        for _ in range(times):
            work()
        return (time.perf_counter() - begin) / times

    times = max(1, int(seconds / max(timed(floor, 1), 1e-7)))
    pairs = [(timed(ours, times), timed(floor, times)) for _ in range(rounds)]
    return statistics.median(a / b for a, b in pairs), statistics.median(a for a, _ in pairs) * 1000


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


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="5 rounds instead of 15")
    rounds = 5 if parser.parse_args().quick else 15
    print(f"{'work':<22}{'x floor':>9}{'ms':>10}")
    for size in (1_000, 100_000, 4_000_000):
        response = response_of(size)
        text, display = response.llm_output or "", response.display.to_dict() if response.display else None
        document = response.to_xml().encode()
        name = f"{size // 1000:,} kB"
        for work, ours, floor in (
            ("decode", lambda d=document: ToolResponse.from_xml(d), lambda d=document: floor_decode(d)),
            ("encode", response.to_xml, lambda t=text, d=display: floor_encode(t, d)),
        ):
            times, ms = ratio(ours, floor, rounds if size < 1_000_000 else 3)
            print(f"{work + ' ' + name:<22}{times:>9.2f}{ms:>10.3f}", flush=True)
    times, ms = asyncio.run(call_ratio(rounds))
    print(f"{'call in memory':<22}{times:>9.2f}{ms:>10.3f}")


if __name__ == "__main__":
    main()
