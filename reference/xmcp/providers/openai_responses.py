"""OpenAI's Responses API, also at Azure: it keeps what a reasoning model thought from one of its calls to the next."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from xmcp.chat.completions import Completion
from xmcp.providers.base import ModelRequest
from xmcp.providers.formats import responses
from xmcp.providers.stainless import StainlessProvider
from xmcp.providers.streamed_answers import Written

if TYPE_CHECKING:
    import httpx2
    from openai import APIStatusError, AsyncOpenAI


MAX_WITHOUT_REASONING: Final = 1000
"""Maximum number of models of which is remembered that they have no reasoning."""

_NO_REASONING: Final = re.compile(r"(?i)encrypted.content is not supported|reasoning\.encrypted_content")


class OpenAIResponsesProvider(StainlessProvider["AsyncOpenAI"]):
    """Completions from OpenAI's Responses API, and from servers that have it.

    Nothing is stored at the vendor: each request brings the history, and with it the encrypted reasoning of earlier
    answers. The API has neither `stop` nor `seed`; these options are left out.

    Args:
        api_key: The key; default `OPENAI_API_KEY`. With a `base_url` no key is needed.
        base_url: Address of another server with the same format, with its path (`http://localhost:8000/v1`); default
            `OPENAI_BASE_URL`.
        model: Model for requests that name none (default `gpt-5`).
        client: A ready `openai.AsyncOpenAI` or `AsyncAzureOpenAI` instead of key and address; the caller
            closes it.
        http_client: An `httpx2.AsyncClient` that sends the requests, with its proxies, certificates and hooks; the
            caller closes it.

    Raises:
        TypeError: `http_client` is of another class.
        ValueError: `client` together with `api_key`, `base_url` or `http_client`, or a base URL that is none.
        ProviderError: no key anywhere (category `auth`).
    """

    name = responses.NAME
    title: ClassVar[str] = "OpenAI"
    api: ClassVar[str] = "OpenAI's Responses API"
    package: ClassVar[str] = "openai"
    default_model: ClassVar[str] = "gpt-5"
    key_variables: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)
    url_variable: ClassVar[str | None] = "OPENAI_BASE_URL"
    default_url: ClassVar[str | None] = "https://api.openai.com/v1"
    host: ClassVar[str] = "api.openai.com"

    @cached_property
    def _without_reasoning(self) -> set[str]:
        """Models that refused to be asked for their reasoning."""
        return set()

    def path(self, client: AsyncOpenAI, model: str) -> str:  # noqa: ARG002 - Azure too takes the model from the body
        """See `StainlessProvider.path`."""
        return "/responses"

    def written(self, model: str, request: ModelRequest) -> Written:
        """See `StreamingProvider.written`."""
        return Written(
            responses.request_body(
                model,
                request.messages,
                request.tools,
                request.sampler,
                encrypted_reasoning=model not in self._without_reasoning,
            )
        )

    def parse(self, data: bytes, called: str) -> Mapping[str, Any]:
        """See `StreamingProvider.parse`."""
        return responses.parse(data, called)

    def assembly(self, request: ModelRequest) -> responses.Assembly:
        """See `StreamingProvider.assembly`."""
        return responses.Assembly(self._called, request.received)

    def whole(self, answer: Mapping[str, Any], request: ModelRequest) -> tuple[str, Completion]:  # noqa: ARG002
        """See `StreamingProvider.whole`."""
        return responses.whole(answer, self._called)

    def _made(self, sdk: Any, http: httpx2.AsyncClient) -> AsyncOpenAI:
        client: AsyncOpenAI = sdk.AsyncOpenAI(api_key=self._api_key, base_url=self._base_url, http_client=http)
        return client

    def _asks_again(self, refusal: APIStatusError, model: str) -> bool:
        """Remember a model that has no reasoning, and ask it again without asking for that."""
        refused = refusal.status_code == 400 and (refusal.param == "include" or _NO_REASONING.search(refusal.message))
        if refused and len(self._without_reasoning) >= MAX_WITHOUT_REASONING:
            self._without_reasoning.clear()
        if refused:
            self._without_reasoning.add(model)
        return bool(refused)
