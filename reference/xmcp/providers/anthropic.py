"""Anthropic's Claude, by the Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from xmcp.chat.completions import Completion
from xmcp.chat.errors import ProviderError
from xmcp.chat.sampler_config import SamplerConfig
from xmcp.providers.base import ModelRequest
from xmcp.providers.formats import anthropic_messages
from xmcp.providers.stainless import StainlessProvider
from xmcp.providers.streamed_answers import Written

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic


class AnthropicProvider(StainlessProvider["AsyncAnthropic"]):
    """Completions from Claude. It needs `pip install 'xmcp[anthropic]'`.

    Temperature, `top_p` and `seed` are left out, since the vendor refuses them. A model that thinks keeps its signed
    thinking in the history, and gets it back.

    Args:
        api_key: The key; default `ANTHROPIC_API_KEY`, else `ANTHROPIC_AUTH_TOKEN`. With a `base_url` no key is needed.
        base_url: Address of another server with the same format, without `/v1`; default `ANTHROPIC_BASE_URL`.
        model: Model for requests that name none (default `claude-sonnet-5-5`).
        client: A ready `anthropic.AsyncAnthropic` instead of key and address; the caller closes it.
        http_client: An `httpx2.AsyncClient` that sends the requests, with its proxies, certificates and hooks; the
            caller closes it.

    Raises:
        TypeError: `http_client` is of another class.
        ValueError: `client` together with `api_key`, `base_url` or `http_client`, or a `base_url` without a scheme.
        ProviderError: no key anywhere (category `auth`).
    """

    name = anthropic_messages.VENDOR
    title: ClassVar[str] = "Anthropic"
    api: ClassVar[str] = "Anthropic's Messages API"
    package: ClassVar[str] = "anthropic"
    extra: ClassVar[str | None] = "anthropic"
    default_model: ClassVar[str] = "claude-sonnet-5-5"
    key_variables: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    url_variable: ClassVar[str | None] = "ANTHROPIC_BASE_URL"
    default_url: ClassVar[str | None] = "https://api.anthropic.com"
    version_path: ClassVar[str] = "/v1"
    host: ClassVar[str] = "api.anthropic.com"
    sample_key: ClassVar[str] = "sk-ant-…"
    list_options: ClassVar[Mapping[str, int]] = {"limit": 1000}

    def path(self, client: AsyncAnthropic, model: str) -> str:  # noqa: ARG002 - the same for all
        """See `StainlessProvider.path`."""
        return "/v1/messages"

    def written(self, model: str, request: ModelRequest) -> Written:
        """See `StreamingProvider.written`."""
        sampler = _with_strict_schema(request.sampler)
        written = anthropic_messages.write(model, request.messages, request.tools, sampler, self.name)
        return Written(written.body, {} if written.beta is None else {"anthropic-beta": written.beta})

    def parse(self, data: bytes, called: str) -> Mapping[str, Any]:
        """See `StreamingProvider.parse`."""
        return anthropic_messages.parse(data, called)

    def assembly(self, request: ModelRequest) -> anthropic_messages.Assembly:
        """See `StreamingProvider.assembly`."""
        return anthropic_messages.Assembly(self._called, request.received, self.name)

    def whole(self, answer: Mapping[str, Any], request: ModelRequest) -> tuple[str, Completion]:
        """See `StreamingProvider.whole`."""
        return self.assembly(request).take_whole(answer)

    def reported(self, body: Mapping[str, Any], status: int) -> ProviderError:
        """See `StainlessProvider.reported`."""
        return anthropic_messages.reported(body, self._called, status=status)

    def _made(self, sdk: Any, http: httpx2.AsyncClient) -> AsyncAnthropic:
        client: AsyncAnthropic = sdk.AsyncAnthropic(api_key=self._api_key, base_url=self._base_url, http_client=http)
        return client


def _with_strict_schema(sampler: SamplerConfig) -> SamplerConfig:
    """Return the options with the schema of the answer in the form that the vendor takes, where the SDK knows one.

    It allows no members that are not named, and makes constraints that the vendor refuses a part of the description.
    """
    if sampler.response_format is None:
        return sampler
    import anthropic

    try:
        return replace(sampler, response_format=anthropic.transform_schema(dict(sampler.response_format)))
    except (ValueError, TypeError, AttributeError, AssertionError):
        return sampler  # the vendor says what is wrong with it, if anything is
