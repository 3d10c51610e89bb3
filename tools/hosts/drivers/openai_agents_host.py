"""openai-agents: an agent with an MCP server; with the Responses model, which is its default."""

import asyncio
import json
import sys


async def main(server, model_url, names):
    """Run one chat for each tool."""
    from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
    from agents.mcp import MCPServerStreamableHttp
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    model = OpenAIResponsesModel(model="scripted", openai_client=AsyncOpenAI(base_url=model_url, api_key="none"))
    async with MCPServerStreamableHttp(params={"url": server, "timeout": 60}, name="cases") as connected:
        agent = Agent(name="agent", model=model, mcp_servers=[connected])
        for name in names:
            try:
                await Runner.run(agent, f"#call {name}")
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", flush=True)


asyncio.run(main(*map(json.loads, sys.argv[1:])))
