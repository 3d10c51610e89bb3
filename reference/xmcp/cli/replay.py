"""`xmcp replay`: make the call again with which a server broke a sentence, and show its answer as it came."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.text import Text

from xmcp.cli.numbers import Number
from xmcp_conformance.core.past_call import PastCall
from xmcp_conformance.core.plain_json import plain
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.untrusted_text import printable
from xmcp_conformance.profiles.server.exchange import Exchange
from xmcp_conformance.profiles.server.peers import PeerUnavailable
from xmcp_conformance.profiles.server.replay import replay as make_again
from xmcp_conformance.reports.past_faults import PastFault, past_faults

from . import sdk_log
from .named_servers import ServerCommand, server_named
from .report_files import STANDARD_OUTPUT, json_option, write_json
from .server_access import Access, access_options
from .suggestions import did_you_mean

_UNREACHABLE: Final = 3
_SECONDS: Final = Number(0.1, 300)


@click.command(cls=ServerCommand)
@click.argument("report", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("target", nargs=-1, required=True, metavar="SERVER")
@click.option("--id", "requirement", metavar="ID", help="The sentence that was broken; default: the first.")
@click.option("--tool", metavar="NAME", help="The tool that broke it; default: the first.")
@access_options
@click.option("--connect-timeout", type=_SECONDS, default=30.0, show_default=True, help="Seconds.")
@click.option("--call-timeout", type=_SECONDS, default=30.0, show_default=True, help="Seconds.")
@json_option("call and the answer")
def replay(
    report: Path,
    target: tuple[str, ...],
    requirement: str | None,
    tool: str | None,
    *,
    access: Access,
    connect_timeout: float,
    call_timeout: float,
    json_path: Path | None,
) -> None:
    """Make a call of an earlier check again, and show the answer as it came.

    REPORT is what `xmcp check server --json REPORT` wrote. The call is made as the client that made it then: in the
    same version of MCP, with the same declaration.

    Exit codes: 0 answered, 2 usage, or no such fault in the report, 3 the server cannot be reached.
    """
    fault = _chosen(report, requirement, tool)
    if fault.call is None:
        raise click.UsageError(
            f"{fault.requirement} was shown by `{printable(fault.said) or 'the list of tools'}`, which the report does "
            "not keep as a call; `xmcp check server --transcript FILE` keeps every call."
        )
    (peer,) = access.of([server_named(*target)])
    sdk_log.silence()
    try:
        exchange = asyncio.run(make_again(peer, fault.call, connect_timeout=connect_timeout, call_timeout=call_timeout))
    except PeerUnavailable as error:
        click.echo(f"xmcp replay: {error}", err=True)
        sys.exit(_UNREACHABLE)
    if json_path is not None:
        write_json(json_path, _json(fault.call, exchange))
    if json_path != STANDARD_OUTPUT:
        _show(fault, fault.call, exchange, Console(highlight=False))


def _chosen(path: Path, requirement: str | None, tool: str | None) -> PastFault:
    """Return the fault that is meant.

    Raises:
        click.UsageError: the file is no report, or it has no such fault.
    """
    try:
        faults = past_faults(path)
    except (ValueError, OSError) as error:
        raise click.BadParameter(str(error), param_hint="REPORT") from error
    if not faults:
        raise click.UsageError("Nothing is broken in this report.")
    ids = list(dict.fromkeys(one.requirement for one in faults))
    shown = next((one.requirement for one in faults if one.call is not None), ids[0])
    wanted = shown if requirement is None else f"XMCP-{requirement.upper().removeprefix('XMCP-')}"
    if wanted not in ids:
        hint = did_you_mean(wanted, ids)
        raise click.BadParameter(
            f"`{printable(wanted)}` is not broken there.{hint} Broken: {', '.join(ids)}", param_hint="--id"
        )
    of_it = [one for one in faults if one.requirement == wanted]
    found = [one for one in of_it if tool is None or one.tool == tool]
    if not found:
        tools = ", ".join(printable(one.tool) or "(the server itself)" for one in of_it)
        raise click.BadParameter(f"`{printable(tool or '')}` did not break {wanted}; {tools} did", param_hint="--tool")
    return next((one for one in found if one.call is not None), found[0])


def _json(call: PastCall, exchange: Exchange) -> dict[str, Any]:
    answer = {"result": exchange.result} if exchange.result is not None else {"failed": exchange.failed}
    request = {"name": call.name, "arguments": call.arguments}
    return plain({"protocol_version": call.protocol_version, "client": call.client, "request": request, **answer})  # type: ignore[no-any-return]


def _show(fault: PastFault, call: PastCall, exchange: Exchange, console: Console) -> None:
    def heading(text: str) -> None:
        console.print(Text(text, style="bold"), soft_wrap=True)

    def block(text: str) -> None:
        for line in text.split("\n"):
            console.print(Text(f"  {printable(line)}"), soft_wrap=True)

    known = registry().requirements.get(fault.requirement)
    heading(f"{fault.requirement}: {known.quote if known else ''}")
    block(f"seen      {fault.seen}\nexpected  {fault.expected}")
    heading(f"The call, as a {call.client} client in {call.protocol_version}:")
    block(json.dumps({"name": call.name, "arguments": call.arguments}, indent=2, ensure_ascii=False))
    if exchange.result is None:
        heading(f"No result: {printable(exchange.failed)}.")
        return
    heading(f"The result, after {exchange.seconds * 1000:.0f} ms:")
    block(json.dumps(plain(exchange.result), indent=2, ensure_ascii=False))
    if exchange.text is not None:
        heading("The text of its first block:")
        block(exchange.text)
