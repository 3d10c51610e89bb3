/** What an application gives a client, and gets from it. */
import type { ToolError } from "./errors.ts"
import type { JsonObject } from "./json.ts"

/** A message in the format of OpenAI's chat completions. */
export interface Message {
  role: string
  content?: string | unknown[] | null
  tool_calls?: ToolCall[]
  tool_call_id?: string
  [member: string]: unknown
}

export interface ToolCall {
  id: string
  type: "function"
  function: { name: string; arguments: string }
}

export interface ModelAddress {
  base_url: string
  model: string
  api_key: string
}

export interface ServerAddress {
  name: string | null
  url: string
}

export type Event = JsonObject & { type: string }

/** A call for which the application is asked. */
export interface Question {
  /** The name of the chat. */
  chat: string
  call_id: string
  tool_name: string
  arguments: JsonObject
  tenant: string | null
}

/** A value of the application for a parameter, or what gives it; `null` where it has none. */
export type ParameterValue = unknown | ((question: Question) => unknown)

/** Times are in seconds; `null` means that there is no limit. */
export const DEFAULTS = {
  display: "exit" as "exit" | "continue",
  maxTurns: 10,
  maxCallsPerTurn: null as number | null,
  maxToolsPerServer: null as number | null,
  maxConcurrency: 16,
  maxAttempts: 3,
  toolTimeout: 60,
  chatTimeout: null as number | null,
  breakerThreshold: null as number | null,
  breakerResetAfter: 30,
  displayBudget: 4096,
  maxAnswerBytes: 32 * 1024 * 1024,
  cache: false,
  cacheReadOnly: false,
  metaTools: [] as string[],
  params: {} as Record<string, ParameterValue>,
  quotaTokens: {} as Record<string, number>,
  approve: null as ((chat: string, question: Question) => Promise<boolean>) | null,
  stream: true,
}

export type Options = typeof DEFAULTS

export interface ChatRequest {
  name: string
  query: string
  history: readonly Message[]
  tenant: string | null
  onEvent?: (event: Event) => void
  onDisplay?: (display: JsonObject, history: Message[]) => Promise<void>
  onError?: (error: ToolError, history: Message[]) => Promise<void>
  /** Cancels the chat. */
  signal?: AbortSignal
}

export interface UsageTotal {
  input_tokens: number | null
  output_tokens: number | null
  cached_tokens: number | null
  llm_calls: number
  cost_usd: number | null
}

export interface ChatResult {
  answer: string | null
  display: JsonObject | null
  displays: JsonObject[]
  history: Message[]
  usage: UsageTotal
  stop_reason: string
}

/** Why a chat has no result. */
export type FailureKind = "provider" | "quota" | "cancelled" | "refused"

export class ChatFailure extends Error {
  readonly kind: FailureKind
  readonly history: Message[]
  readonly error: ToolError | null
  constructor(kind: FailureKind, history: Message[], error: ToolError | null = null) {
    super(error?.message ?? kind)
    this.kind = kind
    this.history = history
    this.error = error
  }
}
