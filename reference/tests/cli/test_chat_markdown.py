"""Markdown that arrives in pieces: nothing is lost, and a block that was finished would not have become another one."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from support.growth import is_linear

from xmcp.cli.chat.streamed_markdown import StreamedMarkdown

LINES = [
    "# a",
    "text",
    "",
    "- item",
    "  more",
    "1. one",
    "| a | b |",
    "|---|---|",
    "```",
    "> q",
    "    code",
    "---",
    "===",
]


def blocks(pieces: list[str]) -> list[str]:
    """Return the blocks that come out of these pieces, looked for after each of them."""
    stream, found = StreamedMarkdown(), []
    for piece in pieces:
        stream.feed(piece)
        found += stream.finished()
    return [*found, stream.close()]


def kinds(source: str) -> list[str]:
    return [token.type for token in MarkdownIt("commonmark").enable("table").parse(source) if token.level == 0]


def test_each_block_comes_out_once_the_next_one_has_a_whole_line() -> None:
    stream = StreamedMarkdown()
    stream.feed("one\ntwo\n\n- a")
    assert stream.finished() == []
    stream.feed("\n")
    assert stream.finished() == ["one\ntwo\n"]
    assert stream.open == "- a\n"


def test_a_fence_stays_open_until_it_is_closed() -> None:
    stream = StreamedMarkdown()
    stream.feed("```python\na = 1\n\n\nb = 2\n\n# c\n")
    assert stream.finished() == []
    stream.feed("```\nafter\n")
    assert stream.finished() == ["```python\na = 1\n\n\nb = 2\n\n# c\n```"]


def test_a_piece_costs_its_own_size_however_much_has_come() -> None:
    def fed(times: int) -> Callable[[], None]:
        def feed() -> None:
            stream = StreamedMarkdown()
            for _ in range(20_000 * times):
                stream.feed("word")

        return feed

    assert is_linear(fed)


@example(["", "# a", "# a", "# a"], 1)
@given(st.lists(st.sampled_from(LINES), max_size=12), st.integers(1, 9))
def test_nothing_is_lost_and_each_piece_is_read_as_in_the_whole(lines: list[str], size: int) -> None:
    source = "\n".join(lines)
    found = blocks([source[at : at + size] for at in range(0, len(source), size)])
    assert "\n".join(found) == source
    # Block by block it is the same as read at once; a last piece without a block is white space.
    assert [kind for one in found for kind in kinds(one)] == kinds(source)
