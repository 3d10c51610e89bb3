"""Which chats there are, in which order: decided by a seed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Literal, TypeAlias

from tools.gateway_scale.words import TOKENS, TOPICS, Doing, Question, tenant_name

Kind: TypeAlias = Literal["whole", "stream", "v1", "v1_stream", "session", "leaves", "retries", "trespasses"]
"""How a client chats: on `/chat` or `/v1`, in one piece or as a stream; in a session, whose second chat is told the
word of the first; it leaves and never comes back; it is cut off and sends the request again; it asks for what others
have."""

_SHARES: Final[dict[Kind, int]] = {
    "whole": 20,
    "stream": 20,
    "v1": 16,
    "v1_stream": 16,
    "session": 8,
    "leaves": 4,
    "retries": 8,
    "trespasses": 8,
}

LIMITED: Final = 5
"""One of so many tenants has a quota."""

SHARE: Final = 0.4
"""Of what its chats would use, this is its quota."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What one client does: one chat, or two that are a session. `number` is its place in the plan."""

    number: int
    tenant: int
    kind: Kind
    questions: Sequence[Question]


def is_limited(tenant: int) -> bool:
    """Return whether a tenant has a quota."""
    return tenant % LIMITED == 0


def planned(chats: int, tenants: int, tag: str, seed: int) -> list[Planned]:
    """Return at least so many chats, of so many tenants in turn.

    Tenants with a quota neither retry nor leave: what a request that is cut off counts is an estimate, and a chat that
    the quota ended may be tried again.
    """
    random, plan, number = Random(seed), list[Planned](), 0
    while number < chats:
        tenant = len(plan) % tenants
        kind = random.choices([*_SHARES], [*_SHARES.values()])[0]
        if is_limited(tenant) and kind in ("leaves", "retries"):
            kind = "stream"
        questions = [_question(random, tenant_name(tenant, tag), kind) for _ in range(2 if kind == "session" else 1)]
        plan.append(Planned(len(plan), tenant, kind, questions))
        number += len(questions)
    return plan


def _question(random: Random, tenant: str, kind: Kind) -> Question:
    doing: Doing = "linger" if kind == "leaves" else random.choice(("call", "call", "say"))
    return Question(tenant, f"word-{tenant}-{random.getrandbits(48):012x}", doing, random.randrange(TOPICS))


def quotas(plan: Sequence[Planned]) -> dict[int, int]:
    """Return the tokens that each tenant with a quota may use: a part of what its chats would."""
    wanted: Counter[int] = Counter()
    for one in plan:
        if is_limited(one.tenant):
            wanted[one.tenant] += sum(TOKENS * (2 if question.do == "call" else 1) for question in one.questions)
    return {tenant: round(SHARE * tokens) for tenant, tokens in wanted.items()}
