"""Every vector of conformance/vectors/wire.json, run against xmcp.wire by the suite's own judge."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest
from support.told_response import told

from xmcp.wire import DecodeError, Decoder, ErrorInfo, ToolResponse, decode, encode
from xmcp_conformance.profiles.codec.values_beyond_json import values_beyond_json
from xmcp_conformance.profiles.codec.vector_checks import BadDisplay, Illegal, Refused, Response, check_codec
from xmcp_conformance.profiles.codec.vectors import Vector, facts, load, pieces, untagged

ALL = load(Path(__file__).resolve().parents[3] / "conformance" / "vectors" / "wire.json")
OF_A_CODEC = [vector for vector in ALL if vector.direction in ("encode", "decode", "stream")]
WRITTEN = [vector for vector in OF_A_CODEC if vector.direction == "encode" and "refused" not in vector.expect]


class WireCodec:
    """xmcp.wire as the suite wants to see a codec."""

    def encode(self, response: Response, *, illegal: Illegal = "replace") -> str:
        try:
            error = ErrorInfo(**response["error"]) if "error" in response else None
            return encode(ToolResponse(**response | {"error": error}), illegal=illegal)
        except (ValueError, TypeError) as fault:
            raise Refused(why=str(fault)) from None

    def decode(self, document: str | bytes, *, bad_display: BadDisplay = "raise") -> tuple[Response, int]:
        try:
            return told(decode(document, bad_display=bad_display))
        except DecodeError as fault:
            raise Refused(fault.kind, str(fault)) from None

    def decode_pieces(
        self, arriving: Iterable[str | bytes], *, bad_display: BadDisplay = "raise"
    ) -> tuple[Response, int]:
        decoder = Decoder(bad_display=bad_display)
        try:
            for piece in arriving:
                decoder.feed(piece)
            return told(decoder.close())
        except DecodeError as fault:
            raise Refused(fault.kind, str(fault)) from None


class PiecesCodec(WireCodec):
    """The same, but what is read at once goes through the reader of pieces."""

    def decode(self, document: str | bytes, *, bad_display: BadDisplay = "raise") -> tuple[Response, int]:
        return self.decode_pieces(pieces(document, {"characters": 13 + len(document) // 64}), bad_display=bad_display)


@pytest.mark.parametrize("vector", OF_A_CODEC, ids=lambda vector: vector.id)
def test_the_wire_does_what_the_vector_says(vector: Vector) -> None:
    assert [str(one) for one in check_codec(vector, WireCodec()) if not one.ok] == []


def test_the_wire_writes_or_refuses_what_json_does_not_have() -> None:
    vectors = islice(values_beyond_json(20261121), 1_000)
    assert [str(one) for vector in vectors for one in check_codec(vector, WireCodec()) if not one.ok] == []


@pytest.mark.parametrize("vector", [v for v in ALL if v.direction == "decode"], ids=lambda vector: vector.id)
def test_what_is_read_in_pieces_is_what_is_read_at_once(vector: Vector) -> None:
    assert [str(one) for one in check_codec(vector, PiecesCodec()) if not one.ok] == []


@pytest.mark.parametrize("vector", WRITTEN, ids=lambda vector: vector.id)
def test_what_the_wire_writes_it_reads_back(vector: Vector) -> None:
    codec = WireCodec()
    document = codec.encode(untagged(vector.case["response"]))
    for form in (document, document.encode()):
        response, warnings = codec.decode(form)
        assert (facts(response), warnings) == (facts(vector.expected_response), 0)
