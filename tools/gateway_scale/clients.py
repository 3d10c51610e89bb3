"""The clients: each plays one entry of the plan over HTTP, and notes what came back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import aiohttp

from tools.gateway_scale.plan import Planned
from tools.gateway_scale.words import Question, foreign, secret_of, words_in

CHAT_SECONDS: Final = 90.0
"""Maximum time of one request."""

ATTEMPTS: Final = 4
"""How often a request is sent that is refused because the gateway is busy."""

Ending: TypeAlias = Literal["answered", "quota", "left", "other"]


class Chat(NamedTuple):
    """One chat as its client saw it. `words` are those of tenants in what came back."""

    tenant: str
    kind: str
    run: str
    status: int
    ending: Ending
    words: frozenset[str]
    told: str = ""


@dataclass
class Notes:
    """What all clients saw."""

    chats: list[Chat] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Answers that have other words than those that their tenant was to hear."""
    trespasses: int = 0
    trespassed: list[str] = field(default_factory=list)
    """What a tenant was shown of another: what was not refused with 404."""
    busy: int = 0
    """Requests that were refused because too much went on, and were sent again after the time that the answer said."""
    replays: int = 0
    repeated: list[str] = field(default_factory=list)
    """Requests that were sent again and did not get the first run."""


class Clients:
    """Plays a plan.

    Args:
        url: The gateway.
        names: Of the tenants.
        keys: A key of each.
        tokens: The credential of each at the tool server.
    """

    def __init__(self, url: str, names: Sequence[str], keys: Mapping[str, str], tokens: Mapping[str, str]) -> None:
        self._url, self._names, self._keys, self._tokens = url, names, keys, tokens
        self._runs: dict[str, str] = {}
        """The last run of each tenant."""
        self.notes = Notes()

    async def play(self, plan: Sequence[Planned], at_once: int) -> None:
        """Play all of it; so many clients work at the same time."""
        waiting = iter(plan)
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=2)
        timeout = aiohttp.ClientTimeout(total=CHAT_SECONDS)
        async with aiohttp.ClientSession(self._url, connector=connector, timeout=timeout) as http:
            await asyncio.gather(*(self._work(http, waiting) for _ in range(at_once)))

    async def _work(self, http: aiohttp.ClientSession, waiting: Iterable[Planned]) -> None:
        for one in waiting:
            try:
                await self._play(http, one)
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                name = self._names[one.tenant]
                self._note(Chat(name, one.kind, "", 0, "other", frozenset(), f"{type(error).__name__}: {error}"))

    async def _play(self, http: aiohttp.ClientSession, one: Planned) -> None:
        name = self._names[one.tenant]
        match one.kind:
            case "leaves":
                self._note(await self._cut(http, one, {}))
            case "retries":
                # The keys of the tenants are equal: each has to get its own run.
                headers = {"idempotency-key": f"key-{one.number // len(self._names)}"}
                first = await self._cut(http, one, headers)
                again = await self._ask(http, one, one.questions[0], headers)
                self.notes.replays += 1
                if again.run != first.run or again.ending != "answered":
                    self.notes.repeated.append(f"{first.run} was {again.run} ({again.status}, {again.ending})")
                self._judged(again, one.questions)
            case "session":
                for number in range(len(one.questions)):
                    # So are the names of sessions.
                    more = {"session_id": f"session-{one.number // len(self._names)}"}
                    chat = await self._ask(http, one, one.questions[number], {}, more)
                    if chat.ending != "answered":
                        self._note(chat)
                        return
                    self._judged(chat, one.questions[: number + 1])
            case _:
                chat = await self._ask(http, one, one.questions[0], {})
                self._judged(chat, one.questions)
                if one.kind == "trespasses":
                    await self._trespass(http, name)

    async def _ask(
        self,
        http: aiohttp.ClientSession,
        one: Planned,
        question: Question,
        headers: Mapping[str, str],
        more: Mapping[str, Any] | None = None,
    ) -> Chat:
        """Send a question, read the answer to its end, and return the chat."""
        stream = one.kind in ("stream", "v1_stream", "retries")
        path, body = _request(one.kind, question, stream=stream)
        sent = self._headers(one, headers, stream=stream)
        for attempt in range(1, ATTEMPTS + 1):
            async with http.post(path, json={**body, **(more or {})}, headers=sent) as answer:
                text = await answer.text()
            if answer.status != 429 or '"rate_limit_exceeded"' not in text or attempt == ATTEMPTS:
                break
            self.notes.busy += 1
            await asyncio.sleep(float(answer.headers.get("retry-after", "1")))
        run = answer.headers.get("xmcp-run-id", "")
        ending = ending_of(answer.status, text, stream=stream, native=path == "/chat")
        told = "" if ending == "answered" else text[-300:]
        return Chat(self._names[one.tenant], one.kind, run, answer.status, ending, frozenset(words_in(text)), told)

    async def _cut(self, http: aiohttp.ClientSession, one: Planned, headers: Mapping[str, str]) -> Chat:
        """Send a question, and cut the connection at the first bytes of the answer."""
        path, body = _request(one.kind, one.questions[0], stream=True)
        async with http.post(path, json=body, headers=self._headers(one, headers, stream=True)) as answer:
            text = (await answer.content.readany()).decode()
            run, name = answer.headers.get("xmcp-run-id", ""), self._names[one.tenant]
            ending: Ending = "left" if answer.status == 200 else "other"
            answer.close()
            return Chat(name, one.kind, run, answer.status, ending, frozenset(words_in(text)), text[:300])

    async def _trespass(self, http: aiohttp.ClientSession, name: str) -> None:
        """Ask for the run, the conversation and the session of another tenant."""
        others = [other for other in self._runs if other != name]
        if not others:
            return
        other = others[len(self.notes.chats) % len(others)]
        run = self._runs[other]
        own = {"authorization": f"Bearer {self._keys[other]}"}
        async with http.get("/conversations?limit=1", headers=own) as answer:
            found = (await answer.json()).get("conversations", []) if answer.status == 200 else []
        ways = [("GET", f"/runs/{run}"), ("GET", f"/runs/{run}/events"), ("POST", f"/runs/{run}/cancel")]
        ways += [("GET", f"/conversations/{one['id']}") for one in found]
        ways += [("GET", f"/conversations/{one['id']}/replay") for one in found]
        ways += [("DELETE", f"/conversations/{one['id']}") for one in found]
        ways += [("GET", f"/sessions/only-of-{other}"), ("DELETE", f"/sessions/only-of-{other}")]
        for method, path in ways:
            self.notes.trespasses += 1
            status = await self._status(http, method, path, self._keys[name])
            if status != 404:
                self.notes.trespassed.append(f"{method} {path}: {status}")

    async def _status(self, http: aiohttp.ClientSession, method: str, path: str, key: str) -> int:
        """Return how a request is answered, once the gateway is not too busy to answer."""
        for _ in range(ATTEMPTS):
            async with http.request(method, path, headers={"authorization": f"Bearer {key}"}) as answer:
                if answer.status != 429:
                    break
            self.notes.busy += 1
            await asyncio.sleep(float(answer.headers.get("retry-after", "1")))
        return answer.status

    def _headers(self, one: Planned, more: Mapping[str, str], *, stream: bool) -> dict[str, str]:
        accept = {"accept": "text/event-stream" if stream else "application/json"}
        return {"authorization": f"Bearer {self._keys[self._names[one.tenant]]}", **accept, **more}

    def _judged(self, chat: Chat, questions: Sequence[Question]) -> None:
        """Note a chat, and what is wrong with its words: an answer has those of its questions and the secret."""
        self._note(chat)
        expected = {question.word for question in questions}
        if any(question.do == "call" for question in questions):
            expected.add(secret_of(self._tokens[chat.tenant]))
        if chat.ending == "answered" and chat.words != expected:
            self.notes.wrong.append(f"{chat.tenant} {chat.kind}: {sorted(chat.words ^ expected)}")

    def _note(self, chat: Chat) -> None:
        self.notes.chats.append(chat)
        if others := foreign(chat.words, chat.tenant):
            self.notes.wrong.append(f"{chat.tenant} {chat.kind} was told {sorted(others)}")
        if chat.run:
            self._runs[chat.tenant] = chat.run


def _request(kind: str, question: Question, *, stream: bool) -> tuple[str, dict[str, Any]]:
    if kind.startswith("v1"):
        messages = [{"role": "user", "content": question.text}]
        return "/v1/chat/completions", {"model": "scripted", "messages": messages, "stream": stream}
    return "/chat", {"input": question.text}


def ending_of(status: int, text: str, *, stream: bool, native: bool) -> Ending:
    """Return how a chat ended, from the whole of what was sent. Pure."""
    if status == 429 or (status == 200 and stream):
        if "insufficient_quota" in text or '"QUOTA_EXCEEDED"' in text:
            return "quota"
        done = "event: run.finished" in text if native else '"finish_reason":"stop"' in text
        return "answered" if status == 200 and done else "other"
    with suppress(ValueError):
        value = json.loads(text)
        ended = value.get("status") == "finished" if native else bool(value.get("choices"))
        return "answered" if status == 200 and ended else "other"
    return "other"
