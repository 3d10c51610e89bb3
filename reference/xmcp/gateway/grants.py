"""What a key lets its caller do: which routes, models and tools, and how much of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Scope: TypeAlias = Literal["chat", "read", "admin"]
"""Chats; reading what there is and what became of runs; keys, tenants, and whatever concerns all of them."""

SCOPES: Final[tuple[Scope, ...]] = ("chat", "read", "admin")
DEFAULT_SCOPES: Final[tuple[Scope, ...]] = ("chat", "read")

Profile: TypeAlias = Literal["none", "xmcp", "openwebui"]
"""What a stream of OpenAI's API says beside the text: nothing; XMCP's events; status lines of Open WebUI."""

PROFILES: Final[tuple[Profile, ...]] = ("none", "xmcp", "openwebui")

_Count = Annotated[int, Field(ge=0, le=10**15)]


class Limits(BaseModel):
    """How much may be used. Days and months are those of UTC. What is left out has no limit."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    requests_per_minute: int | None = Field(None, ge=1, le=1_000_000, description="Requests in a minute; more get 429.")
    tokens_per_day: _Count | None = Field(None, description="Tokens of models in a day, read and written.")
    tokens_per_month: _Count | None = Field(None, description="Tokens of models in a month, read and written.")
    usd_per_month: float | None = Field(
        None, ge=0, le=10**9, allow_inf_nan=False, description="US dollars for models in a month."
    )

    @property
    def are_counted(self) -> bool:
        """Whether what models use has to be counted for them."""
        return any(limit is not None for limit in (self.tokens_per_day, self.tokens_per_month, self.usd_per_month))


NO_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Grant:
    """What one key allows.

    Attributes:
        scopes: The routes that it opens.
        models: The models that it can name, without `:plain`; `None`: all.
        tools: The tools that its chats can have; `None`: all.
        limits: Of the key.
        tenant_limits: Of all keys of its tenant together.
    """

    scopes: frozenset[Scope] = frozenset(DEFAULT_SCOPES)
    models: frozenset[str] | None = None
    tools: frozenset[str] | None = None
    limits: Limits = NO_LIMITS
    tenant_limits: Limits = NO_LIMITS


def is_within(name: str, allowed: frozenset[str] | None) -> bool:
    """Return whether a name is among those that are allowed; `None` allows all."""
    return allowed is None or name in allowed
