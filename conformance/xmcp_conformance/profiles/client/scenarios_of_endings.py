"""Scenarios of how answers of the model and chats end: in the last turn, at a time limit, with a question, in silence.

A chat can meet two ends at once, and what it ends with depends on the order of the loop (section 11.7).
"""

from __future__ import annotations

from typing import Any, Final

from .scenario import Act, Ask, Conversation, Says, Scenario
from .short_forms import chat, setup, tool

_LONG: Final = "word " * 8000
"""More than the quotas of these scenarios allow, if it is counted."""
_BEFORE: Final[list[dict[str, Any]]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "earlier"},
    {"role": "assistant", "content": "said earlier"},
]
_CLARIFIES: Final = ("__clarify__",)


def _asks_person(question: str) -> Ask:
    return Ask("__clarify__", {"question": question})


ENDINGS: Final[dict[str, Scenario]] = {
    "texts in two turns": Scenario(setup(tool("a")), {}, chat(Says("I look.", [Ask(0)]), Says("done"), events=True)),
    "nothing after a text": Scenario(setup(tool("a")), {}, chat(Says("I look.", [Ask(0)]), Says(""), events=True)),
    "an answer without calls is cut": Scenario(setup(tool("a")), {}, chat(Says("half an answer", finish="length"))),
    "an answer without text or calls is cut": Scenario(setup(tool("a")), {}, chat(Says("", finish="length"))),
    "an answer without text or calls is withheld": Scenario(
        setup(tool("a")), {}, chat(Says("", finish="content_filter"))
    ),
    "a question with white space around it": Scenario(
        setup(tool("a"), meta_tools=_CLARIFIES), {}, chat(Says("Hm.", [_asks_person(" Which year?\n")]))
    ),
    "a question in the last turn": Scenario(
        setup(tool("a"), max_turns=1, meta_tools=_CLARIFIES), {}, chat(Says("Hm.", [_asks_person("Which year?")]))
    ),
    "the last of two questions": Scenario(
        setup(tool("a"), meta_tools=_CLARIFIES),
        {},
        chat(Says("", [_asks_person("Which year?"), _asks_person("Which month?")])),
    ),
    "a question, and the time is over": Scenario(
        setup(tool("a"), chat_timeout=5, meta_tools=_CLARIFIES),
        {0: [Act(delay=20)]},
        chat(Says("", [Ask(0), _asks_person("Which year?")])),
    ),
    "a display in the last turn": Scenario(
        setup(tool("a"), max_turns=1), {0: [Act(display="small")]}, chat(Says("Here.", [Ask(0)]))
    ),
    "nothing in the last turn": Scenario(setup(tool("a"), max_turns=2), {}, chat(Says("", [Ask(0)]), Says(" "))),
    "a text in an earlier turn, and none in the last": Scenario(
        setup(tool("a"), max_turns=3),
        {},
        chat(Says("I look.", [Ask(0)]), Says("Once more.", [Ask(0)]), Says("", [Ask(0)]), Says("no"), events=True),
    ),
    "a thought, and then nothing": Scenario(
        setup(tool("a"), meta_tools=("__think__",)),
        {},
        chat(Says("", [Ask("__think__", {"thought": "They mean it."})]), Says("")),
    ),
    "an answer breaks off where one turn is left": Scenario(
        setup(tool("a"), max_turns=2),
        {},
        chat(Says("", [Ask(0)]), Says("half an ans", fails="network", broken=True), Says("done"), events=True),
    ),
    "calls with a text, after an answer that broke off": Scenario(
        setup(tool("a")),
        {},
        chat(Says("I lo", fails="network", broken=True), Says("I look.", [Ask(0)]), Says("done"), events=True),
    ),
    "another model, and the limit of turns": Scenario(
        setup(tool("a"), max_turns=3),
        {},
        chat(Says("", [Ask(0)]), Says("", fails="network"), *[Says("", [Ask(0)])] * 5),
        fallbacks=1,
    ),
    "a model fails after a turn, in a conversation": Scenario(
        setup(tool("a")),
        {},
        chat(
            Says("I look.", [Ask(0)]),
            Says("half an ans", fails="content", broken=True),
            history=_BEFORE,
            events=True,
        ),
    ),
    "the time is over in the second answer": Scenario(
        setup(tool("a"), chat_timeout=4),
        {},
        chat(Says("I look.", [Ask(0)], delay=1), Says("half an ans", delay=1, stalls=True), events=True),
    ),
    "the time is over before the second answer": Scenario(
        setup(tool("a"), chat_timeout=5), {}, chat(Says("I look.", [Ask(0)]), Says("", stalls=True), events=True)
    ),
    "a long answer of one model, before another": Scenario(
        setup(quota_tokens={"poor": 2000}),
        {},
        [Conversation([Says(_LONG, fails="rate_limit", broken=True), Says("not allowed")], tenant="poor")],
        fallbacks=1,
    ),
    "a chat is cancelled while its call, and an equal one of another, wait for a slot": Scenario(
        setup(tool("slow"), tool("kept", cacheable=True, read_only=True), cache=True, max_concurrency=1),
        {0: [Act(delay=6)]},
        [
            Conversation([Says("", [Ask(0)]), Says("done")]),
            Conversation([Says("", [Ask(1, tag="same")])], begins=1, cancelled=2.5),
            Conversation([Says("", [Ask(1, tag="same")]), Says("done")], begins=2),
        ],
    ),
    "two models use up one quota": Scenario(
        setup(tool("a"), quota_tokens={"poor": 2000}),
        {},
        [
            Conversation(
                [
                    *(Says("", [Ask(0)], tokens=1500), Says("", fails="network")),
                    *(Says("", [Ask(0)], tokens=1500), Says("not allowed", tokens=5)),
                ],
                tenant="poor",
            )
        ],
        fallbacks=1,
    ),
    "a long answer that the vendor does not count": Scenario(
        setup(tool("a"), quota_tokens={"poor": 2000}),
        {},
        [
            Conversation([Says(_LONG)], tenant="poor"),
            Conversation([Says("not allowed")], tenant="poor", begins=10),
        ],
    ),
}
