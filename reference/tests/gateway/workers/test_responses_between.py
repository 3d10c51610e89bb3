"""Going on from a response whose run another process has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.gateways import Served
from support.scripted_model import ScriptedModel
from support.workers import workers


def sent(model: ScriptedModel) -> list[Any]:
    """Return what the model was sent last."""
    return [message["content"] for message in model.requests[-1].messages]


@pytest.mark.parametrize("entry", [0, 1, 2])
@pytest.mark.parametrize("by", ["id", "items"])
async def test_a_client_goes_on_from_a_response_through_every_process(tmp_path: Path, entry: int, by: str) -> None:
    model = ScriptedModel("one", "two", "three")
    async with workers(tmp_path, model, count=3) as up:
        at: Served = up.all[entry]
        async with at.openai() as client:
            first = await client.responses.create(model="assistant", input="a")
            for number, other in enumerate(up.all):
                async with other.openai() as elsewhere:
                    found = await elsewhere.responses.retrieve(first.id)
                    assert (number, found.output_text) == (number, "one")
            last = first
            for said in ("b", "c"):
                going_on: Any = {"previous_response_id": last.id, "input": said}
                if by == "items":
                    reference = {"type": "item_reference", "id": last.output[-1].id}
                    going_on = {"input": [reference, {"role": "user", "content": said}]}
                last = await client.responses.create(model="assistant", **going_on)
    assert sent(model)[-2:] == ["two", "c"]
    if by == "id":
        assert sent(model) == ["a", "one", "b", "two", "c"]
