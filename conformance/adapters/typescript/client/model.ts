/** One request to a model that speaks OpenAI's chat completions, streamed or whole. */
import { ownError, type ToolError } from "./errors.ts"
import { HttpFailure, eventsOf, isEventStream, send, textOf, type HttpAnswer } from "./http.ts"
import { asNumber, isObject, jsonOf, objectAt, stringify, type JsonObject } from "./json.ts"
import type { Message, ModelAddress, UsageTotal } from "./types.ts"

/** A call as the model wrote it. */
export interface WrittenCall {
  id: string
  name: string
  arguments: string
}

/** What has come of an answer so far. */
export interface Answer {
  text: string
  calls: WrittenCall[]
  finish: string | null
  /** The vendor's counts, absent where it gave none. */
  usage: JsonObject | undefined
  /** The vendor has accepted the request, or may have read it: it has a usage record. */
  wasRead: boolean
}

export const noAnswer = (): Answer => ({ text: "", calls: [], finish: null, usage: undefined, wasRead: false })

/** Why a model could not be asked; section 11.7 has the codes. */
export class ModelFailure extends Error {
  readonly error: ToolError
  constructor(code: string, retryAfterMs?: number) {
    super(code)
    const wait = retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }
    this.error = ownError(code, FAILURES[code] ?? code, undefined, wait)
  }
}

const FAILURES: Record<string, string> = {
  RATE_LIMIT: "The vendor of the model limits the rate.",
  AUTH_REQUIRED: "The vendor of the model refuses the credentials.",
  QUOTA_EXCEEDED: "A quota is used up.",
  UPSTREAM_UNAVAILABLE: "The model cannot be reached, or its answer broke off.",
  CONTEXT_TOO_LARGE: "The history is longer than the model reads.",
  CONTENT_POLICY: "The vendor of the model refuses the content.",
  RESULT_TOO_LARGE: "The answer of the model is too large.",
  INTERNAL: "The answer of the model cannot be read.",
}

const BY_VENDOR_CODE: Record<string, string> = {
  content_filter: "CONTENT_POLICY",
  content_policy_violation: "CONTENT_POLICY",
  context_length_exceeded: "CONTEXT_TOO_LARGE",
  insufficient_quota: "QUOTA_EXCEEDED",
  invalid_api_key: "AUTH_REQUIRED",
  rate_limit_exceeded: "RATE_LIMIT",
}

const BY_STATUS: Record<number, string> = {
  401: "AUTH_REQUIRED",
  402: "QUOTA_EXCEEDED",
  403: "AUTH_REQUIRED",
  408: "UPSTREAM_UNAVAILABLE",
  413: "CONTEXT_TOO_LARGE",
  429: "RATE_LIMIT",
}

function refusal(status: number, text: string, retryAfter: string | undefined) {
  const body = jsonOf(text)
  const code = BY_VENDOR_CODE[String(objectAt(body, "error")["code"])]
  const seconds = Number(retryAfter)
  const wait = seconds >= 0 ? Math.ceil(seconds * 1000) : undefined
  return new ModelFailure(code ?? BY_STATUS[status] ?? (status >= 500 ? "UPSTREAM_UNAVAILABLE" : "INTERNAL"), wait)
}

/** How long a vendor can send nothing. */
const SILENCE = 60_000

export interface Asking {
  model: ModelAddress
  messages: Message[]
  tools: JsonObject[]
  stream: boolean
  limit: number
  signal: AbortSignal
  onText: (text: string) => void
}

/** Asks once, and writes into `answer` what comes, so that it is there when the request fails or is cancelled. */
export async function ask(answer: Answer, { model, messages, tools, stream, limit, signal, onText }: Asking) {
  const silent = new AbortController()
  let timer = setTimeout(() => silent.abort(), SILENCE)
  const alive = () => {
    clearTimeout(timer)
    timer = setTimeout(() => silent.abort(), SILENCE)
  }
  const request = {
    model: model.model,
    messages,
    ...(tools.length > 0 ? { tools } : {}),
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  }
  try {
    answer.wasRead = true
    const response = await send(`${model.base_url.replace(/\/+$/, "")}/chat/completions`, {
      headers: { authorization: `Bearer ${model.api_key}`, accept: "text/event-stream, application/json" },
      body: stringify(request),
      signal: AbortSignal.any([signal, silent.signal]),
      limit,
    })
    await read(answer, response, onText, alive)
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof ModelFailure) throw error
    if (error instanceof HttpFailure && error.fault === "unreachable") answer.wasRead = false
    throw new ModelFailure(
      error instanceof HttpFailure && error.fault === "too_large" ? "RESULT_TOO_LARGE"
      : error instanceof HttpFailure || silent.signal.aborted ? "UPSTREAM_UNAVAILABLE"
      : "INTERNAL",
    )
  } finally {
    clearTimeout(timer)
  }
}

async function read(answer: Answer, response: HttpAnswer, onText: (text: string) => void, alive: () => void) {
  const { status, headers, body } = response
  if (status < 200 || status >= 300) {
    answer.wasRead = false
    throw refusal(status, await textOf(body), headers["retry-after"])
  }
  if ((headers["content-encoding"] ?? "identity") !== "identity") throw new ModelFailure("INTERNAL")
  if (!isEventStream(response)) {
    const text = await textOf(body)
    const whole = jsonOf(text)
    const message = objectAt(choice(whole), "message")
    if (isObject(whole) && isObject(whole["error"])) {
      answer.wasRead = false
      throw refusal(500, text, undefined)
    }
    if (Object.keys(message).length === 0) throw new ModelFailure("INTERNAL")
    return take(answer, whole, message, onText)
  }
  for await (const data of eventsOf(watched(body, alive))) {
    if (data === "[DONE]") return
    const chunk = jsonOf(data)
    if (!isObject(chunk)) throw new ModelFailure("INTERNAL")
    if (isObject(chunk["error"])) {
      // Before any piece of the answer, it is a refusal.
      answer.wasRead = answer.text !== "" || answer.calls.length > 0
      throw refusal(500, data, undefined)
    }
    take(answer, chunk, objectAt(choice(chunk), "delta"), onText)
  }
  if (answer.finish === null) throw new HttpFailure("lost")
}

async function* watched(body: AsyncIterable<Uint8Array>, alive: () => void) {
  for await (const piece of body) {
    alive()
    yield piece
  }
}

const choice = (value: unknown): unknown =>
  isObject(value) && Array.isArray(value["choices"]) ? value["choices"][0] : undefined

const textAt = (object: JsonObject, name: string) => (typeof object[name] === "string" ? object[name] : "")

/** Takes a piece of an answer, or a whole one: they have the same members. */
function take(answer: Answer, value: unknown, piece: JsonObject, onText: (text: string) => void) {
  if (isObject(value) && isObject(value["usage"])) answer.usage = value["usage"]
  const found = choice(value)
  if (isObject(found) && typeof found["finish_reason"] === "string") answer.finish = found["finish_reason"]
  const text = textAt(piece, "content")
  if (text !== "") {
    answer.text += text
    onText(text)
  }
  const calls = Array.isArray(piece["tool_calls"]) ? piece["tool_calls"].filter(isObject) : []
  for (const [position, part] of calls.entries()) {
    const call = (answer.calls[asNumber(part["index"]) ?? position] ??= { id: "", name: "", arguments: "" })
    const written = objectAt(part, "function")
    call.id ||= textAt(part, "id")
    call.name += textAt(written, "name")
    call.arguments += textAt(written, "arguments")
  }
}

// ---- Usage -----------------------------------------------------------------------------------------------------

export interface UsageRecord {
  input_tokens: number
  output_tokens: number
  cached_tokens: number | null
  cost_usd: null
  timestamp: string
  session_id: null
  tenant_id: string | null
  provider: string
  model: string
  estimated?: true
}

/** About four characters are a token. */
export const estimate = (value: unknown) => Math.ceil((typeof value === "string" ? value : stringify(value)).length / 4)

/** What a request has used, as far as it came (section 10.3). */
export function usageOf(answer: Answer, { model, messages, tools }: Asking, tenant: string | null): UsageRecord {
  const count = (value: unknown) => {
    const number = asNumber(value)
    return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined
  }
  const input = count(answer.usage?.["prompt_tokens"])
  const output = count(answer.usage?.["completion_tokens"])
  const received = [answer.text, ...answer.calls.map((call) => call.name + call.arguments)].join("")
  return {
    input_tokens: input ?? estimate([messages, tools]),
    output_tokens: output ?? estimate(received),
    cached_tokens: count(objectAt(answer.usage, "prompt_tokens_details")["cached_tokens"]) ?? null,
    cost_usd: null,
    timestamp: new Date().toISOString(),
    session_id: null,
    tenant_id: tenant,
    provider: "openai",
    model: model.model,
    ...(input === undefined || output === undefined ? { estimated: true } : {}),
  }
}

export function totalOf(records: UsageRecord[]): UsageTotal {
  const sum = (name: "input_tokens" | "output_tokens" | "cached_tokens") => {
    const known = records.flatMap((record) => record[name] ?? [])
    return known.length === 0 ? null : known.reduce((total, number) => total + number)
  }
  return {
    input_tokens: sum("input_tokens"),
    output_tokens: sum("output_tokens"),
    cached_tokens: sum("cached_tokens"),
    llm_calls: records.length,
    cost_usd: null,
  }
}
