"""AIClient of this repository, with its OpenAI provider."""

import asyncio
import json
import sys


async def main(server, model_url, names):
    """Run one chat for each tool."""
    from xmcp import AIClient
    from xmcp.providers import OpenAIProvider

    provider = OpenAIProvider(api_key="none", base_url=model_url)
    async with AIClient([server], llm_provider=provider, llm_model="scripted") as ai:
        for name in names:
            try:
                await ai.chat(f"#call {name}", [])
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", flush=True)


asyncio.run(main(*map(json.loads, sys.argv[1:])))
