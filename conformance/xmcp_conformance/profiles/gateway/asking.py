"""What the suite asks a gateway for: chats, the events of a run, that a run ends, chat completions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import httpx2

from xmcp_conformance.core.untrusted_text import quoted

from .exchange import EVENTS, Answer, Exchange, NobodyThere, NotJudged, answer_to, exchange
from .options import PROMPT, RUN, Options, with_word

NOT_THERE: Final = (404, 405)
"""The statuses of an address at which there is nothing."""
_RUN_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
"""What can be put into a path; it is that of the schema of events."""


class Gateway:
    """The gateway that is judged."""

    def __init__(self, client: httpx2.AsyncClient, options: Options) -> None:
        self._client = client
        self._options = options
        self.model = options.model
        """The model for the API of OpenAI; empty while nobody knows one."""

    async def is_there(self) -> bool:
        """Return whether anything answers at its address."""
        try:
            await answer_to(self._client, "GET", "/", self._options.seconds)
        except NobodyThere:
            return False
        except NotJudged:
            return True
        return True

    def chat(self, prompt: str, accept: str) -> AbstractAsyncContextManager[Exchange]:
        """Ask for a chat, and provide the answer as it comes.

        Raises:
            NotJudged: there is no answer.
        """
        body = with_word(self._options.body, PROMPT, prompt)
        path, seconds = self._options.paths.chat, self._options.seconds
        return exchange(self._client, "POST", path, seconds, body=body, headers={"accept": accept})

    async def whole_chat(self, prompt: str, accept: str) -> Answer:
        """Return the answer to a request for a chat, when all of it is there.

        Raises:
            NotJudged: there is none.
        """
        async with self.chat(prompt, accept) as under_way:
            return await under_way.whole()

    async def events_of(self, run: str, after: str | None = None) -> Answer:
        """Return the events of a run after an id.

        Raises:
            NotJudged: there is no answer, or the id of the run cannot be put into a path.
        """
        headers = {"accept": EVENTS, **({} if after is None else {"last-event-id": after})}
        path = self._options.paths.resume.replace(RUN, _checked(run))
        return await answer_to(self._client, "GET", path, self._options.seconds, headers=headers)

    async def cancel(self, run: str) -> Answer:
        """Ask that a run ends.

        Raises:
            NotJudged: there is no answer, or the id of the run cannot be put into a path.
        """
        path = self._options.paths.cancel.replace(RUN, _checked(run))
        return await answer_to(self._client, "POST", path, self._options.seconds)

    async def choose_model(self) -> None:
        """Take the first model that is listed, unless one is named.

        Raises:
            NotJudged: none is listed.
        """
        if self.model:
            return
        path = self._options.paths.openai.replace("/chat/completions", "/models")
        answer = result(await answer_to(self._client, "GET", path, self._options.seconds), path, "--model")
        listed = answer.json.get("data")
        ids = [one.get("id") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        self.model = next((one for one in ids if isinstance(one, str)), "")
        if not self.model:
            raise NotJudged(f"lists no model at {path}; --model names one")

    async def complete(self, messages: Any, **more: Any) -> Answer:
        """Return the answer to a request for a chat completion.

        Raises:
            NotJudged: there is none.
        """
        body: Mapping[str, Any] = {"model": self.model or "any", "messages": messages, **more}
        return await answer_to(self._client, "POST", self._options.paths.openai, self._options.seconds, body=body)


def result(answer: Answer, path: str, option: str) -> Answer:
    """Return an answer that is a result.

    Args:
        answer: what was answered.
        path: where it was asked for.
        option: which option of the command says where else.

    Raises:
        NotJudged: it is none.
    """
    if answer.status in (401, 403):
        header = "--header 'Authorization: Bearer …' says who asks"
        raise NotJudged(f"refuses the caller (status {answer.status}); {header}")
    if answer.status in NOT_THERE:
        raise NotJudged(f"has nothing at {path} (status {answer.status}); {option} names the right one")
    if answer.refused or 300 <= answer.status < 400:
        raise NotJudged(f"answers with {answer}")
    return answer


def _checked(run: str) -> str:
    if not _RUN_ID.fullmatch(run):
        raise NotJudged(f"has a run with the id `{quoted(run)}`, which is none")
    return run
