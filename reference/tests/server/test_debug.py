"""The switch for development: the class and the text of an unexpected exception beside its id, never a trace."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from xmcp import XMCP


def crashing(**options: Any) -> XMCP:
    mcp = XMCP("shop", **options)

    @mcp.tool
    def crashes() -> None:
        raise LookupError("row 7")

    return mcp


SAID = "shop sends the text of unexpected exceptions to callers: for development only."


@pytest.mark.parametrize(
    ("options", "variable", "shown"),
    [
        ({}, None, False),
        ({"debug": False}, "1", False),
        ({"debug": True}, None, True),
        ({}, "1", True),
        ({}, "0", False),
        ({"mask_error_details": True}, "1", False),
        ({"mask_error_details": False}, None, True),
    ],
)
async def test_only_a_server_that_says_so_at_its_start_sends_the_text(
    options: dict[str, Any],
    variable: str | None,
    shown: bool,
    call: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delenv("XMCP_DEBUG", raising=False)
    if variable is not None:
        monkeypatch.setenv("XMCP_DEBUG", variable)
    with caplog.at_level(logging.WARNING, "xmcp.server"):
        reply = await call(crashing(**options), "crashes")
    assert (SAID in caplog.messages) is shown
    assert (reply.message == "LookupError: row 7") is shown
    assert ("row 7" in reply.wire) is shown
    assert reply.meta["error_id"]
    assert "Traceback" not in reply.wire


def test_switches_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="debug=True and mask_error_details=True contradict each other"):
        XMCP(debug=True, mask_error_details=True)
