// A driver as those in ../drivers, which say what is asked and answered: node clients.mjs openai|aiSdk
import { createInterface } from "node:readline";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

const SAYS = "noon";
const SUM = z.object({ sum: z.number().int() });
const TOOL = { type: "function", function: { name: "my_clock", parameters: { type: "object", properties: {} } } };

async function openai(asked, question, told) {
  const api = new OpenAI({ baseURL: asked.url, apiKey: asked.key, maxRetries: 0, timeout: 60_000 });
  const messages = [{ role: "user", content: question }];
  const model = asked.model;
  if (asked.does === "structured") {
    const done = await api.chat.completions.parse({ model, messages, response_format: zodResponseFormat(SUM, "sum") });
    told.text = JSON.stringify(done.choices[0].message.parsed);
    return;
  }
  const asking = { model, messages, ...(asked.does ? { tools: [TOOL] } : {}) };
  for (;;) {
    let done;
    told.text = "";
    if (asked.stream) {
      const stream = api.chat.completions.stream({ ...asking, stream_options: { include_usage: true } });
      stream.on("error", () => {}); // it is thrown below, too
      for await (const chunk of stream) told.text += chunk.choices[0]?.delta?.content ?? "";
      done = await stream.finalChatCompletion();
    } else {
      done = await api.chat.completions.create(asking);
      told.text = done.choices[0].message.content ?? "";
    }
    told.usage = done.usage ? [done.usage.prompt_tokens, done.usage.completion_tokens] : null;
    const message = done.choices[0].message;
    const calls = message.tool_calls ?? [];
    if (!asked.does || calls.length === 0) {
      told.calls = calls.map((call) => call.function.name);
      return;
    }
    messages.push({ role: "assistant", content: message.content, tool_calls: calls });
    for (const call of calls) {
      told.ran.push(call.function.name);
      messages.push({ role: "tool", tool_call_id: call.id, content: SAYS });
    }
  }
}

async function aiSdk(asked, question, told) {
  const provider = createOpenAICompatible({
    name: "xmcp",
    baseURL: asked.url,
    apiKey: asked.key,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  const execute = () => {
    told.ran.push("my_clock");
    return SAYS;
  };
  const asking = {
    model: provider.chatModel(asked.model),
    prompt: question,
    maxRetries: 0,
    ...(asked.does === "own tools"
      ? { tools: { my_clock: tool({ inputSchema: z.object({}), execute }) }, stopWhen: stepCountIs(5) }
      : {}),
    ...(asked.does === "structured" ? { experimental_output: Output.object({ schema: SUM }) } : {}),
  };
  let calls = [];
  if (asked.stream) {
    const result = streamText({ ...asking, onError: () => {} });
    for await (const part of result.fullStream) {
      if (part.type === "text-delta") told.text += part.text;
      if (part.type === "tool-call") calls.push(part);
      if (part.type === "error") throw part.error;
      if (part.type === "finish") told.usage = [part.totalUsage.inputTokens, part.totalUsage.outputTokens];
    }
  } else {
    const result = await generateText(asking);
    told.text = asked.does === "structured" ? JSON.stringify(result.experimental_output) : result.text;
    told.usage = [result.totalUsage.inputTokens, result.totalUsage.outputTokens];
    calls = result.steps.flatMap((step) => step.toolCalls);
  }
  told.calls = calls.map((call) => call.toolName).filter((name) => !told.ran.includes(name));
}

const chat = { openai, aiSdk }[process.argv[2]];

async function toldOf(asked, question) {
  const told = { text: "", calls: [], usage: null, ran: [], error: null };
  try {
    await chat(asked, question, told);
  } catch (error) {
    const status = error.status ?? error.statusCode ?? null;
    told.error = { type: error.name, status, text: `${error.message} ${error.cause?.message ?? ""}` };
  }
  return told;
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  console.log(JSON.stringify(await Promise.all(asked.questions.map((question) => toldOf(asked, question)))));
}
