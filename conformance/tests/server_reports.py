"""Judge a miniature server in this process, and collect the events in a report. Shared by tests."""

from __future__ import annotations

from xmcp_conformance.profiles.server.blackbox import check
from xmcp_conformance.profiles.server.call_plan import Options
from xmcp_conformance.profiles.server.server_under_test import InMemoryPeer, Peer
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_conformance.wrong.servers.miniature import Miniature


async def report_on(server: Miniature | Peer, options: Options) -> ServerReport:
    """Return the report on a miniature, or on any peer."""
    peer = InMemoryPeer(server.server()) if isinstance(server, Miniature) else server
    report = ServerReport()
    await check([peer], options, report.add)
    return report
