"""What a request costs by the price library, genai-prices. It is loaded when it is needed, and asks no network."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from xmcp.chat.usage import Usage
from xmcp.client.hooks.log import EventLog

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo

    from xmcp.client.loop.usage import Price

MAX_MODELS: Final = 256
"""Maximum number of models that are remembered: their names come from vendors."""

MAX_NAME: Final = 200
"""Maximum length of the name of a model that is looked for."""


def billed_url(provider: object) -> str | None:
    """Return the address by which the library knows who bills a provider's requests; `None` if nobody it knows does.

    A model of the same name at another server has another price, so the name of a provider says nothing.
    """
    url = getattr(provider, "api_url", None)
    # The library knows vendors, whose addresses all begin like this. Without one, it need not be loaded.
    return url if isinstance(url, str) and url.startswith("https://") else None


class LibraryPrices:
    """The prices that the library knows at the moment, also after its `UpdatePrices` has fetched newer ones."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._snapshot: DataSnapshot | None = None
        self._models: dict[tuple[str, str], ModelInfo | None] = {}
        self._warned = False
        self.loaded = False
        """Whether `load` has ended, so that a price takes no import in the event loop."""

    async def load(self) -> None:
        """Import the library in a thread, since that takes about 0.1 s, and longer the first time."""
        try:
            await asyncio.to_thread(_snapshot)
        except Exception:
            # Without prices, chats work: each record then says that its cost is not known.
            self._log.exception("prices_not_loaded")
        self.loaded = True

    def of(self, provider: object) -> Price:
        """Return the prices of the vendor that bills the requests of `provider`."""
        return partial(self._cost, provider)

    def _cost(self, asked: object, provider: str, model: str, usage: Usage) -> float | None:
        """Return the US dollars of one request; `None` if vendor, model or one of its counts is not known.

        Raises:
            Exception: the library could not be loaded, or has a fault.
        """
        if (url := billed_url(asked)) is None:
            return None
        if (known := self._model(url, model)) is None:
            if not self._warned:
                self._warned = True
                message = "The price library does not know this model. Its requests have no cost, and count in no quota"
                shown = model[:MAX_NAME]
                self._log.warning("price_unknown", provider=provider, model=shown, message=f"{message} in dollars.")
            return None
        read, written = usage.input_tokens, usage.output_tokens
        if read is None or written is None:
            return None
        price = known.get_prices(datetime.now(UTC))
        if price.input_mtok is None and price.output_mtok is None:
            return None  # it is paid by something that is not counted here, such as seconds of sound
        import genai_prices

        # Counts of a vendor can disagree, which the library refuses.
        cached = min(usage.cached_tokens or 0, read)
        stored = min(usage.cache_write_tokens or 0, read - cached)
        counted = genai_prices.Usage(
            input_tokens=read, cache_read_tokens=cached, cache_write_tokens=stored, output_tokens=written
        )
        return float(price.calc_price(counted)["total_price"])

    def _model(self, url: str, name: str) -> ModelInfo | None:
        snapshot = _snapshot()
        if snapshot is not self._snapshot or len(self._models) >= MAX_MODELS:
            self._snapshot = snapshot
            self._models.clear()
        if (url, name) not in self._models:
            self._models[url, name] = _found(snapshot, url, name) if len(name) <= MAX_NAME else None
        return self._models[url, name]


def _snapshot() -> DataSnapshot:
    from genai_prices.data_snapshot import get_snapshot

    return get_snapshot()


def _found(snapshot: DataSnapshot, url: str, name: str) -> ModelInfo | None:
    try:
        # Not by the library's own look-up of models, which remembers every name that it was ever asked for.
        vendor = snapshot.find_provider(None, None, url)
    except LookupError:
        return None
    model = vendor.find_model(name, all_providers=snapshot.providers)
    return model if model is not None and model.prices else None
