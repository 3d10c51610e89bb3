"""How a command line names a server: every form, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

from xmcp.cli.named_servers import ServerCommand, server_named
from xmcp_conformance.profiles.server.peers import HttpPeer, StdioPeer

SERVE = (sys.executable, "-m", "xmcp", "serve")
STDIO = ("--transport", "stdio")


@pytest.fixture(autouse=True)
def folder(workplace: Path) -> None:
    """The current folder, with files that can be named."""
    (workplace / "my server.py").touch()
    (workplace / "shop.py").touch()
    (workplace / "shop.js").touch()
    (workplace / "package").mkdir()


@pytest.mark.parametrize("url", ["http://127.0.0.1:3333/mcp", "https://a.example"])
def test_a_url_is_an_endpoint_as_it_is(url: str) -> None:
    assert server_named(url) == HttpPeer(url)


@pytest.mark.parametrize("words", [("node server.js --stdio",), ("node", "server.js", "--stdio")])
def test_a_command_can_be_one_word_or_several(words: tuple[str, ...]) -> None:
    assert server_named(*words) == StdioPeer(("node", "server.js", "--stdio"))


@pytest.mark.parametrize(
    "name", ["shop.py", "shop.py:mcp", "my server.py", "shop", "shop:mcp", "package.module", "a.b:c"]
)
def test_a_file_or_module_is_served(name: str) -> None:
    assert server_named(name) == StdioPeer((*SERVE, name, *STDIO))


@pytest.mark.parametrize("name", ["xmcp-no-such-command", "nodee", "python", "shop.js", "index.js"])
def test_a_word_that_is_neither_file_nor_module_is_a_command(name: str) -> None:
    assert server_named(name) == StdioPeer((name,))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "the command is empty"),
        ("'", "No closing quotation"),
        ("ftp://x", "not an http or https address"),
        ("http://", "not an http or https address"),
        ("http://127.0.0.1:99999", "not an http or https address"),
        ("missing.py", "there is no file"),
        ("127.0.0.1:3333/mcp", "for a URL, write `http://127.0.0.1:3333/mcp`"),
        ("localhost:3333", "for a URL, write `http://localhost:3333`"),
        ("[::1]:3333/mcp?token=hunter2", r"write `http://\[::1\]:3333/mcp"),
    ],
)
def test_what_names_no_server_is_refused(name: str, words: str) -> None:
    with pytest.raises(click.BadParameter, match=words) as refused:
        server_named(name, option="--beside")
    assert refused.value.param_hint == "--beside"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("shop.py", "http://x/mcp?token=hunter2"), "`shop.py` and `http://x/mcp.*` are two.*--stdio .*--url"),
        (("http://x/mcp", "shop.py"), "`http://x/mcp` and `shop.py` are two servers"),
        (("shop.py", "--port", "8080"), "`shop.py` is a server by itself.*`python server.py`"),
    ],
)
def test_words_after_a_server_are_no_command_that_does_not_exist(words: tuple[str, ...], told: str) -> None:
    with pytest.raises(click.BadParameter, match=told) as refused:
        server_named(*words)
    assert "hunter2" not in refused.value.message


@pytest.mark.parametrize(
    "url",
    [
        "ftp://ann:hunter2@x.example/a?token=hunter2&hunter2#at=hunter2",
        "http://ann:hunter2@x.example:99999",
        "http://ann:hunter2@[x",
    ],
)
def test_a_message_about_a_url_repeats_no_secret(url: str) -> None:
    with pytest.raises(click.BadParameter, match="not an http or https address") as refused:
        server_named(url)
    assert "hunter2" not in refused.value.message


@pytest.mark.parametrize(
    ("option", "suggested"), [("--header", None), ("--exampels", "--examples"), ("--examplse=2", "--examples")]
)
def test_an_unknown_option_suggests_only_what_is_like_it(option: str, suggested: str | None) -> None:
    options = [click.Option([name]) for name in ("--era", "--examples", "--seed", "--url")]
    command = ServerCommand("server", params=options)
    with pytest.raises(click.UsageError) as refused:
        command.make_context("server", [option])
    message = refused.value.format_message()
    assert f"No such option '{option.partition('=')[0]}'" in message
    assert ("Did you mean" in message) == bool(suggested)
    assert (suggested or "") in message
