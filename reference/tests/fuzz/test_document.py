"""Whatever bytes are given as a document, they are a response that can be written again, or a `DecodeError`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.fuzzing import damaged_bytes, fuzzing

from xmcp.client.calls import context_budget
from xmcp.wire import DecodeError, Decoder, ToolResponse, decode, encode

VECTORS = Path(__file__).parents[3] / "conformance" / "vectors" / "wire.json"
DOCUMENTS = [
    vector["document"].encode("utf-8", "replace")
    for line in VECTORS.read_text(encoding="utf-8").splitlines()
    if '"direction": "decode"' in line
    and isinstance((vector := json.loads(line.removesuffix(","))).get("document"), str)
    and len(vector["document"]) < 4000
]
BYTES = st.tuples(damaged_bytes(st.sampled_from(DOCUMENTS)), st.integers(1, 40))
"""A document, and the size of the pieces in which it arrives the second time."""


def read(document: bytes, **options: Any) -> ToolResponse | None:
    try:
        return decode(document, **options)
    except DecodeError:
        return None


@given(BYTES)
@fuzzing(300)
def test_whatever_bytes_are_a_document_they_are_read_or_refused_alike_in_one_piece_and_in_many(
    given_bytes: tuple[bytes, int],
) -> None:
    document, size = given_bytes
    whole = read(document)
    decoder, pieces = Decoder(), None
    try:
        for start in range(0, len(document), size):
            decoder.feed(document[start : start + size])
        pieces = decoder.close()
    except DecodeError:
        pass
    assert pieces == whole
    kept = read(document, bad_display="drop")
    for response in (whole, kept):
        if response is not None and (response.llm_output, response.display, response.error) != (None, None, None):
            assert ToolResponse.from_xml(encode(response, check=False)) is not None
            context_budget.for_model(response)
