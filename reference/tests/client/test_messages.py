"""A message of a server is read as the SDK reads it, whatever its size, and a large one in pieces and in a thread."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mcp_types import jsonrpc_message_adapter
from pydantic_core import from_json
from support.fuzzing import ANY_JSON, as_bytes, damaged_bytes, fuzzing, nested
from support.growth import is_linear

from xmcp.chat import json_pieces
from xmcp.chat.json_pieces import MAX_OPEN, PIECE, SPARSE_BYTES, SPARSE_VALUES, decode_json
from xmcp.client.servers import messages
from xmcp.client.servers.messages import INLINE_BYTES, read_message
from xmcp.providers.formats import chat_completions

# ---- JSON in pieces ----

SEPARATORS = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " :\t")])
TEXTS = st.tuples(ANY_JSON, SEPARATORS, st.booleans()).map(
    lambda drawn: json.dumps(drawn[0], separators=drawn[1], ensure_ascii=drawn[2]).encode(errors="surrogatepass")
)


def outcome(read: Callable[[bytes], Any], data: bytes) -> str:
    """Return what is made of `data`: `repr` tells -0.0 from 0, 1.0 from 1, and one order of members from another."""
    try:
        return repr(read(data))
    except ValueError:
        return "refused"


@given(TEXTS | damaged_bytes(TEXTS), st.integers(2, 40))
@example(b'{"a":1,"a":2,"b":[1,[2,[3,[4,[5,[6,[7,[8]]]]]]],9]}', 4)
@example(b"[1,2, ]", 4)
@example(b"[ ,1]", 2)
@example(b"[[1,2] 3]", 3)
@example(b"[[1,2}]", 3)
@example(b'{"a":1,}', 5)
@example(b'["' + b'\\"' * 30 + b'"]', 8)
@example(b'["x' + b"\\ud83d\\ude00" * 9 + b'"]', 8)
@example(b'["' + b"\\\\ud83d" * 3 + b"\\ud83d\\ude00" * 3 + b'"]', 3)
@example(rb'["aa\\ud83d\ud83d\ude00"]', 3)
@example(b'["' + b"\\ud83d" * 9 + b'"]', 4)
@example(b'["' + b"\\ud83d\\ude0" * 2 + b'"]', 3)
@example(b'["\\u12"]', 2)
@example('["é😀xé😀"]'.encode(), 2)
@example(b'["' + b"\x80" * 30 + b'"]', 4)
@example(b"[-0,1e400,NaN,-Infinity,12345678901234567890123]", 8)
@example(b"[" + b" " * 50 + b"]", 8)
@example(b"[1]]", 2)
@fuzzing(300)
def test_a_text_in_pieces_has_the_value_that_it_has_as_a_whole(data: bytes, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_pieces, "PIECE", piece)
        patch.setattr(json_pieces, "SPARSE_VALUES", -1)
        assert outcome(decode_json, data) == outcome(from_json, data)


HALVES = st.lists(
    st.sampled_from([rb"\ud83d", rb"\ude00", rb"\uD83D", rb"\\", rb"\u0041", b"u", b"d83d", "é😀".encode()]),
    max_size=12,
)


@given(HALVES, st.integers(1, 20))
@example([rb"\ud83d", rb"\ud83d", rb"\ud83d", rb"\ude00"], 3)
@example([rb"\\", b"u", b"d83d", rb"\ude00"], 7)
@fuzzing(300)
def test_a_string_of_halves_of_pairs_in_pieces_has_the_value_that_it_has_as_a_whole(
    parts: list[bytes], piece: int
) -> None:
    data = b'["%b"]' % b"".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_pieces, "PIECE", piece)
        patch.setattr(json_pieces, "SPARSE_VALUES", -1)
        assert decode_json(data, json.loads) == json.loads(data)
        assert decode_json(data, chat_completions._loads) == chat_completions._loads(data)


def test_a_text_that_is_nested_too_deeply_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_pieces, "SPARSE_VALUES", -1)
    for depth, accepted in ((MAX_OPEN - 1, True), (MAX_OPEN + 20, False)):
        text = b'[%b,"%b"]' % (as_bytes(nested(depth - 1)), b"x" * PIECE)
        assert (outcome(decode_json, text) != "refused") is accepted, depth


CUTS = pytest.mark.skipif(not json_pieces.CAN_CUT, reason="before Python 3.11.5 a text is decoded in one piece")


def test_this_python_decodes_in_pieces_if_its_possessive_quantifiers_are_right() -> None:
    assert json_pieces.CAN_CUT is (sys.version_info >= (3, 11, 5))


def test_where_they_are_wrong_a_large_text_is_decoded_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_pieces, "CAN_CUT", False)
    monkeypatch.setattr(json_pieces, "_Decoder", None)
    text = b"[" + b"1," * PIECE + b"1]"
    assert decode_json(text) == [1] * (PIECE + 1)


MIB = 1024 * 1024
LARGE: dict[str, Callable[[int], bytes]] = {
    "numbers": lambda size: b"[" + b"1," * size + b"1]",
    "texts": lambda size: b"[" + b'"a",' * (size // 4) + b"1]",
    "names": lambda size: b"{" + b",".join(b'"%d":1' % n for n in range(size // 10)) + b"}",
    "rows": lambda size: b"[" + b'{"id":1,"name":"a, \\"b\\" [c]","tags":["x",[1]]},' * (size // 50) + b"1]",
    "deep": lambda size: b"[" + b"[[[[[[[[1]]]]]]]]," * (size // 50) + b"1]",
    "deep and long": lambda size: (
        b"[" + (b"[1," * 180 + b'"' + b"x" * PIECE + b'"' + b"]" * 180 + b",") * (size // (2 * PIECE)) + b"1]"
    ),
    "one text": lambda size: b'["' + b'\\"' * (size // 2) + b'"]',
    "one text of pairs": lambda size: b'["x' + b"\\ud83d\\ude00" * (size // 12) + b'"]',
    "one text of characters": lambda size: b'["x' + "😀".encode() * (size // 4) + b'"]',
    "white space": lambda size: b"[" + b" " * size + b"1]",
    "brackets in texts": lambda size: b"[" + b'"[{",' * (size // 5) + b"1]",
}
"""JSON texts of about a size in bytes."""


@CUTS
@pytest.mark.parametrize("name", LARGE)
def test_a_large_text_is_read_in_linear_time_and_in_small_pieces(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_pieces, "SPARSE_VALUES", -1)
    data = LARGE[name](MIB)
    assert decode_json(data) == from_json(data)
    assert max(sizes_of_pieces(data)) <= PIECE + 20
    assert is_linear(lambda times: partial(decode_json, LARGE[name](times * MIB // 4)))


def sizes_of_pieces(data: bytes) -> list[int]:
    sizes: list[int] = []

    def noted(piece: bytes) -> Any:
        sizes.append(len(piece))
        return from_json(piece)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_pieces, "from_json", noted)
        decode_json(data)
    return sizes


def test_a_text_of_few_long_strings_is_decoded_at_once() -> None:
    """A document of 200 kB came twice in a message, and took 9 ms in pieces in the place of 0.04."""
    data = b'{"content":["%b"],"structuredContent":{"result":"%b"}}' % (b"a, b " * 10_000, b"x" * MIB)
    assert sizes_of_pieces(data) == [len(data)]


@CUTS
@pytest.mark.parametrize(
    ("unit", "values"),
    [(b"1,", 1), (b"[],", 2), (b'{"":1},', 3), (b"[[[[[[[[1]]]]]]]],", 9), (b'{"":{"":{"":1}}},', 7)],
)
def test_a_text_of_many_values_or_bytes_is_never_decoded_at_once(unit: bytes, values: int) -> None:
    many = b"[" + unit * (SPARSE_VALUES // values + 1) + b'"' + b"x" * PIECE + b'"]'
    large = b"[" + unit + b'"' + b"x" * SPARSE_BYTES + b'"]'
    assert len(sizes_of_pieces(many)) > 1
    assert len(sizes_of_pieces(large)) > 1


# ---- messages ----

MESSAGES: dict[str, bytes] = {
    "answer": b'{"jsonrpc":"2.0","id":7,"result":{"a":[1,2.5,null],"b":{"c":"\xc3\xa9"}}}',
    "error": b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no","data":[1]}}',
    "error whose code is a text": b'{"jsonrpc":"2.0","id":"x","error":{"code":"-1","message":"no"}}',
    "request": b'{"jsonrpc":"2.0","id":"7","method":"ping","params":{"_meta":{}}}',
    "notification": b'{"jsonrpc":"2.0","method":"notifications/message","more":1}',
    "answer and error": b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"no"}}',
    "request and answer": b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}',
    "two ids": b'{"jsonrpc":"2.0","id":1,"id":2,"result":{}}',
    "two results": b'{"jsonrpc":"2.0","id":1,"result":{"a":1},"result":{"b":1}}',
    "large integer": b'{"jsonrpc":"2.0","id":1,"result":{"a":123456789012345678901234567890}}',
    "no number of JSON": b'{"jsonrpc":"2.0","id":1,"result":{"a":[NaN,Infinity,1e999]}}',
    "boolean id": b'{"jsonrpc":"2.0","id":true,"result":{}}',
    "fractional id": b'{"jsonrpc":"2.0","id":1.0,"result":{}}',
    "other version": b'{"jsonrpc":"1.0","id":1,"result":{}}',
    "batch": b'[{"jsonrpc":"2.0","id":1,"result":{}}]',
    "result that is no object": b'{"jsonrpc":"2.0","id":1,"result":[]}',
    "half a surrogate pair": b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800"}}',
    "no UTF-8": b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}}',
    "cut off": b'{"jsonrpc":"2.0","id":1,"result":{',
    "nothing": b"",
    "byte order mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"result":{}}',
    "nested": b'{"jsonrpc":"2.0","id":1,"result":{"a":' + b"[" * 180 + b"]" * 180 + b"}}",
}


def made_of(message: Any) -> str:
    return f"{type(message).__name__} {message!r}"


async def read(data: bytes | str) -> str:
    try:
        return made_of((await read_message(data)).message)
    except ValueError:
        return "refused"


@pytest.mark.parametrize("inline", [INLINE_BYTES, 0])
@pytest.mark.parametrize("name", MESSAGES)
async def test_a_message_is_read_as_the_sdk_reads_it(monkeypatch: Any, name: str, inline: int) -> None:
    monkeypatch.setattr(messages, "INLINE_BYTES", inline)
    if not inline:
        monkeypatch.setattr(json_pieces, "PIECE", 16)
    data = MESSAGES[name]
    expected = outcome(lambda text: made_of(jsonrpc_message_adapter.validate_json(text, by_name=False)), data)
    assert await read(data) == (expected if expected == "refused" else expected.strip("'\""))
    if name != "no UTF-8":
        assert await read(data.decode()) == await read(data)


@pytest.mark.parametrize("size", [100, 2 * INLINE_BYTES])
async def test_a_large_message_is_decoded_in_another_thread_and_a_small_one_without(
    monkeypatch: Any, size: int
) -> None:
    threads: list[int] = []

    def noted(data: bytes) -> Any:
        threads.append(threading.get_ident())
        return decode_json(data)

    monkeypatch.setattr(messages, "decode_json", noted)
    monkeypatch.setattr(messages, "from_json", noted)
    await read_message(as_bytes({"jsonrpc": "2.0", "id": 1, "result": {"a": "x" * size}}))
    assert (threads == [threading.get_ident()]) is (size < INLINE_BYTES)


async def test_one_thread_reads_the_large_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread of a pool would keep a heap of the size of the largest message that it has read."""
    threads = set()
    decode = messages.decode_json

    def noted(data: bytes) -> Any:
        threads.add(threading.current_thread())
        return decode(data)

    monkeypatch.setattr(messages, "decode_json", noted)
    large = as_bytes({"jsonrpc": "2.0", "id": 1, "result": {"a": "x" * INLINE_BYTES}})
    await asyncio.gather(*(read_message(large) for _ in range(20)))
    assert len(threads) == 1
    assert threading.current_thread() not in threads
