"""The configuration of a gateway: every setting with its type, its range, its default, and a sentence about it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from xmcp.gateway.runs.request import Profile

MEBIBYTE: Final = 1024 * 1024
_MODEL_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}(?<!:plain)")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")
_SHA256: Final = re.compile(r"sha256:[0-9a-f]{64}")

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
SecondsOrNone = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
Number = Annotated[int, Field(ge=1, le=100_000)]


class Table(BaseModel):
    """A table of the file. It has no members but its own, and their types are exact."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Listening(Table):
    """Where the gateway listens, and what it takes of a request."""

    host: str = Field("127.0.0.1", description="Address to listen on. Another than loopback needs [[keys]].")
    port: int = Field(8080, ge=0, le=65_535, description="Port; 0 takes a free one.")
    max_body_bytes: int = Field(
        16 * MEBIBYTE, ge=1_024, le=256 * MEBIBYTE, description="Bytes of the largest body of a request."
    )
    body_seconds: Seconds = Field(30.0, description="Seconds within which a body must arrive.")
    ping_seconds: Seconds = Field(15.0, description="Seconds without an event after which a stream gets a comment.")
    send_seconds: Seconds = Field(10.0, description="Seconds after which a reader that takes nothing is dropped.")
    load_balancer_seconds: SecondsOrNone = Field(
        0.0, description="Seconds between SIGTERM, when /readyz says 503, and the closing of the port."
    )
    drain_seconds: SecondsOrNone = Field(
        30.0, description="Seconds in which runs may finish after SIGTERM; the rest ends as interrupted."
    )


class RunSettings(Table):
    """How many chats run at the same time, and for how long."""

    max_running: Number = Field(200, description="Number of chats at the same time, in this process.")
    max_running_per_tenant: Number = Field(50, description="Number of chats of one tenant at the same time.")
    max_waiting: int = Field(50, ge=0, le=100_000, description="Number of chats that wait for a place; more get 429.")
    wait_seconds: Seconds = Field(2.0, description="Seconds a chat waits for a place before it gets 429.")
    deadline_seconds: Seconds = Field(300.0, description="Seconds of a whole chat; a request can ask for less.")
    first_event_seconds: Seconds = Field(60.0, description="Seconds until the model must have begun to answer.")
    idle_seconds: Seconds = Field(120.0, description="Seconds between two events of a chat.")
    client_gone_seconds: SecondsOrNone = Field(
        10.0, description="Seconds a chat goes on that nobody reads any more, so that its reader can come back."
    )
    keep_seconds: SecondsOrNone = Field(300.0, description="Seconds a chat can be read again after its end.")
    keep_bytes: int = Field(64 * MEBIBYTE, ge=0, description="Bytes of all chats together that are kept so.")


class ChatSettings(Table):
    """What all chats have in common."""

    max_turns: int = Field(10, ge=1, le=1_000, description="Answers of the model in one chat.")
    tool_seconds: Seconds = Field(30.0, description="Seconds of one attempt at a tool call.")
    connect_seconds: Seconds = Field(30.0, description="Seconds for connecting to a tool server.")


class SessionSettings(Table):
    """How much is remembered of sessions, whose callers send only what the person says."""

    max_messages: Number = Field(100, description="Number of messages of a history that a model gets: whole turns.")
    max_bytes: int = Field(
        MEBIBYTE // 4, ge=1_024, le=256 * MEBIBYTE, description="Bytes of them; the newest turn is given in any case."
    )
    keep_seconds: Seconds = Field(3_600.0, description="Seconds a session is kept in memory after its last chat.")
    keep_bytes: int = Field(64 * MEBIBYTE, ge=0, description="Bytes of all sessions together in memory.")
    max_per_tenant: Number = Field(1_000, description="Number of sessions of one tenant in memory.")


class OpenAISettings(Table):
    """What `/v1/chat/completions` says beside the text, for callers whose key does not say otherwise."""

    events: Profile = Field(
        "none",
        description='"none"; "xmcp": XMCP\'s events in the root of chunks; "openwebui": status lines of Open WebUI.',
    )


class AuditSettings(Table):
    """What is remembered of chats."""

    database: str | None = Field(
        None, min_length=1, description="File of SQLite, or postgresql://...; left out: chats are not recorded."
    )
    keep_days: int | None = Field(
        None, ge=1, le=36_500, description="Days after which a chat is deleted; left out: none is."
    )
    outbox: bool = Field(
        False, description="Whether a call that may change something waits until its record is stored."
    )


class OfferedModel(Table):
    """A model that callers can name; `ID:plain` is the same without tools."""

    id: str = Field(description="The name that callers see.")
    provider: str = Field(
        description="Whose model it is, as for `xmcp chat --provider`; its key is in the environment."
    )
    model: str | None = Field(None, description="The vendor's name of the model; left out: the provider's default.")
    base_url: str | None = Field(None, description="Address of another server with the provider's API.")

    @field_validator("id")
    @classmethod
    def _is_name(cls, value: str) -> str:
        if not _MODEL_ID.fullmatch(value):
            raise ValueError(
                "must have letters, digits and . _ / : - and not end in :plain, which is the model without tools"
            )
        return value


class Key(Table):
    """Who may call. The key itself is not in the file: its SHA-256 is, or the variable that has it."""

    name: str = Field(description="Whose key it is; stands in logs.")
    tenant: str = Field(description="The tenant whose chats these are; tenants see nothing of each other.")
    hash: str | None = Field(None, description="sha256: and 64 hexadecimal digits, as `xmcp gateway key` prints it.")
    env: str | None = Field(None, description="Variable of the environment that has the key, in place of hash.")
    events: Profile | None = Field(None, description="As in [openai], for this key.")

    @field_validator("name", "tenant")
    @classmethod
    def _is_name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError("must have 1 to 128 letters, digits and . _ @ -")
        return value

    @field_validator("hash")
    @classmethod
    def _is_hash(cls, value: str | None) -> str | None:
        if value is not None and not _SHA256.fullmatch(value):
            raise ValueError("must be sha256: and 64 hexadecimal digits, as `xmcp gateway key` prints it")
        return value

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if (self.hash is None) is (self.env is None):
            raise ValueError("must have either hash or env")
        return self


class GatewayConfig(Table):
    """The whole file."""

    listen: Listening = Field(Listening(), description="Where the gateway listens, and what it takes of a request.")
    runs: RunSettings = Field(RunSettings(), description="How many chats run at the same time, and for how long.")
    chat: ChatSettings = Field(ChatSettings(), description="What all chats have in common.")
    sessions: SessionSettings = Field(SessionSettings(), description="How much is remembered of sessions.")
    openai: OpenAISettings = Field(OpenAISettings(), description="What /v1/chat/completions says beside the text.")
    audit: AuditSettings = Field(AuditSettings(), description="What is remembered of chats: `xmcp audit` reads it.")
    models: Sequence[OfferedModel] = Field((), description="The models; the first is the default.")
    servers: Mapping[str, Mapping[str, Any]] = Field({}, description="The tool servers, by the names of their tools.")
    keys: Sequence[Key] = Field((), description="Who may call; none: everybody on this machine.")

    @field_validator("models", "keys", mode="before")
    @classmethod
    def _is_list(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("models")
    @classmethod
    def _have_own_ids(cls, models: Sequence[OfferedModel]) -> Sequence[OfferedModel]:
        _refuse_twice([model.id for model in models], "id")
        return models

    @field_validator("keys")
    @classmethod
    def _have_own_names(cls, keys: Sequence[Key]) -> Sequence[Key]:
        _refuse_twice([key.name for key in keys], "name")
        return keys


def is_loopback(host: str) -> bool:
    """Return whether only programs of this machine can reach an address. A name counts only if it is `localhost`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _refuse_twice(names: Sequence[str], member: str) -> None:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ValueError(f"has the {member} {twice!r} twice")
