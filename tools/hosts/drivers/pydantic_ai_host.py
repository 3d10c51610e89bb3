"""pydantic-ai: an agent with an MCP toolset, and the chat-completions model."""

import asyncio
import json
import sys


async def main(server, model_url, names):
    """Run one chat for each tool."""
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=model_url, api_key="none"))
    toolset = MCPToolset(server, id="cases")
    async with Agent(model, toolsets=[toolset]) as agent:
        for name in names:
            try:
                await agent.run(f"#call {name}")
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", flush=True)


asyncio.run(main(*map(json.loads, sys.argv[1:])))
