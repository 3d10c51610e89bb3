"""openai: AsyncOpenAI, and a loop that runs the client's own tool."""

import loop
from openai import AsyncOpenAI
from pydantic import BaseModel

TOOL = {"type": "function", "function": {"name": "my_clock", "parameters": {"type": "object", "properties": {}}}}


class Sum(BaseModel):
    """The structured answer."""

    sum: int


async def chat(asked, question, told):
    """Have one chat."""
    messages = [{"role": "user", "content": question}]
    async with AsyncOpenAI(base_url=asked["url"], api_key=asked["key"], max_retries=0, timeout=60) as client:
        if asked["does"] == "structured":
            done = await client.chat.completions.parse(model=asked["model"], messages=messages, response_format=Sum)
            told["text"] = done.choices[0].message.parsed.model_dump_json()
            return
        own = {"tools": [TOOL]} if asked["does"] else {}
        while True:
            message = await (streamed if asked["stream"] else whole)(client, asked, messages, own, told)
            calls = message.tool_calls or []
            if not (own and calls):
                told["calls"] = [call.function.name for call in calls]
                return
            messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
            for call in calls:
                told["ran"].append(call.function.name)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": loop.OWN_TOOL_SAYS})


async def whole(client, asked, messages, own, told):
    """Return the message of an answer in one piece."""
    done = await client.chat.completions.create(model=asked["model"], messages=messages, **own)
    told["text"] = done.choices[0].message.content or ""
    told["usage"] = [done.usage.prompt_tokens, done.usage.completion_tokens]
    return done.choices[0].message


async def streamed(client, asked, messages, own, told):
    """Return the message of a stream, which the helper of the client puts together."""
    told["text"] = ""
    asking = {"model": asked["model"], "messages": messages, "stream_options": {"include_usage": True}, **own}
    async with client.chat.completions.stream(**asking) as stream:
        async for event in stream:
            if event.type == "content.delta":
                told["text"] += event.delta
        done = await stream.get_final_completion()
    told["usage"] = done.usage and [done.usage.prompt_tokens, done.usage.completion_tokens]
    return done.choices[0].message


loop.serve(chat)
