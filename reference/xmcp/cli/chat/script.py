"""One question of a script: its answer and its displays on standard output, all else on standard error.

What is printed is text without escape sequences, and no call that could change something is made without
`--allow-writes`, because nobody is there who could be asked.
"""

from __future__ import annotations

from contextlib import closing
from typing import Final

import click

from xmcp.cli.chat.approvals import Approvals
from xmcp.cli.chat.background import Ask, Background, Interrupt, Over, interrupts_raised
from xmcp.cli.chat.calls import error_line
from xmcp.cli.chat.screen import ENDS
from xmcp.client import ChatChunk, ChatFailed, ChatWarning, Conversation, Done, ToolDisplay, ToolError, ToolWarning
from xmcp.client.chat_options import ChatOptions
from xmcp.render import to_text
from xmcp.render.terminal import Lines
from xmcp.render.view.untrusted import label, visible

_REFUSED: Final = "Nobody is there to approve this call."
_INTERRUPTED: Final = 130


def answer_once(
    background: Background,
    conversation: Conversation,
    query: str,
    approvals: Approvals,
    *,
    lines: Lines | None = None,
    width: int = 80,
) -> int:
    """Ask one question and print the answer; return the exit code: 0, or 1 if there is none."""
    done: Done | None = None
    with closing(background.ask(conversation, query, ChatOptions()).messages()) as messages:
        for message in messages:
            match message:
                case Ask(call=call, answer=answer):
                    if needed := approvals.needed(call):
                        _note(f"{label(call.tool_name, 100)} may change something, and was not called: --allow-writes")
                    answer.set_result(_REFUSED if needed else True)
                case Interrupt():
                    return _INTERRUPTED
                case ToolDisplay(envelope=envelope):
                    try:
                        with interrupts_raised():  # a large one takes seconds
                            text = to_text(envelope, width, lines=lines)
                    except KeyboardInterrupt:
                        return _INTERRUPTED
                    click.echo(text, nl=False)
                case Done():
                    done = message
                case Over(error=error) if error is not None and not isinstance(error, Exception):
                    raise error
                case Over() | None:
                    pass
                case _:
                    _tell(message)
    if done is not None and (words := done.result["answer"]):
        click.echo(visible(words))
    if done is not None and (said := ENDS.get(done.result["stop_reason"])):
        _note(said)
    return code_of(done)


def code_of(done: Done | None) -> int:
    """Return the exit code of an answer: 0, or 1 if there is none."""
    return 0 if done is not None and done.result["stop_reason"] not in ENDS else 1


def _tell(chunk: ChatChunk) -> None:
    match chunk:
        case ToolError(tool_name=name, error=error):
            _note(f"{label(name, 100)} failed with {error_line(error)}")
        case ToolWarning(text=text) | ChatWarning(text=text):
            _note(label(text, 600))
        case ChatFailed(error=error, ui_message=words):
            _note(label(words or error_line(error), 800))
            if words and error.message not in words:
                _note(label(error.message, 800))


def _note(words: str) -> None:
    click.echo(f"xmcp chat: {words}", err=True)
