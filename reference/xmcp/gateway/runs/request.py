"""What a caller asks for, whatever the format in which it came; and who the caller is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from xmcp.chat.messages import Message
from xmcp.chat.user_input import UserInput
from xmcp.client.chat_options import ChatOptions
from xmcp.gateway.grants import Grant, Profile

Surface: TypeAlias = Literal["chat", "openai", "responses", "ai-sdk", "ag-ui"]
"""The format in which a chat was asked for."""

PLAIN: Final = ":plain"
"""What a caller writes behind the name of a model to have it without tools, for titles and other chores."""

Recall: TypeAlias = Literal["new", "remembered", "as-sent", "unavailable"]
"""What the model of a chat with a session is told of earlier ones: nothing, as there was nothing; all that it had read;
what the caller sent, which is not what is remembered; or what the caller sent, as the store could not be read."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose key it is, and what it allows. `tenant` is `None` if the gateway has no keys.

    `key_name` is of no other key, of whichever tenant. `key` is what the caller sent, for whoever must keep it out of
    records; a run that has ended does not have it.
    """

    key_name: str
    tenant: str | None = None
    profile: Profile = "none"
    grant: Grant = field(default_factory=Grant)
    key: str | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One chat.

    Attributes:
        surface: The format of the request.
        model: The model as the gateway offers it, such as `assistant` or `assistant:plain`.
        query: What the person says; `None` if the history ends with the results of the client's own tools.
        history: The messages before it, in the OpenAI chat format.
        options: Further keywords of `AIClient.stream_chat`.
        session_id: The caller's id of the conversation.
        continues: Whether the history is left to the gateway, which remembers that of the session.
        recall: What its model is told of earlier chats; `None`: the chat belongs to no session.
        deadline: Seconds that the run may take at most; `None`: as the gateway is configured.
        size: Bytes of the body in which it came, and of what was remembered.
        can_be_asked: Whether the client can answer a question while the run goes on.
        one_call: Whether the client takes no more than one call of its tools at a time.
        stored: Whether a client may go on from the run by the id of its response.
        goes_on_from: The earlier run that it names by the id of its response, of an item or of a call.
    """

    surface: Surface
    model: str
    query: UserInput | None
    history: Sequence[Message] = ()
    options: ChatOptions = field(default_factory=lambda: ChatOptions())
    session_id: str | None = None
    continues: bool = False
    recall: Recall | None = None
    deadline: float | None = None
    size: int = 0
    can_be_asked: bool = False
    one_call: bool = False
    stored: bool = False
    goes_on_from: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether its model is to have no tools of servers."""
        return self.model.endswith(PLAIN)
