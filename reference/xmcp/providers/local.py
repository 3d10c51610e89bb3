"""Models on one's own machine, through the openai SDK: Ollama, vLLM, and other servers with the same format."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import urlsplit

from xmcp.option_names import checking_options
from xmcp.providers.openai import OpenAIProvider

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

_PORT: Final = 11434
"""Ollama's."""


class LocalProvider(OpenAIProvider):
    """Completions from a local server, which needs no key.

    Args:
        model: Model for requests that name none (default `gpt-oss:20b`); it must be on the server.
        base_url: Address of the server with its path (vLLM: `http://localhost:8000/v1`); default that of Ollama in
            `OLLAMA_HOST`, or `http://localhost:11434/v1`.
        api_key: Only for a server that asks for one (`vllm serve --api-key`); no variable is read.
        supports_tools: Whether the model can call tools; one that cannot is asked without any.
        max_context_tokens: Size of the model's context window in tokens.
        client: A ready `openai.AsyncOpenAI` instead of key and address; the caller closes it.
        http_client: An `httpx2.AsyncClient` that sends the requests; the caller closes it.

    Raises:
        TypeError: `http_client` is of another class.
        ValueError: `client` together with `api_key`, `base_url` or `http_client`, or an address that is none.
    """

    name = "local"
    title: ClassVar[str] = "local"
    default_model: ClassVar[str] = "gpt-oss:20b"
    key_variables: ClassVar[tuple[str, ...]] = ()
    url_variable: ClassVar[str | None] = None
    default_url: ClassVar[str | None] = f"http://localhost:{_PORT}/v1"
    host: ClassVar[str] = ""
    hint: ClassVar[str] = "Is it running? Start it with `ollama serve`, or `vllm serve MODEL` and its base_url=..."

    @checking_options()
    def __init__(
        self,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        supports_tools: bool = True,
        max_context_tokens: int | None = None,
        client: AsyncOpenAI | None = None,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        address = base_url if client is not None else base_url or _ollama(os.environ.get("OLLAMA_HOST", ""))
        super().__init__(api_key, address, model, client=client, http_client=http_client)
        self.supports_tools = supports_tools
        self.max_context_tokens = max_context_tokens


def _ollama(host: str) -> str | None:
    """Return the address of the API for a value of `OLLAMA_HOST`, which may lack scheme, host or port.

    The value may be meant for the server: then it names all interfaces, which is no address to connect to.
    """
    if not (host := host.strip()):
        return LocalProvider.default_url
    scheme = "" if "://" in host else "http://"
    parts = urlsplit(f"{scheme}{host}")
    login, at, place = parts.netloc.rpartition("@")
    name, colon, port = place.rpartition(":") if not place.endswith("]") else (place, "", "")
    if not colon:
        name, port = place, ""
    if name in ("", "0.0.0.0", "[::]"):  # noqa: S104 - recognised, not listened on
        name = "localhost"
    port = port or (str(_PORT) if scheme else "")
    return f"{parts.scheme}://{login}{at}{name}{':' if port else ''}{port}{parts.path.rstrip('/')}/v1"
