"""OpenAI's Responses API, also at Azure: it keeps what a reasoning model thought from one of its calls to the next."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from xmcp.providers.base import ModelRequest
from xmcp.providers.formats import responses
from xmcp.providers.openai_sdk import Format, OpenAISDKProvider

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI


MAX_WITHOUT_REASONING: Final = 1000
"""Maximum number of models of which is remembered that they have no reasoning."""

_NO_REASONING: Final = re.compile(r"(?i)encrypted.content is not supported|reasoning\.encrypted_content")


class OpenAIResponsesProvider(OpenAISDKProvider):
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

    Raises:
        ValueError: `client` together with `api_key` or `base_url`, or a base URL that is none.
        ProviderError: no key anywhere (category `auth`).
    """

    name = responses.NAME

    _format: ClassVar[Format] = responses
    _api = "OpenAI's Responses API"
    default_model: ClassVar[str] = "gpt-5"

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        model: str | None = None,
        *,
        client: AsyncOpenAI | None = None,
    ) -> None:
        super().__init__(api_key, base_url, model, client=client)
        self._without_reasoning: set[str] = set()

    def _path(self, client: AsyncOpenAI, model: str) -> str:  # noqa: ARG002 - Azure too takes the model from the body
        return "/responses"

    def body(self, model: str, request: ModelRequest) -> bytes:
        """See `OpenAISDKProvider.body`."""
        return responses.request_body(
            model,
            request.messages,
            request.tools,
            request.sampler,
            encrypted_reasoning=model not in self._without_reasoning,
        )

    def _asks_again(self, refusal: APIStatusError, model: str) -> bool:
        """Remember a model that has no reasoning, and ask it again without asking for that."""
        refused = refusal.status_code == 400 and (refusal.param == "include" or _NO_REASONING.search(refusal.message))
        if refused and len(self._without_reasoning) >= MAX_WITHOUT_REASONING:
            self._without_reasoning.clear()
        if refused:
            self._without_reasoning.add(model)
        return bool(refused)
