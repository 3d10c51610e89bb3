/** Generated from schemas/ by `uv run nox -s generate`. Do not edit: change the schema and run it again. */

import type { DisplayEnvelope } from "./display_envelope.js";
import type { ErrorMeta } from "./error_meta.js";
import type { UsageRecord } from "./usage_record.js";

/**
 * ChatEvent, where its type has a shape of its own; a `switch` on `type` narrows it.
 */
export type KnownChatEvent =
  | LlmDeltaChatEvent
  | LlmReasoningChatEvent
  | ToolCallChatEvent
  | ToolStartedChatEvent
  | ToolProgressChatEvent
  | ToolResultChatEvent
  | ToolDisplayChatEvent
  | ToolErrorChatEvent
  | RetryChatEvent
  | WarningChatEvent
  | UsageChatEvent
  | DoneChatEvent
  | FailedChatEvent;

/**
 * One event of a chat (spec section 10.2). Unknown members are ignored, and so are events of an unknown type.
 */
export interface ChatEvent {
  /**
   * `llm_delta`, `llm_reasoning`, `tool_call`, `tool_started`, `tool_progress`, `tool_result`, `tool_display`, `tool_error`, `retry`, `warning`, `usage`, `done` or `failed`.
   */
  type: string;
  /**
   * Number of the turn, counted from 1; 0 before the first request to the model.
   */
  turn: number;
  /**
   * The call the event is about.
   */
  call_id?: string;
  /**
   * The tool as the model knows it.
   */
  tool_name?: string;
  /**
   * Depends on the type: the next piece of the model's text or of its reasoning, the arguments of a call as the model wrote them, what a server says of its progress, the text of a result, or a warning.
   */
  text?: string;
  /**
   * Arguments of a call; null if the model did not write a JSON object.
   */
  arguments?: {
    [k: string]: unknown;
  } | null;
  /**
   * How far an attempt of the call is, in units of the server's own.
   */
  progress?: number;
  /**
   * What `progress` will be at the end, where the server knows it.
   */
  total?: number;
  /**
   * The display to show to the person now.
   */
  envelope?: DisplayEnvelope;
  error?: ErrorInfo;
  /**
   * How many attempts have failed so far.
   */
  attempt?: number;
  /**
   * The wait before the next attempt that the client plans, in milliseconds; a wait for a slot comes on top.
   */
  wait_ms?: number;
  usage?: UsageRecord;
  result?: ChatResult;
  /**
   * The conversation up to the failure, to be passed to the next chat; absent where the reader is not to see it.
   */
  history?: Message[];
  [k: string]: unknown;
}
/**
 * An error (spec chapter 4) as JSON.
 */
export interface ErrorInfo {
  code: string;
  message: string;
  retryable: boolean;
  retry_after_ms?: number;
  category: string;
  meta?: ErrorMeta;
  [k: string]: unknown;
}
/**
 * The result of a chat.
 */
export interface ChatResult {
  /**
   * The model's final text; null if there is none.
   */
  answer: string | null;
  /**
   * The first of `displays` that a tool answered with; null if there is none.
   */
  display: null | DisplayEnvelope;
  /**
   * All displays of the chat, by turn and, within a turn, in call order.
   */
  displays: DisplayEnvelope[];
  /**
   * The conversation, to be passed to the next chat; absent where the reader is not to see it.
   */
  history?: Message[];
  usage: UsageTotal;
  /**
   * `stop`, `tool_calls`, `display`, `clarify`, `max_turns`, `timeout`, `length`, `content_filter` or `empty`.
   */
  stop_reason: string;
  [k: string]: unknown;
}
/**
 * What all requests to models in a chat used: the sums of the figures that are known; null where none is.
 */
export interface UsageTotal {
  input_tokens: number | null;
  output_tokens: number | null;
  cached_tokens: number | null;
  reasoning_tokens?: number | null;
  llm_calls: number;
  cost_usd?: number | null;
  [k: string]: unknown;
}
/**
 * One message in the format of OpenAI's chat completions.
 */
export interface Message {
  role: "system" | "developer" | "user" | "assistant" | "tool";
  content?: string | unknown[] | null;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
  [k: string]: unknown;
}
export interface ToolCall {
  id: string;
  type: "function";
  function: FunctionCall;
  [k: string]: unknown;
}
export interface FunctionCall {
  name: string;
  arguments: string;
  [k: string]: unknown;
}
/**
 * ChatEvent of the type `llm_delta`.
 */
export interface LlmDeltaChatEvent extends ChatEvent {
  type: "llm_delta";
  /**
   * Depends on the type: the next piece of the model's text or of its reasoning, the arguments of a call as the model wrote them, what a server says of its progress, the text of a result, or a warning.
   */
  text: string;
  [k: string]: unknown;
}
/**
 * ChatEvent of the type `llm_reasoning`.
 */
export interface LlmReasoningChatEvent extends ChatEvent {
  type: "llm_reasoning";
  /**
   * Depends on the type: the next piece of the model's text or of its reasoning, the arguments of a call as the model wrote them, what a server says of its progress, the text of a result, or a warning.
   */
  text: string;
  [k: string]: unknown;
}
/**
 * ChatEvent of the type `tool_call`.
 */
export interface ToolCallChatEvent extends ChatEvent {
  type: "tool_call";
  /**
   * The call the event is about.
   */
  call_id: string;
  /**
   * The tool as the model knows it.
   */
  tool_name: string;
  /**
   * Arguments of a call; null if the model did not write a JSON object.
   */
  arguments: {
    [k: string]: unknown;
  } | null;
  [k: string]: unknown;
}
/**
 * ChatEvent of the type `tool_started`.
 */
export interface ToolStartedChatEvent extends ChatEvent {
  type: "tool_started";
  /**
   * The call the event is about.
   */
  call_id: string;
  /**
   * The tool as the model knows it.
   */
  tool_name: string;
  [k: string]: unknown;
}
/**
 * ChatEvent of the type `tool_progress`.
 */
export interface ToolProgressChatEvent extends ChatEvent {
  type: "tool_progress";
  /**
   * The call the event is about.
   */
  call_id: string;
  /**
   * The tool as the model knows it.
   */
  tool_name: string;
  /**
   * How far an attempt of the call is, in units of the server's own.
   */
  progress: number;
  text?: string;
  [k: string]: unknown;
}
/**
 * ChatEvent of the type `tool_result`.
 */
export interface ToolResultChatEvent extends ChatEvent {
  type: "tool_result";
  /**
   * The call the event is about.
   */
  call_id: string;
  /**
   * The tool as the model knows it.
   */
  tool_name: string;
  /**
   * Depends on the type: the next piece of the model's text or of its reasoning, the arguments of a call as the model wrote them, what a server says of its progress, the text of a result, or a warning.
   */
  text: string;
  [k: string]: unknown;
}
/**
 * ChatEvent of the type `tool_display`.
 */
export interface ToolDisplayChatEvent extends ChatEvent {
  type: "tool_display";
  /**
   * The call the event is about.
   */
  call_id: string;
  /**
   * The tool as the model knows it.
   */
  tool_name: string;
  /**
   * The display to show to the person now.
   */
  envelope: DisplayEnvelope;
  [k: string]: unknown;
}
/**
 * ChatEvent of the type `tool_error`.
 */
export interface ToolErrorChatEvent extends ChatEvent {
  type: "tool_error";
  /**
   * The call the event is about.
   */
  call_id: string;
  /**
   * The tool as the model knows it.
   */
  tool_name: string;
  error: ErrorInfo;
  [k: string]: unknown;
}
/**
 * ChatEvent of the type `retry`.
 */
export interface RetryChatEvent extends ChatEvent {
  type: "retry";
  error: ErrorInfo;
  /**
   * How many attempts have failed so far.
   */
  attempt: number;
  /**
   * The wait before the next attempt that the client plans, in milliseconds; a wait for a slot comes on top.
   */
  wait_ms: number;
  [k: string]: unknown;
}
/**
 * ChatEvent of the type `warning`.
 */
export interface WarningChatEvent extends ChatEvent {
  type: "warning";
  /**
   * Depends on the type: the next piece of the model's text or of its reasoning, the arguments of a call as the model wrote them, what a server says of its progress, the text of a result, or a warning.
   */
  text: string;
  [k: string]: unknown;
}
/**
 * ChatEvent of the type `usage`.
 */
export interface UsageChatEvent extends ChatEvent {
  type: "usage";
  usage: UsageRecord;
  [k: string]: unknown;
}
/**
 * ChatEvent of the type `done`.
 */
export interface DoneChatEvent extends ChatEvent {
  type: "done";
  result: ChatResult;
  [k: string]: unknown;
}
/**
 * ChatEvent of the type `failed`.
 */
export interface FailedChatEvent extends ChatEvent {
  type: "failed";
  error: ErrorInfo;
  [k: string]: unknown;
}
