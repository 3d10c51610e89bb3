"""mcp-use (Python): its own agent, with ChatOpenAI."""

import asyncio
import json
import logging
import sys


async def main(server, model_url, names):
    """Run one chat for each tool."""
    from langchain_openai import ChatOpenAI
    from mcp_use import MCPAgent, MCPClient

    logging.disable(logging.ERROR)
    client = MCPClient.from_dict({"mcpServers": {"cases": {"url": server}}})
    model = ChatOpenAI(model="scripted", base_url=model_url, api_key="none")
    agent = MCPAgent(llm=model, client=client, max_steps=10, memory_enabled=False)
    await agent.initialize()
    for name in names:
        try:
            await agent.run(f"#call {name}", external_history=[])
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
    await client.close_all_sessions()


asyncio.run(main(*map(json.loads, sys.argv[1:])))
