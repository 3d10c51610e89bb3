"""Values beyond JSON, each written alone: a right codec passes, and a wrong one is told the sentence that it breaks."""

from __future__ import annotations

import decimal
import json
import re
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
from codec_program import VALUES
from unseen_codecs.codecs import CODECS, _each

from xmcp_conformance.core.events import Observed
from xmcp_conformance.profiles.codec.check_command import _check_more
from xmcp_conformance.profiles.codec.command import CommandCodec
from xmcp_conformance.profiles.codec.values_beyond_json import values_beyond_json
from xmcp_conformance.profiles.codec.vector_checks import Codec, check_codec
from xmcp_conformance.wrong.codecs.miniature_codec import Channel, MiniatureCodec
from xmcp_conformance.wrong.codecs.wrong_codecs import PlainJsonWriter

SHORT = 40
"""So few vectors have all kinds in them."""


def broken(codec: Codec, count: int = 500, seed: int = 20261121) -> set[str]:
    vectors = islice(values_beyond_json(seed), count)
    seen = [one for vector in vectors for one in check_codec(vector, codec) if not one.ok]
    assert not [str(one) for one in seen if one.seen.startswith("it raised")]
    return {one.requirement for one in seen}


def changing(change: Callable[[Any], Any]) -> Codec:
    class Changing(MiniatureCodec):
        def _json(self, value: Any, channel: Channel) -> str:
            return super()._json(_each(value, change), channel)

    return Changing()


def decimals(write: Callable[[decimal.Decimal], str]) -> Codec:
    return changing(lambda value: write(value) if isinstance(value, decimal.Decimal) and value.is_finite() else value)


def test_the_vectors_are_the_same_for_a_seed_and_the_fixed_ones_come_first() -> None:
    first, again, other = (list(islice(values_beyond_json(seed), 400)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first[:90] == other[:90]
    assert {vector.id.split("-")[1] for vector in first[:SHORT]} == {vector.id.split("-")[1] for vector in first}
    assert len({vector.id for vector in first}) == len(first)


@pytest.mark.parametrize("seed", [1, 2, 20261121])
def test_a_right_codec_passes(seed: int) -> None:
    assert broken(MiniatureCodec(), 1_000, seed) == set()


@pytest.mark.parametrize("name", ["OddCdata", "OddReferences", "OddRefuser", "OddGenerous"])
def test_an_odd_codec_passes(name: str) -> None:
    assert broken(CODECS[name](), 300) == set()


@pytest.mark.parametrize("form", ["f", "e", "E"])
def test_a_decimal_number_can_have_any_notation_of_json(form: str) -> None:
    assert broken(decimals(lambda number: format(number, form))) == set()


@pytest.mark.parametrize(
    "write",
    [
        lambda number: str(float(number)),
        lambda number: f"{number:f}".rstrip("0").rstrip(".") if "." in f"{number:f}" else str(number),
        lambda number: f"{number:f}".removeprefix("0"),
        lambda number: f"+{number}",
        lambda number: f"{number}e99999999999999999999",
        lambda number: f"{number} ",
        lambda number: float(number),
        lambda number: number if number else "0",
    ],
)
def test_a_decimal_number_without_a_digit_or_in_no_notation_of_json_is_wrong(write: Callable[[Any], str]) -> None:
    assert broken(decimals(write)) == {"XMCP-RSP-046"}


@pytest.mark.parametrize(
    ("codec", "expected"),
    [
        (CODECS["BytesInLines"](), "XMCP-RSP-047"),
        (CODECS["OffsetsRoundedDown"](), "XMCP-RSP-048"),
        (CODECS["NamesComparedTooEarly"](), "XMCP-RSP-052"),
        (changing(lambda value: 1.0 * value if type(value) is int and value > 2**53 else value), "XMCP-RSP-043"),
        (changing(lambda value: "NaN" if value != value else value), "XMCP-RSP-045"),
        (changing(lambda value: None if type(value) is object else value), "XMCP-RSP-049"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_a_wrong_codec_is_told_the_sentence_of_the_value(codec: Codec, expected: str) -> None:
    assert broken(codec) == {expected}


def test_a_codec_that_writes_a_tuple_as_a_text_is_told_the_sentences_of_what_is_in_it() -> None:
    codec = changing(lambda value: str(value) if isinstance(value, tuple) else value)
    of_values = {f"XMCP-RSP-{number}" for number in ("043", "045", "047", "048")}
    assert broken(codec) == {"XMCP-RSP-049"} | of_values


def test_a_codec_that_leaves_it_to_the_library_breaks_nearly_all_of_them() -> None:
    assert broken(PlainJsonWriter(), SHORT) == {f"XMCP-RSP-0{number}" for number in (43, 45, 47, 48, 49, 52, 53)}


@pytest.mark.parametrize("values", [[], ["bytes"], ["pairs", "integer", "surrogates"], VALUES])
def test_a_codec_is_given_the_kinds_that_it_named(values: list[str]) -> None:
    class Named(MiniatureCodec):
        directions = frozenset(("encode",))
        name, lacks = "named", CommandCodec.lacks

        def __init__(self) -> None:
            self.values = frozenset(values)

    seen: list[str] = []
    codec: Any = Named()
    _check_more(codec, 300, 1, lambda event: seen.append(event.call) if isinstance(event, Observed) else None)
    given = [vector for vector in islice(values_beyond_json(1), 300) if vector.id in seen]
    tags = {tag for vector in given for tag in re.findall(r'"\$(\w+)"', json.dumps(vector.case["response"]))}
    assert tags == set(values) - {"surrogates", "halves"}
    assert (len(given) == 300) == (values == VALUES)
