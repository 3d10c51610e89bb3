"""Checks of `server_populated` (section 2.7), by its value alone."""

from __future__ import annotations

from typing import Any

from xmcp_conformance.core.checks import OF_DOCUMENTS, Observations, check
from xmcp_conformance.core.observation import either
from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.reader.schemas import faults


@check("XMCP-RSP-095", "XMCP-RSP-096", profile=OF_DOCUMENTS)
def observations(value: Any) -> Observations:
    """Judge the JSON value in `server_populated`; `where` is a path."""
    fault = next(faults("server_populated", value), None)
    yield either(
        "XMCP-RSP-095",
        fault is None,
        str(fault),
        "an object as schemas/server_populated.schema.json says",
        where=fault.path if fault else None,
    )
    if fault is not None:
        return
    values, redacted = value.get("values"), value.get("redacted")
    if values is not None and redacted is not None:
        index = next((index for index, name in enumerate(redacted) if name in values), None)
        yield either(
            "XMCP-RSP-096",
            index is None,
            f"`{quoted(redacted[index])}` in `values` and in `redacted`" if index is not None else "",
            "each parameter in one of the two",
            where=("redacted", index) if index is not None else None,
        )
