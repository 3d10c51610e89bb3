"""openai-agents: an agent with the model of chat completions; it runs the client's own tool."""

import loop
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel

set_tracing_disabled(True)


class Sum(BaseModel):
    """The structured answer."""

    sum: int


async def chat(asked, question, told):
    """Have one chat."""

    @function_tool
    def my_clock() -> str:
        """Return the time."""
        told["ran"].append("my_clock")
        return loop.OWN_TOOL_SAYS

    async with AsyncOpenAI(base_url=asked["url"], api_key=asked["key"], max_retries=0, timeout=60) as client:
        model = OpenAIChatCompletionsModel(model=asked["model"], openai_client=client)
        tools = [my_clock] if asked["does"] == "own tools" else []
        output = Sum if asked["does"] == "structured" else None
        settings = ModelSettings(include_usage=True)  # it asks only OpenAI itself for the usage of a stream
        agent = Agent(name="agent", model=model, model_settings=settings, tools=tools, output_type=output)
        if asked["stream"]:
            done = Runner.run_streamed(agent, question)
            async for event in done.stream_events():
                if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
                    told["text"] += event.data.delta
        else:
            done = await Runner.run(agent, question)
    output = done.final_output
    told["text"] = output.model_dump_json() if isinstance(output, Sum) else output
    usage = done.context_wrapper.usage
    told["usage"] = [usage.input_tokens, usage.output_tokens]
    calls = [item.raw_item.name for item in done.new_items if item.type == "tool_call_item"]
    told["calls"] = [name for name in calls if name not in told["ran"]]


loop.serve(chat)
