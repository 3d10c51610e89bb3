"""A provider for a model of your own: here one that answers with a line of JSON for each thing that it says.

Use it as `AIClient(servers, llm_provider=HouseProvider("https://models.example.com", key))`. `test_provider.py`
beside it has the contract of all providers.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator

import httpx2

from xmcp.providers import Completion, ErrorCategory, ModelRequest, ProviderError, ToolCall, Usage

REFUSALS = {
    401: ErrorCategory.AUTH,
    402: ErrorCategory.BALANCE,
    403: ErrorCategory.QUOTA,
    404: ErrorCategory.MODEL,
    413: ErrorCategory.CONTEXT,
    422: ErrorCategory.CONTENT,
    429: ErrorCategory.RATE_LIMIT,
}


class HouseProvider:
    """Completions from the model of the house."""

    name = "house"
    supports_tools = True
    max_context_tokens: int | None = None

    def __init__(self, url: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx2.AsyncClient(base_url=url, headers=headers, timeout=httpx2.Timeout(300, connect=5))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Completion, None]:
        """Ask the model once: yield its text in pieces, then the completion."""
        model, text, calls, done = request.model or "house-1", "", list[ToolCall](), None
        body = {"model": model, "messages": list(request.messages), "tools": list(request.tools.tools)}
        try:
            async with self._http.stream("POST", "/answer", json={**body, **request.sampler.to_dict()}) as answer:
                if answer.status_code != 200:
                    category = REFUSALS.get(answer.status_code, ErrorCategory.NETWORK)
                    raise self._error(f"it refuses {model} (HTTP status {answer.status_code})", category)
                async for line in _lines(answer):
                    said = json.loads(line)
                    if "text" in said:
                        text += said["text"]
                        yield said["text"]
                    elif "call" in said:
                        call = said["call"]
                        calls.append(ToolCall(call["id"], call["name"], json.dumps(call["arguments"])))
                    else:
                        done = Completion(text, tuple(calls), said["end"], Usage(*said["tokens"]), said["model"])
        except httpx2.HTTPError as exc:
            raise self._error(f"no answer ({type(exc).__name__})", ErrorCategory.NETWORK, began=bool(text)) from exc
        except (ValueError, TypeError, LookupError) as exc:
            raise self._error("what it answers is none of its lines: check the address", ErrorCategory.UNKNOWN) from exc
        if done is None:
            raise self._error("it broke off in the middle of its answer", ErrorCategory.NETWORK, began=True)
        yield done

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _error(self, what: str, category: ErrorCategory, *, began: bool = False) -> ProviderError:
        return ProviderError(f"The model of the house: {what}.", category=category, provider=self.name, began=began)


async def _lines(answer: httpx2.Response) -> AsyncIterator[bytes]:
    """Yield the lines of an answer. `aiter_lines` would split a text at U+2028, too, which JSON can have."""
    rest = b""
    async for piece in answer.aiter_bytes():
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line
