"""The words of a model are wrapped equally, independent of the pieces in which they arrive."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from xmcp.cli.line_breaking import Flow

texts = st.text("ab漢 \n\t.", max_size=200)


def flowed(pieces: list[str], width: int, indent: str = "") -> str:
    flow = Flow(width, indent)
    return "".join(map(flow.feed, pieces)) + flow.close()


@given(texts, st.lists(st.integers(0, 200), max_size=10), st.integers(4, 40))
def test_the_pieces_in_which_a_text_comes_do_not_show(text: str, cuts: list[int], width: int) -> None:
    places = [0, *sorted(cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(places)]
    assert flowed(pieces, width) == flowed([text], width)


@given(texts, st.integers(4, 40))
def test_no_word_is_lost_and_no_line_too_wide(text: str, width: int) -> None:
    out = flowed([text], width)
    assert out.split() == text.split()
    for line in out.split("\n"):
        assert cell_len(line) <= width or len(line.split()) == 1


def test_lines_after_the_first_are_indented() -> None:
    assert flowed(["one two\nthree"], 4, "  ") == "one\n  two\n  three"


def test_a_word_is_printed_once_it_is_whole() -> None:
    flow = Flow(40)
    assert flow.feed("Hel") == ""
    assert flow.feed("lo wor") == "Hello"
    assert flow.close() == " wor"
