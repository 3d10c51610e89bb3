"""instructor: structured answers by `response_format`, and as the arguments of a tool that the model must call."""

import instructor
import loop
from openai import AsyncOpenAI
from pydantic import BaseModel


class Sum(BaseModel):
    """The structured answer."""

    sum: int


async def chat(asked, question, told):
    """Have one chat, with each of the modes."""
    texts = set()
    for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA):
        async with AsyncOpenAI(base_url=asked["url"], api_key=asked["key"], max_retries=0, timeout=60) as api:
            client = instructor.from_openai(api, mode=mode)
            messages = [{"role": "user", "content": question}]
            done = await client.create(model=asked["model"], messages=messages, response_model=Sum, max_retries=0)
            texts.add(done.model_dump_json())
    told["text"] = " or ".join(sorted(texts))


loop.serve(chat)
