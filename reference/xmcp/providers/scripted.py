"""The embedded model: it answers from a script, without a network. The demo, the tests and the suite use it."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xmcp.chat.completions import Completion, ToolCall
from xmcp.chat.errors import ProviderError
from xmcp.chat.messages import Message
from xmcp.providers.base import ModelRequest, Piece, Reasoning


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the scripted model: text, and calls as pairs of a tool's name and its arguments.

    Arguments are a mapping, or a string that is sent unchanged, to imitate a model that writes invalid JSON. The
    `reasoning` comes before the text.
    """

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any] | str]] = ()
    reasoning: str = ""


ScriptFunction: TypeAlias = Callable[[list[Message], list[Mapping[str, Any]]], "Turn | str | Awaitable[Turn | str]"]
Script: TypeAlias = "Sequence[Turn | str] | ScriptFunction"


class ScriptedProvider:
    """A model that answers from a script.

    Args:
        script: A list of turns, or a function `(messages, tools) -> turn`, sync or async, with `tools` in the OpenAI
            format. A turn is a `Turn`, or a string: a final text. Of a list, the turn used is the number of assistant
            messages already in `messages`, so one object serves any number of chats at once.
    """

    name = "scripted"
    supports_tools = True
    max_context_tokens: int | None = None

    def __init__(self, script: Script) -> None:
        self._script = script

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece | Completion, None]:
        """Yield the next turn of the script (see `LLMProvider`), in pieces of a few words; tokens are not counted."""
        number = sum(message.get("role") == "assistant" for message in request.messages)
        turn = await self._turn(number, request)
        for thought in pieces(turn.reasoning):
            yield Reasoning(thought)
        for piece in pieces(turn.text):
            yield piece
        calls = tuple(
            ToolCall(f"call_{number}_{i}", name, arguments if isinstance(arguments, str) else json.dumps(arguments))
            for i, (name, arguments) in enumerate(turn.calls)
        )
        yield Completion(turn.text, calls, "tool_calls" if calls else "stop", model=request.model or self.name)

    async def _turn(self, number: int, request: ModelRequest) -> Turn:
        if callable(self._script):
            answer = self._script(list(request.messages), list(request.tools.tools))
            turn = await answer if inspect.isawaitable(answer) else answer
        elif number < len(self._script):
            turn = self._script[number]
        else:
            raise ProviderError(
                f"The script has {len(self._script)} turns and the chat asks for turn {number + 1}: add a turn.",
                provider=self.name,
            )
        return Turn(turn) if isinstance(turn, str) else turn


def pieces(text: str, words: int = 4) -> list[str]:
    """Return `text` cut after every few words; joined, the pieces are `text`."""
    return re.findall(rf"(?:\s*\S+){{1,{words}}}\s*|\s+", text)
