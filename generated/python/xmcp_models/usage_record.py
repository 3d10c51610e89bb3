"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field


class UsageRecord(BaseModel):
    """
    What one request to a model used (spec section 10.3). A count or price that is not known is null. Unknown members are ignored.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    input_tokens: Annotated[int | None, Field(ge=0)]
    """
    Tokens of the request, cached ones included. They are those that the vendor counted, unless `estimated` is true.
    """
    output_tokens: Annotated[int | None, Field(ge=0)]
    """
    Tokens of the answer, those of reasoning included.
    """
    cached_tokens: Annotated[int | None, Field(ge=0)]
    """
    How many of the input tokens came from the vendor's cache.
    """
    reasoning_tokens: Annotated[int | None, Field(ge=0)] = None
    """
    How many of the output tokens the model spent on reasoning. A record that lacks it says as much as one with null.
    """
    cost_usd: Annotated[float | None, Field(ge=0.0)]
    """
    Price in US dollars; null where the price of the model is not known.
    """
    timestamp: AwareDatetime
    """
    When the request ended.
    """
    session_id: str | None
    tenant_id: str | None
    provider: Annotated[str, Field(min_length=1)]
    model: Annotated[str, Field(min_length=1)]
    estimated: bool | None = None
    """
    True where a count is an estimate of the client, because the vendor did not give it, as for an answer that was not received to its end.
    """
