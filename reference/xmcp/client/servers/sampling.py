"""Servers that ask the client's model (`sampling`): the application's policy answers, and without one nobody does.

MCP's clients refuse sampling by themselves where no handler is set, in every revision of the protocol. The policy
decides whether a model is asked, which one, and who pays: a server's request does not say for which chat it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from xmcp.chat.json_values import as_text
from xmcp.client.hooks.callbacks import call
from xmcp.client.hooks.log import EventLog

if TYPE_CHECKING:
    from mcp_types import CreateMessageRequestParams, SamplingMessage

SAMPLING_SECONDS: Final = 300.0
"""How long the policy may take; a call's own time limit goes on meanwhile."""

MAX_AT_ONCE: Final = 4
"""Maximum number of requests of one server that are answered at the same time; the others are refused at once."""

MAX_TEXT_BYTES: Final = 1024 * 1024
"""Maximum size of the texts of one request in UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingRequest:
    """What a server asks the client's model. All but `server` is written by the server: do not trust it."""

    server: str
    """The name of the server, or its address if it has none; without credentials."""
    messages: Sequence[Mapping[str, Any]]
    """In the OpenAI chat format, with texts only; the server's system prompt, if any, is the first."""
    max_tokens: int
    temperature: float | None = None
    stop_sequences: Sequence[str] = ()


Sampling: TypeAlias = Callable[[SamplingRequest], "Awaitable[str | None] | str | None"]
"""Returns the answer of a model, or `None` to refuse; sync or async."""

Handler: TypeAlias = Callable[[Any, Any, Any], Awaitable[str]]
"""What FastMCP calls: with the messages, the parameters, and its own context."""


class SamplingRefused(Exception):
    """The answer to the server; the message tells it nothing of the application's internals."""


def handler(policy: Sampling, server: str, log: EventLog) -> Handler:
    """Return what answers the sampling requests of one server by the application's policy."""
    running = 0

    async def answer(_messages: Any, params: CreateMessageRequestParams, _context: Any) -> str:
        nonlocal running
        if running >= MAX_AT_ONCE:
            raise SamplingRefused(f"Sampling refused: {MAX_AT_ONCE} requests are being answered; ask again later.")
        request = _request(server, params)
        running += 1
        try:
            said = await call(policy, request, seconds=SAMPLING_SECONDS)
        except TimeoutError:
            raise SamplingRefused("Sampling failed: there was no answer in time.") from None
        except Exception:
            log.exception("callback_failed", callback="sampling")
            raise SamplingRefused("Sampling failed: the application could not answer.") from None
        finally:
            running -= 1
        if said is None:
            raise SamplingRefused("Sampling refused: the application does not allow this request.")
        if not isinstance(said, str):
            log.warning("sampling_answered_amiss", type=type(said).__name__)
            raise SamplingRefused("Sampling failed: the application could not answer.")
        return as_text(said)  # half of a surrogate pair could not be sent, and would end the connection

    return answer


def _request(server: str, params: CreateMessageRequestParams) -> SamplingRequest:
    """Return a server's request for the application.

    Raises:
        SamplingRefused: it has content that is not text, or too much of it.
    """
    system = [{"role": "system", "content": params.system_prompt}] if params.system_prompt else []
    messages = [*system, *({"role": one.role, "content": _text(one)} for one in params.messages)]
    if sum(len(message["content"].encode("utf-8", "surrogatepass")) for message in messages) > MAX_TEXT_BYTES:
        raise SamplingRefused(f"Sampling refused: more than {MAX_TEXT_BYTES} bytes of text.")
    return SamplingRequest(
        server=server,
        messages=messages,
        max_tokens=params.max_tokens,
        temperature=params.temperature,
        stop_sequences=tuple(params.stop_sequences or ()),
    )


def _text(message: SamplingMessage) -> str:
    blocks = message.content if isinstance(message.content, list) else [message.content]
    texts = [block.text for block in blocks if block.type == "text"]
    if len(texts) != len(blocks):
        raise SamplingRefused("Sampling refused: only text can be answered here, no images, sounds or tools.")
    return "\n".join(texts)
