"""The decision from a value to a response, without a server: what it promises to its callers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmcp import DisplayEnvelope, ErrorInfo, ToolResponse
from xmcp.server.responses.returned_values import response_to

ENVELOPE = DisplayEnvelope(type="text", payload="seen")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
VALUES: st.SearchStrategy[Any] = JSON | st.sampled_from(
    [
        ENVELOPE,
        ENVELOPE.to_dict(),
        {"type": "table", "payload": 1},
        ToolResponse("x", llm_output="told"),
        ToolResponse("x", llm_output="told", display=ENVELOPE),
        ToolResponse("x", display=ENVELOPE),
        ToolResponse("x", error=ErrorInfo("CONFLICT", "changed"), display=ENVELOPE),
    ]
)


@given(VALUES, st.booleans(), st.booleans())
def test_every_value_becomes_a_writable_response_that_obeys_the_switch(
    value: Any, display_tool: bool, show_user: bool
) -> None:
    data = None if isinstance(value, ToolResponse | DisplayEnvelope) else value
    response = response_to("named", value, data, display_tool=display_tool, show_user=show_user)
    assert response.tool_name == "named"
    assert ToolResponse.from_xml(response.to_xml()).tool_name == "named"
    if display_tool and show_user:
        assert response.error is not None or (response.display is not None and response.llm_output is not None)
    elif display_tool:
        assert response.display is None


@pytest.mark.parametrize("show_user", [True, False])
def test_the_authors_response_is_not_changed_in_place(show_user: bool) -> None:
    given_response = ToolResponse("x", display=ENVELOPE)
    response_to("named", given_response, None, display_tool=True, show_user=show_user)
    assert (given_response.tool_name, given_response.llm_output, given_response.display) == ("x", None, ENVELOPE)
