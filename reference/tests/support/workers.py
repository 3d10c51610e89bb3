"""One gateway in several processes, which all are that of the test: each has its port, its socket and its runs."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.gateways import Served, served
from support.recorded_gateways import recorded
from xmcp.gateway.ids import conversation_of
from xmcp.gateway.workers.place import WorkerPlace


@dataclass
class Workers:
    """The processes, by their number."""

    all: list[Served]
    places: list[WorkerPlace]

    def home_of(self, name: str) -> Served:
        """Return the process to which what has this name belongs."""
        return self.all[self.places[0].home_of(name)]

    def wrong_for(self, name: str) -> Served:
        """Return a process to which it does not belong."""
        return self.all[self.places[0].home_of(name) - 1]

    def session_at(self, number: int, tenant: str | None = None, after: int = 0) -> str:
        """Return the id of a session that belongs to a process."""
        names = map(str, itertools.count(after))
        return next(name for name in names if self.places[0].home_of(conversation_of(tenant, name)) == number)

    def key_at(self, number: int) -> str:
        """Return an `Idempotency-Key` whose requests belong to a process, of a gateway without keys."""
        names = map(str, itertools.count())
        return next(name for name in names if self.places[0].home_of(f"local\0{name}") == number)


@asynccontextmanager
async def workers(
    folder: Path,
    model: Any,
    config: Mapping[str, Any] | None = None,
    *,
    count: int = 2,
    audit: Path | str | None = None,
    each: Callable[[int], Mapping[str, Any]] = lambda _: {},
    **options: Any,
) -> AsyncIterator[Workers]:
    """Serve one gateway in `count` processes; `audit` is the database in which all record, `each` what one has more."""
    places = [WorkerPlace(number, count, folder) for number in range(count)]
    async with AsyncExitStack() as exits:
        made = []
        for place in places:
            more = {**options, **each(place.number), "place": place}
            serving = served(model, config, **more) if audit is None else recorded(model, audit, config, **more)
            made.append(await exits.enter_async_context(serving))
        yield Workers(made, places)
