// One chat by one client: node clients.mjs CLIENT URL. Writes what the client made of it, as one line of JSON.
import { HttpAgent } from "@ag-ui/client";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  AbstractChat,
  DefaultChatTransport,
  generateText,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  readUIMessageStream,
  stepCountIs,
  streamText,
  tool,
} from "ai";
import OpenAI from "openai";
import { z } from "zod";

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

async function openaiResponses() {
  const api = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
  const stream = api.responses.stream({ model: "assistant", input: question });
  let text = "";
  try {
    for await (const event of stream) if (event.type === "response.output_text.delta") text += event.delta;
    const whole = await stream.finalResponse();
    return { text, whole: whole.output_text, status: whole.status, kinds: whole.output.map((one) => one.type) };
  } catch (error) {
    return { text, error: error.message };
  }
}

function compatible() {
  const provider = createOpenAICompatible({ name: "xmcp", baseURL: `${url}/v1`, includeUsage: true });
  return { model: provider.chatModel("assistant"), prompt: question, maxRetries: 0 };
}

// `openai("model")`, the default of the AI SDK, asks /v1/responses.
function responses() {
  const provider = createOpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
  return { model: provider("assistant"), prompt: question, maxRetries: 0 };
}

async function aiSdkStream(asked) {
  const parts = [];
  const result = streamText({ ...asked, onError: () => {} });
  for await (const part of result.fullStream) parts.push(part);
  return {
    text: parts.filter((part) => part.type === "text-delta").map((part) => part.text).join(""),
    types: [...new Set(parts.map((part) => part.type))],
    usage: parts.find((part) => part.type === "finish")?.totalUsage?.totalTokens ?? null,
    error: parts.find((part) => part.type === "error")?.error?.message ?? null,
  };
}

async function aiSdkWhole(asked) {
  const { text, finishReason, toolCalls } = await generateText(asked);
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

// The loops of tools: each client runs `ask_page` itself, and the tools of the gateway run inside.

const answerOf = ({ question }) => `You asked: ${question}`;
const askPage = { description: "Asks.", inputSchema: z.object({ question: z.string() }) };

async function openaiTools() {
  const api = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
  const parameters = { type: "object", properties: { question: { type: "string" } } };
  const runner = api.chat.completions.runTools({
    model: "assistant",
    stream: true,
    messages: [{ role: "user", content: question }],
    tools: [
      {
        type: "function",
        function: { name: "ask_page", description: "Asks.", parameters, parse: JSON.parse, function: answerOf },
      },
    ],
  });
  return { text: await runner.finalContent() };
}

async function openaiResponsesTools() {
  const api = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
  const parameters = { type: "object", properties: { question: { type: "string" } } };
  const asked = { model: "assistant", tools: [{ type: "function", name: "ask_page", strict: false, parameters }] };
  const first = await api.responses.create({ ...asked, input: question });
  const input = first.output
    .filter((item) => item.type === "function_call")
    .map(({ call_id, arguments: given }) => ({
      type: "function_call_output",
      call_id,
      output: answerOf(JSON.parse(given)),
    }));
  const second = await api.responses.create({ ...asked, input, previous_response_id: first.id });
  return { text: second.output_text };
}

async function aiSdkTools(asked) {
  const tools = { ask_page: tool({ ...askPage, execute: answerOf }) };
  const result = streamText({ ...asked, tools, stopWhen: stepCountIs(4), onError: () => {} });
  const parts = [];
  for await (const part of result.fullStream) parts.push(part);
  return {
    text: (await result.steps).at(-1).text,
    results: parts.filter((part) => part.type === "tool-result").map((part) => part.toolName),
    error: parts.find((part) => part.type === "error")?.error?.message ?? null,
  };
}

// The second turn of a chat: the AI SDK refers to what was said before by the ids of the items.
async function aiSdkResponsesTurns() {
  const { prompt, ...asked } = responses();
  const messages = [{ role: "user", content: prompt }];
  const first = await generateText({ ...asked, messages });
  messages.push(...first.response.messages, { role: "user", content: "and now?" });
  const second = streamText({ ...asked, messages, onError: () => {} });
  return { text: await second.text };
}

// `useChat` without React: the same class, with a state that nobody draws.
class Page extends AbstractChat {
  constructor(options) {
    const state = {
      status: "ready",
      error: undefined,
      messages: [],
      pushMessage: (message) => void (state.messages = [...state.messages, message]),
      popMessage: () => void (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (place, message) => void (state.messages = state.messages.with(place, structuredClone(message))),
      snapshot: (thing) => structuredClone(thing),
    };
    super({ ...options, state, generateId: () => "m1" });
  }
}

async function settled(page, isOver) {
  for (let turn = 0; turn < 500; turn += 1) {
    if (page.status === "error") throw page.error;
    if (page.status === "ready" && isOver(page.messages.at(-1))) return page.messages;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the page does not come to an end: ${JSON.stringify(page.messages)}`);
}

const hasAnswered = (message) => message?.parts.at(-1)?.type === "text";

async function useChatTools() {
  const tools = { ask_page: { description: "Asks.", parameters: { type: "object" } } };
  const page = new Page({
    transport: new DefaultChatTransport({ api: `${url}/ui/ai-sdk`, body: { tools } }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall }) => {
      void page.addToolOutput({ tool: "ask_page", toolCallId: toolCall.toolCallId, output: answerOf(toolCall.input) });
    },
  });
  await page.sendMessage({ text: question });
  return { messages: await settled(page, hasAnswered) };
}

async function useChatApproval(approved) {
  const page = new Page({
    transport: new DefaultChatTransport({ api: `${url}/ui/ai-sdk` }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  await page.sendMessage({ text: question });
  const asked = page.messages.at(-1).parts.filter((part) => part.state === "approval-requested");
  for (const part of asked) await page.addToolApprovalResponse({ id: part.approval.id, approved });
  return { asked: asked.map((part) => part.toolName), messages: await settled(page, hasAnswered) };
}

async function agUiTools() {
  const agent = new HttpAgent({ url: `${url}/ui/ag-ui`, threadId: "thread-1" });
  const tools = [{ name: "ask_page", description: "Asks.", parameters: { type: "object" } }];
  agent.addMessage({ id: "m1", role: "user", content: question });
  await agent.runAgent({ tools });
  const answered = new Set(agent.messages.filter((message) => message.role === "tool").map((one) => one.toolCallId));
  const calls = agent.messages.flatMap((message) => message.toolCalls ?? []).filter((call) => !answered.has(call.id));
  for (const call of calls) {
    const content = answerOf(JSON.parse(call.function.arguments));
    agent.addMessage({ id: `r-${call.id}`, role: "tool", toolCallId: call.id, content });
  }
  await agent.runAgent({ tools });
  return { called: calls.map((call) => call.function.name), messages: agent.messages };
}

const clients = {
  openai,
  openaiResponses,
  aiSdkStream: () => aiSdkStream(compatible()),
  aiSdkWhole: () => aiSdkWhole(compatible()),
  aiSdkResponsesStream: () => aiSdkStream(responses()),
  aiSdkResponsesWhole: () => aiSdkWhole(responses()),
  useChat,
  agUi,
  openaiTools,
  openaiResponsesTools,
  aiSdkTools: () => aiSdkTools(compatible()),
  aiSdkResponsesTools: () => aiSdkTools(responses()),
  aiSdkResponsesTurns,
  useChatTools,
  useChatApproves: () => useChatApproval(true),
  useChatDenies: () => useChatApproval(false),
  agUiTools,
};
console.log(JSON.stringify(await clients[client]()));
