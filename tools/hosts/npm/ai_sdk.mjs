// AI SDK: generateText with the tools of @ai-sdk/mcp, and the provider of OpenAI, whose default is Responses.
import { createMCPClient } from "@ai-sdk/mcp";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs } from "ai";

const [server, modelUrl, names] = process.argv.slice(2).map((argument) => JSON.parse(argument));
const client = await createMCPClient({ transport: { type: "http", url: server } });
try {
  const tools = await client.tools();
  const model = createOpenAI({ baseURL: modelUrl, apiKey: "none" })("scripted");
  for (const name of names) {
    try {
      await generateText({ model, tools, prompt: `#call ${name}`, stopWhen: stepCountIs(3) });
    } catch (error) {
      console.log(`${name}: ${error}`);
    }
  }
} finally {
  await client.close();
}
