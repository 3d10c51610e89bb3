"""The rules for emitters apply to the JSON that would be sent, for all Python values that have this JSON."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from typing import Any

import pytest

from xmcp.wire import DecodeError, Decoder, DisplayEnvelope, ErrorInfo, ToolResponse, decode, encode


@dataclasses.dataclass
class Remote:
    url: str = "https://example.com"


class Code(str, enum.Enum):  # noqa: UP042 - as many people still write it
    GONE = "NOT_FOUND"


class Category(str, enum.Enum):  # noqa: UP042
    GONE = "not_found"


class Wait(int, enum.Enum):
    LONG = 5


class Mark(enum.Enum):
    IMAGE = "image"


def shown(type_: str, payload: Any, **members: Any) -> ToolResponse:
    return ToolResponse("t", "x", DisplayEnvelope(type=type_, payload=payload, alt="a", **members))


def failed(**meta: Any) -> ToolResponse:
    return ToolResponse("t", error=ErrorInfo("X", "m", meta=meta))


LOOP: dict[str, Any] = {}
LOOP["a"] = LOOP
DEEP: Any = {}
for _ in range(3000):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize(
    ("response", "sentence"),
    [
        (shown("chart", {"mark": "bar", "data": Remote()}), "XMCP-DSP-014"),
        (shown("chart", {"mark": Mark.IMAGE}), "XMCP-DSP-014"),
        (shown("chart", {"layer": ({"mark": "bar", "href": 1},)}), "XMCP-DSP-014"),
        (shown("chart", LOOP), "levels"),
        (shown("chart", DEEP), "levels"),
        (shown("text", "x", meta={"colour": 1}), "XMCP-DSP-006"),
        (shown("x-xmcp-reference", {"type": "table", "bytes": 1}), "XMCP-DSP-043"),
        (failed(limit={"scope": None}), "XMCP-ERR-007"),
        (failed(fields=[{"pointer": "", "message": "m", "reason": None}]), "XMCP-ERR-007"),
        (failed(help=[{"url": "https://x", "title": None}]), "XMCP-ERR-007"),
        (failed(error_id=float("nan")), "XMCP-ERR-007"),
        (failed(colour=1), "XMCP-ERR-007"),
        (ToolResponse("t", "x", server_populated={"values": {1: 2}, "redacted": ["1"]}), "XMCP-RSP-096"),
        (ToolResponse("t", "x", server_populated={"redacted": ["a", "a"]}), "XMCP-RSP-095"),
        (ToolResponse("t", "x", server_populated={"redacted": ["\ud800", "\udfff"]}), "XMCP-RSP-095"),
        (ToolResponse("t", "x", server_populated={"overridden": [""]}), "XMCP-RSP-095"),
        (ToolResponse("t", "x", server_populated={"values": []}), "XMCP-RSP-095"),
    ],
)
def test_what_an_emitter_may_not_write_is_refused_by_its_sentence(response: ToolResponse, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        encode(response)


def test_what_a_reader_accepted_can_be_written_again_unjudged() -> None:
    error = '<error code="X" retry_after_ms="5">m<meta>{"odd":1}</meta></error>'
    response = decode(f'<tool_response tool_name="t">{error}</tool_response>')
    with pytest.raises(ValueError, match="XMCP-ERR-005"):
        encode(response)
    assert decode(encode(response, check=False)) == response


def test_a_member_of_an_enum_is_written_as_what_it_is() -> None:
    error = ErrorInfo(Code.GONE, "m", True, Wait.LONG, Category.GONE)
    assert 'code="NOT_FOUND" retryable="true" retry_after_ms="5" category="not_found"' in encode(
        ToolResponse("t", error=error)
    )


def test_envelopes_within_envelopes_within_groups_are_written() -> None:
    text = DisplayEnvelope(type="text", payload="x")
    inner = {"type": "group", "payload": [text], "fallback": text}
    back = decode(encode(shown("group", [inner]))).display
    plain = {"type": "text", "payload": "x"}
    assert back is not None
    assert back.to_dict()["payload"] == [{"type": "group", "payload": [plain], "fallback": plain}]


def test_a_group_that_contains_itself_is_no_envelope() -> None:
    group: dict[str, Any] = {"type": "group", "payload": []}
    group["payload"].append(group)
    with pytest.raises(ValueError, match="payload"):
        DisplayEnvelope.model_validate(group)


def test_a_time_of_day_in_utc_ends_in_z_and_an_offset_with_seconds_has_no_form() -> None:
    document = encode(shown("json", [datetime.time(12, tzinfo=datetime.UTC)]))
    assert '"12:00:00Z"' in document
    odd = datetime.timezone(datetime.timedelta(seconds=30))
    for value in (datetime.time(12, tzinfo=odd), datetime.datetime(2026, 1, 1, tzinfo=odd)):
        with pytest.raises(TypeError, match="offset has seconds"):
            encode(shown("json", [value]))


@pytest.mark.parametrize("size", [1000, 70_000, 10**7])
@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ('<!DOCTYPE a SYSTEM "' + "x" * 200_000 + '"><a/>', "DTD"),
        ("<!DOCTYPE " + "x" * 200_000 + "><a/>", "DTD"),
        (
            '<tool_response tool_name="t"><llm_output>&' + "a" * 200_000 + ";</llm_output></tool_response>",
            "NOT_WELL_FORMED",
        ),
        ("<!--" + "x" * 300_000 + '--><tool_response tool_name="t"><llm_output/></tool_response>', None),
    ],
)
def test_what_is_long_and_no_tag_is_not_called_one(document: str, kind: str | None, size: int) -> None:
    decoder = Decoder()
    try:
        for at in range(0, len(document), size):
            decoder.feed(document[at : at + size])
        decoder.close()
        found = None
    except DecodeError as fault:
        found = str(fault.kind)
    assert found == kind
