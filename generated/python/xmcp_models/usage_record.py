"""Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again."""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field


class UsageRecord(BaseModel):
    """
    What one call of a model used (spec section 10.3). What is not known is null. Unknown keys are ignored.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    input_tokens: Annotated[int | None, Field(ge=0)]
    """
    Tokens of the request as the vendor counted them, cached ones included.
    """
    output_tokens: Annotated[int | None, Field(ge=0)]
    cached_tokens: Annotated[int | None, Field(ge=0)]
    """
    How many of the input tokens came from the vendor's cache.
    """
    cost_usd: Annotated[float | None, Field(ge=0.0)]
    """
    Price in US dollars; null where the price of the model is not known.
    """
    timestamp: AwareDatetime
    """
    When the call ended.
    """
    session_id: str | None
    tenant_id: str | None
    provider: Annotated[str, Field(min_length=1)]
    model: Annotated[str, Field(min_length=1)]
