"""The configuration of a gateway: every setting with its type, its range, its default, and a sentence about it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from xmcp.gateway.grants import DEFAULT_SCOPES, Limits, Profile, Scope
from xmcp.gateway.workers.place import MAX_WORKERS

MEBIBYTE: Final = 1024 * 1024
_MODEL_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}(?<!:plain)")
NAME_PATTERN: Final = r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}"
_NAME: Final = re.compile(NAME_PATTERN)
NAME_RULE: Final = "must have 1 to 128 letters, digits and . _ @ -"
_ORIGIN: Final = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?")
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
    allow_origins: Sequence[str] = Field(
        (), max_length=100, description='Origins of web pages that may call, such as "https://app.example"; none.'
    )
    port: int = Field(8080, ge=0, le=65_535, description="Port; 0 takes a free one.")
    workers: int = Field(
        1, ge=1, le=MAX_WORKERS, description="Processes that serve; each starts the tool servers that are commands."
    )
    max_body_bytes: int = Field(
        16 * MEBIBYTE, ge=1_024, le=256 * MEBIBYTE, description="Bytes of the largest body of a request."
    )
    max_reading_bytes: int = Field(
        256 * MEBIBYTE,
        ge=1_024,
        description="Bytes of all bodies that arrive at the same time, half of them of one tenant; more get 503. "
        "Twice max_body_bytes at least.",
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

    @field_validator("allow_origins", mode="before")
    @classmethod
    def _is_list(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("allow_origins")
    @classmethod
    def _are_origins(cls, origins: Sequence[str]) -> Sequence[str]:
        if not all(_ORIGIN.fullmatch(origin) for origin in origins):
            raise ValueError('must have origins as browsers send them: "https://host" or "https://host:port", no path')
        return origins


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
    join_text_seconds: float = Field(
        0.0,
        ge=0,
        le=5,
        allow_inf_nan=False,
        description="Seconds over which pieces of text are joined into one event; 0 hands each on at once.",
    )
    keep_seconds: SecondsOrNone = Field(300.0, description="Seconds a chat can be read again after its end.")
    keep_bytes: int = Field(64 * MEBIBYTE, ge=0, description="Bytes of all chats together that are kept so.")
    client_tool_seconds: SecondsOrNone = Field(
        3_600.0, description="Seconds for which what ran before a call of a client's own tool is kept for its result."
    )
    client_tool_bytes: int = Field(64 * MEBIBYTE, ge=0, description="Bytes of all that is kept so.")
    response_seconds: SecondsOrNone = Field(
        3_600.0, description="Seconds in which a client of /v1/responses can go on from a response by its id."
    )
    response_bytes: int = Field(64 * MEBIBYTE, ge=0, description="Bytes of all conversations that are kept for it.")


class ChatSettings(Table):
    """What all chats have in common."""

    max_turns: int = Field(10, ge=1, le=1_000, description="Answers of the model in one chat.")
    tool_seconds: Seconds = Field(30.0, description="Seconds of one attempt at a tool call.")
    connect_seconds: Seconds = Field(30.0, description="Seconds for connecting to a tool server.")
    breaker_failures: Number = Field(
        5, description="Calls in a row that a tool server fails to answer before it gets no more."
    )
    breaker_seconds: Seconds = Field(30.0, description="Seconds after which one call tries it again.")
    approve: Sequence[str] = Field(
        (), description='Tools that run only when a person says yes, by their names for the model: ["delete_*"].'
    )
    approve_changes: bool = Field(
        False, description="Whether that holds for every tool that does not say that it changes nothing."
    )
    approval_seconds: Seconds = Field(
        300.0, description="Seconds in which the answer must come; the chat's own time stands still."
    )


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
    """What OpenAI's API says beside the text, for callers whose key does not say otherwise."""

    events: Profile = Field(
        "none",
        description='"none"; "xmcp": XMCP\'s events in the root of chunks; "openwebui": status lines of Open WebUI.',
    )


class CacheSettings(Table):
    """Answers of tools that are kept, each for its tenant: of those tools whose server says that they can be."""

    max_bytes: int = Field(64 * MEBIBYTE, ge=0, description="Bytes of memory for them; 0: none are kept.")
    seconds: Seconds = Field(300.0, description="Seconds for which an answer is kept.")
    redis: str | None = Field(
        None,
        min_length=1,
        description="Has them for several processes: redis://:${REDIS_PASSWORD}@host:6379/0; memory while it is down.",
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
    required: bool = Field(
        False, description="Whether /readyz is 503 while the database takes no records, for load balancers to see."
    )


class MetricsSettings(Table):
    """Where Prometheus reads what the gateway does."""

    host: str = Field(
        "127.0.0.1", description="Address of /metrics, which asks for no key. Another than loopback needs [[keys]]."
    )
    port: int | None = Field(
        None, ge=0, le=65_535, description="Port of /metrics; 0 takes a free one; left out: there is none."
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


class AccessSettings(Table):
    """Keys beyond those of this file, and what is reserved of quotas."""

    database: str | None = Field(
        None,
        min_length=1,
        description="Has keys and quotas: as in [audit], or the same; left out: only the keys here.",
    )
    reserve_output_tokens: int = Field(
        1_000, ge=0, le=10_000_000, description="Tokens reserved of a quota for an answer whose request has no limit."
    )


class Tenant(Limits):
    """What all keys of a tenant in this file may use together."""

    name: str = Field(description="The tenant.")

    @field_validator("name")
    @classmethod
    def _is_name(cls, value: str) -> str:
        return _as_name(value)


class Key(Limits):
    """Who may call. The key itself is not in the file: its SHA-256 is, or the variable that has it."""

    name: str = Field(description="Whose key it is; stands in logs.")
    tenant: str = Field(description="The tenant whose chats these are; tenants see nothing of each other.")
    hash: str | None = Field(None, description="sha256: and 64 hexadecimal digits, as `xmcp gateway key` prints it.")
    env: str | None = Field(None, description="Variable of the environment that has the key, in place of hash.")
    events: Profile | None = Field(None, description="As in [openai], for this key.")
    scopes: Sequence[Scope] = Field(
        DEFAULT_SCOPES, min_length=1, max_length=3, description='What it opens: "chat", "read", "admin".'
    )
    models: Sequence[str] | None = Field(None, description="The models that it can name; left out: all.")
    tools: Sequence[str] | None = Field(None, description="The tools that its chats can have; left out: all.")

    @field_validator("scopes", "models", "tools", mode="before")
    @classmethod
    def _is_list(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("name", "tenant")
    @classmethod
    def _is_name(cls, value: str) -> str:
        return _as_name(value)

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
    access: AccessSettings = Field(
        AccessSettings(), description="Keys beyond those of this file, and what is reserved of quotas."
    )
    cache: CacheSettings = Field(CacheSettings(), description="Answers of tools that are kept, each for its tenant.")
    metrics: MetricsSettings = Field(MetricsSettings(), description="Where Prometheus reads what the gateway does.")
    models: Sequence[OfferedModel] = Field((), description="The models; the first is the default.")
    servers: Mapping[str, Mapping[str, Any]] = Field({}, description="The tool servers, by the names of their tools.")
    tenants: Sequence[Tenant] = Field((), description="What all keys of a tenant may use together.")
    keys: Sequence[Key] = Field((), description="Who may call; none: everybody on this machine.")

    @field_validator("models", "tenants", "keys", mode="before")
    @classmethod
    def _is_list(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("models")
    @classmethod
    def _have_own_ids(cls, models: Sequence[OfferedModel]) -> Sequence[OfferedModel]:
        _refuse_twice([model.id for model in models], "id")
        return models

    @model_validator(mode="after")
    def _has_models_of_keys(self) -> Self:
        offered = [model.id for model in self.models]  # none: the command line names one
        for key in self.keys:
            if offered and (unknown := next((name for name in key.models or () if name not in offered), None)):
                raise ValueError(f"has no model {unknown!r}, which the key {key.name!r} can name: {', '.join(offered)}")
        return self

    @field_validator("tenants", "keys")
    @classmethod
    def _have_own_names(cls, named: Sequence[Tenant | Key]) -> Sequence[Tenant | Key]:
        _refuse_twice([one.name for one in named], "name")
        return named


def is_loopback(host: str) -> bool:
    """Return whether only programs of this machine can reach an address. A name counts only if it is `localhost`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def limits_of(settings: Limits) -> Limits:
    """Return only the limits of a table that has other members, too."""
    return Limits(**{name: getattr(settings, name) for name in Limits.model_fields})


def _as_name(value: str) -> str:
    if not is_name(value):
        raise ValueError(NAME_RULE)
    return value


def is_name(value: str) -> bool:
    """Return whether a text can be the name of a key or a tenant."""
    return _NAME.fullmatch(value) is not None


def _refuse_twice(names: Sequence[str], member: str) -> None:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ValueError(f"has the {member} {twice!r} twice")
