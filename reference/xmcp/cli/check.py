"""`xmcp check`: the commands of the conformance suite, each of which is loaded when it is used."""

from __future__ import annotations

import click

from xmcp_conformance.profiles.server.peers import without_secrets

from .lazy_commands import LazyCommand, LazyGroup
from .suggestions import did_you_mean

COMMANDS: dict[str, LazyCommand] = {
    "client": LazyCommand("xmcp.cli.check_client", "Judge a client, in any language, by scenarios."),
    "codec": LazyCommand("xmcp.cli.check_codec", "Judge a codec, in any language, by the vectors."),
    "document": LazyCommand(
        "xmcp.cli.check_document", "Check documents in files: tool responses in XML, and the formats in JSON."
    ),
    "gateway": LazyCommand("xmcp.cli.check_gateway", "Judge a gateway, which runs chats for front ends over HTTP."),
    "server": LazyCommand("xmcp.cli.check_server", "Check a server by its tools, without fixtures."),
    "trace": LazyCommand("xmcp.cli.check_trace", "Judge a client, in any language, by traces of what it did."),
}


class _Checks(LazyGroup):
    def fail_unknown(self, ctx: click.Context, word: str) -> None:
        shown = without_secrets(word) if "://" in word else word
        is_server = any(sign in word for sign in "/.:")
        meant = f" Did you mean: {ctx.command_path} server {shown}" if is_server else did_you_mean(word, self.lazy)
        ctx.fail(f"No such command {shown!r}.{meant}")


@click.group(cls=_Checks, lazy=COMMANDS, invoke_without_command=True)
@click.pass_context
def check(context: click.Context) -> None:
    """Check whether a server, a codec, a client, a gateway or documents conform to the specification.

    Without a command it checks the sample server of this package, over stdio and over HTTP.

    Exit codes: 0 conforms, 1 does not, 2 usage, 3 the peer cannot be reached or the suite itself failed.
    """
    if context.invoked_subcommand is None:
        from .check_server import server

        # As on a command line: `invoke` with values would leave out the callbacks of the other options.
        with server.make_context("server", ["--sample"], parent=context) as alone:
            server.invoke(alone)
