"""Judge a miniature server in this process, and collect the events in a report. Shared by tests."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Final
from unittest.mock import patch

from xmcp_conformance.core.events import Event, Observed
from xmcp_conformance.profiles.server import blackbox
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.profiles.server.peers import InMemoryPeer, Peer
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_conformance.wrong.servers.direct_session import direct_connect
from xmcp_conformance.wrong.servers.miniature import Miniature


@dataclass
class KeptReport(ServerReport):
    """A report that keeps every observation."""

    observed: list[Observed] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """Take one more event into account."""
        super().add(event)
        if isinstance(event, Observed):
            self.observed.append(event)


_FEW_CALLS: Final = 40


async def report_on(
    server: Miniature | Peer, options: Options, *, whole: bool = False, direct: bool = False
) -> KeptReport:
    """Return the report on a miniature, or on any peer.

    Args:
        server: what is judged.
        options: how.
        whole: with as many calls as `xmcp check server` makes.
        direct: without the SDK of MCP between, which takes most of the time; of a miniature that MCP allows.
    """
    if options.calls is None and not whole:
        options = replace(options, calls=_FEW_CALLS)
    peer = InMemoryPeer(server.server()) if isinstance(server, Miniature) else server
    report = KeptReport()
    between = (
        patch.object(blackbox, "connect", direct_connect(server))
        if direct and isinstance(server, Miniature)
        else nullcontext()
    )
    with between:
        await blackbox.check([peer], options, report.add)
    return report
