"""pydantic-ai: an agent with the model of chat completions; it runs the client's own tool."""

import loop
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


class Sum(BaseModel):
    """The structured answer."""

    sum: int


async def chat(asked, question, told):
    """Have one chat."""
    async with AsyncOpenAI(base_url=asked["url"], api_key=asked["key"], max_retries=0, timeout=60) as client:
        model = OpenAIChatModel(asked["model"], provider=OpenAIProvider(openai_client=client))
        if asked["does"] == "structured":
            done = await Agent(model, output_type=NativeOutput(Sum), retries=0).run(question)
            told["text"] = done.output.model_dump_json()
            return
        agent = Agent(model, retries=0)
        if asked["does"]:

            @agent.tool_plain
            def my_clock() -> str:
                """Return the time."""
                told["ran"].append("my_clock")
                return loop.OWN_TOOL_SAYS

        await (streamed if asked["stream"] else whole)(agent, question, told)


async def whole(agent, question, told):
    """Have a chat in one piece."""
    done = await agent.run(question)
    told["text"] = done.output
    finished(done, told)


async def streamed(agent, question, told):
    """Have a chat as a stream."""
    async with agent.run_stream(question) as stream:
        async for delta in stream.stream_text(delta=True, debounce_by=None):
            told["text"] += delta
        finished(stream, told)


def finished(done, told):
    """Fill in what the client knows at the end."""
    usage = done.usage() if callable(done.usage) else done.usage
    told["usage"] = [usage.input_tokens, usage.output_tokens]
    parts = [part for message in done.all_messages() for part in message.parts if isinstance(part, ToolCallPart)]
    told["calls"] = [part.tool_name for part in parts if part.tool_name not in told["ran"]]


loop.serve(chat)
