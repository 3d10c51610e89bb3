"""langchain-openai: ChatOpenAI, and a loop that runs the client's own tool."""

import loop
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Sum(BaseModel):
    """The structured answer."""

    sum: int


@tool
def my_clock() -> str:
    """Return the time."""
    return loop.OWN_TOOL_SAYS


async def chat(asked, question, told):
    """Have one chat."""
    model = ChatOpenAI(
        model=asked["model"], base_url=asked["url"], api_key=asked["key"], max_retries=0, stream_usage=True, timeout=60
    )
    messages = [HumanMessage(question)]
    if asked["does"] == "structured":
        told["text"] = (await model.with_structured_output(Sum).ainvoke(messages)).model_dump_json()
        return
    answering = model.bind_tools([my_clock]) if asked["does"] else model
    while True:
        message = await (streamed if asked["stream"] else whole)(answering, messages, told)
        usage = message.usage_metadata
        told["usage"] = usage and [usage["input_tokens"], usage["output_tokens"]]
        if not (asked["does"] and message.tool_calls):
            told["calls"] = [call["name"] for call in message.tool_calls]
            return
        messages.append(message)
        for call in message.tool_calls:
            told["ran"].append(call["name"])
            messages.append(ToolMessage(my_clock.invoke(call["args"]), tool_call_id=call["id"]))


async def whole(model, messages, told):
    """Return the message of an answer in one piece."""
    message = await model.ainvoke(messages)
    told["text"] = message.text if isinstance(message.text, str) else message.text()
    return message


async def streamed(model, messages, told):
    """Return the sum of the chunks of a stream."""
    message, told["text"] = None, ""
    async for chunk in model.astream(messages):
        told["text"] += chunk.content if isinstance(chunk.content, str) else ""
        message = chunk if message is None else message + chunk
    return message


loop.serve(chat)
