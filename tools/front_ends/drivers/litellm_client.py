"""litellm: acompletion with the provider `openai`, and a loop that runs the client's own tool."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or it asks another machine for its prices

import litellm
import loop
from pydantic import BaseModel

TOOL = {"type": "function", "function": {"name": "my_clock", "parameters": {"type": "object", "properties": {}}}}


class Sum(BaseModel):
    """The structured answer."""

    sum: int


async def chat(asked, question, told):
    """Have one chat."""
    messages = [{"role": "user", "content": question}]
    asking = {
        "model": f"openai/{asked['model']}",
        "api_base": asked["url"],
        "api_key": asked["key"],
        "max_retries": 0,
        "timeout": 60,
    }
    if asked["does"] == "structured":
        done = await litellm.acompletion(messages=messages, response_format=Sum, **asking)
        told["text"] = Sum.model_validate_json(done.choices[0].message.content).model_dump_json()
        return
    own = {"tools": [TOOL]} if asked["does"] else {}
    while True:
        done = await (streamed if asked["stream"] else whole)(messages, asking | own, told)
        message, usage = done.choices[0].message, getattr(done, "usage", None)
        told["usage"] = usage and [usage.prompt_tokens, usage.completion_tokens]
        calls = message.tool_calls or []
        if not (own and calls):
            told["calls"] = [call.function.name for call in calls]
            return
        messages.append(message.model_dump(include={"role", "content", "tool_calls"}))
        for call in calls:
            told["ran"].append(call.function.name)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": loop.OWN_TOOL_SAYS})


async def whole(messages, asking, told):
    """Return an answer in one piece."""
    done = await litellm.acompletion(messages=messages, **asking)
    told["text"] = done.choices[0].message.content or ""
    return done


async def streamed(messages, asking, told):
    """Return what the chunks of a stream make together."""
    told["text"], chunks = "", []
    stream = await litellm.acompletion(messages=messages, stream=True, stream_options={"include_usage": True}, **asking)
    async for chunk in stream:
        chunks.append(chunk)
        if chunk.choices:
            told["text"] += chunk.choices[0].delta.content or ""
    return litellm.stream_chunk_builder(chunks, messages=messages)


loop.serve(chat)
