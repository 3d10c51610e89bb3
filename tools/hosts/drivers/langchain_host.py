"""langchain: create_agent with the tools of langchain-mcp-adapters, and ChatOpenAI."""

import asyncio
import json
import sys


async def main(server, model_url, names):
    """Run one chat for each tool."""
    from langchain.agents import create_agent
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools
    from langchain_openai import ChatOpenAI

    client = MultiServerMCPClient({"cases": {"transport": "streamable_http", "url": server}})
    async with client.session("cases") as session:
        tools = await load_mcp_tools(session)
        agent = create_agent(ChatOpenAI(model="scripted", base_url=model_url, api_key="none"), tools)
        for name in names:
            try:
                await agent.ainvoke({"messages": [{"role": "user", "content": f"#call {name}"}]})
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", flush=True)


asyncio.run(main(*map(json.loads, sys.argv[1:])))
