// One chat by one client: node clients.mjs CLIENT URL. Writes what the client made of it, as one line of JSON.
import { HttpAgent } from "@ag-ui/client";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { DefaultChatTransport, generateText, readUIMessageStream, streamText } from "ai";
import OpenAI from "openai";

const [client, url] = process.argv.slice(2);
const question = "go";

async function openai() {
  const api = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
  const stream = api.chat.completions.stream({
    model: "assistant",
    messages: [{ role: "user", content: question }],
  });
  let text = "";
  try {
    for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? "";
  } catch (error) {
    return { text, error: error.message };
  }
  const whole = await stream.finalChatCompletion();
  return { text, whole: whole.choices[0].message.content, finish: whole.choices[0].finish_reason };
}

function compatible() {
  const provider = createOpenAICompatible({ name: "xmcp", baseURL: `${url}/v1`, includeUsage: true });
  return { model: provider.chatModel("assistant"), prompt: question, maxRetries: 0 };
}

async function aiSdkStream() {
  const parts = [];
  const result = streamText({ ...compatible(), onError: () => {} });
  for await (const part of result.fullStream) parts.push(part);
  return {
    text: parts.filter((part) => part.type === "text-delta").map((part) => part.text).join(""),
    types: [...new Set(parts.map((part) => part.type))],
    usage: parts.find((part) => part.type === "finish")?.totalUsage?.totalTokens ?? null,
    error: parts.find((part) => part.type === "error")?.error?.message ?? null,
  };
}

async function aiSdkWhole() {
  const { text, finishReason, toolCalls } = await generateText(compatible());
  return { text, finish: finishReason, calls: toolCalls.length };
}

async function useChat() {
  const transport = new DefaultChatTransport({ api: `${url}/ui/ai-sdk` });
  const stream = await transport.sendMessages({
    chatId: "chat-1",
    messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: question }] }],
    trigger: "submit-message",
  });
  let message = null;
  let error = null;
  const read = readUIMessageStream({ stream, onError: (failed) => (error = failed.message), terminateOnError: false });
  for await (const state of read) message = state;
  return { parts: message?.parts ?? [], metadata: message?.metadata ?? null, error };
}

async function agUi() {
  const agent = new HttpAgent({ url: `${url}/ui/ag-ui`, threadId: "thread-1" });
  agent.addMessage({ id: "m1", role: "user", content: question });
  let error = null;
  const types = [];
  try {
    await agent.runAgent({}, {
      onEvent: ({ event }) => void types.push(event.type),
      onRunErrorEvent: ({ event }) => void (error = event.message),
    });
  } catch (failed) {
    error = failed.message;
  }
  return { messages: agent.messages, types, error };
}

const clients = { openai, aiSdkStream, aiSdkWhole, useChat, agUi };
console.log(JSON.stringify(await clients[client]()));
