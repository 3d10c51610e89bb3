/** One chat: the loop of chapter 11. */
import { OWN, isDependedOn, ownText, runCalls, type Call, type Shared } from "./calls.ts"
import { messageWithin } from "./documents.ts"
import { ownError, type ToolError } from "./errors.ts"
import { isBlank, isObject, parseArguments, type JsonObject } from "./json.ts"
import type { Quotas } from "./limits.ts"
import { ModelFailure, ask, estimate, noAnswer, totalOf, usageOf } from "./model.ts"
import type { Answer, Asking, UsageRecord } from "./model.ts"
import type { Outcome } from "./result.ts"
import { shownSchema, similarName, type Tool } from "./tools.ts"
import { ChatFailure } from "./types.ts"
import type { ChatRequest, ChatResult, Event, FailureKind, Message, ModelAddress, ToolCall } from "./types.ts"
import { limited, pause, within } from "./waiting.ts"

export interface ChatShared extends Shared {
  models: ModelAddress[]
  quotas: Quotas
  closed: AbortSignal
}

/** Why a chat ends from outside. */
class ChatEnd extends Error {
  readonly why: "timeout" | "cancelled"
  constructor(why: "timeout" | "cancelled") {
    super(why)
    this.why = why
  }
}

/** The quota of the tenant, not of an account at the vendor. */
class TenantQuotaUsedUp extends ModelFailure {
  constructor() {
    super("QUOTA_EXCEEDED")
  }
}

const END_ERRORS = {
  timeout: ownError("TIMEOUT", "The time of the chat was over before this call had a result.", "unknown"),
  cancelled: ownError("CANCELLED", "The chat was cancelled before this call had a result.", "unknown"),
}

/** How often one model is asked for one answer, and the milliseconds between; a longer wait is no use. */
const MODEL_ATTEMPTS = 2
const FIRST_MODEL_WAIT = 250
const LONGEST_MODEL_WAIT = 30_000
/** The tokens that an answer is expected to have, for a reservation. */
const EXPECTED_ANSWER = 500
/** Seconds that the chat waits for a callback that only reports. */
const CALLBACK_TIME = 5

export class Chat {
  readonly #shared: ChatShared
  readonly #request: ChatRequest
  readonly #end = new AbortController()
  readonly #endsAt: number
  #history: Message[]
  #turn = 0
  /** What has come of the answer that is under way. */
  #partial: Answer = noAnswer()
  readonly #ids: Set<string>
  readonly #displays: JsonObject[] = []
  #display: JsonObject | null = null
  readonly #usage: UsageRecord[] = []

  constructor(shared: ChatShared, request: ChatRequest) {
    const { displayBudget, chatTimeout } = shared.options
    this.#shared = shared
    this.#request = request
    this.#endsAt = chatTimeout === null ? Infinity : performance.now() + chatTimeout * 1000
    this.#history = request.history.map((message) => messageWithin(message, displayBudget))
    const idsOf = ({ tool_calls: calls, tool_call_id: id }: Message) => [id, ...(calls ?? []).map((call) => call.id)]
    this.#ids = new Set(request.history.flatMap(idsOf).filter((id) => id !== undefined))
  }

  async run(): Promise<ChatResult> {
    const { query, signal, history } = this.#request
    if (!isAnswered(history)) throw new ChatFailure("refused", [...history])
    this.#history.push({ role: "user", content: query })
    const cancel = () => this.#end.abort(new ChatEnd("cancelled"))
    const outside = [signal, this.#shared.closed].filter((one) => one !== undefined)
    for (const one of outside) {
      one.addEventListener("abort", cancel)
      if (one.aborted) cancel()
    }
    const { chatTimeout } = this.#shared.options
    const timeOut = () => this.#end.abort(new ChatEnd("timeout"))
    const timer = chatTimeout === null ? undefined : setTimeout(timeOut, chatTimeout * 1000)
    try {
      return await this.#loop()
    } catch (error) {
      if (error instanceof ModelFailure) {
        throw this.#failure(error instanceof TenantQuotaUsedUp ? "quota" : "provider", error.error)
      }
      if (!(error instanceof ChatEnd)) throw error
      const { text } = this.#partial
      if (!isBlank(text)) this.#history.push({ role: "assistant", content: text })
      if (error.why === "cancelled") throw this.#failure("cancelled")
      return this.#ended("timeout", text)
    } finally {
      clearTimeout(timer)
      for (const one of outside) one.removeEventListener("abort", cancel)
    }
  }

  async #loop(): Promise<ChatResult> {
    const { catalog, options } = this.#shared
    await catalog.freshen(this.#end.signal)
    for (const text of catalog.warnings()) this.#emit({ type: "warning", text })
    while (this.#turn < options.maxTurns) {
      this.#end.signal.throwIfAborted()
      this.#turn++
      const tools = catalog.offered()
      const answer = await this.#ask(tools)
      const written = Object.values(answer.calls)
      if (written.length === 0) {
        if (!isBlank(answer.text)) this.#history.push({ role: "assistant", content: answer.text })
        const cut = ["length", "content_filter"].find((reason) => reason === answer.finish)
        return this.#ended(cut ?? (isBlank(answer.text) ? "empty" : "stop"), answer.text)
      }
      this.#partial = noAnswer()
      const calls = written.map((call) => this.#read(call.id, call.name, call.arguments, tools))
      const outcomes = await this.#runCalls(calls, tools)
      const stop = await this.#afterCalls(answer.text, calls, outcomes)
      if (stop !== null) return stop
    }
    const last = this.#history.findLast(({ role }) => role === "assistant")
    return this.#ended("max_turns", typeof last?.content === "string" ? last.content : "")
  }

  // ---- The model -----------------------------------------------------------------------------------------------

  #offers(tools: Tool[]): JsonObject[] {
    const { metaTools, params } = this.#shared.options
    const offer = (name: string, description: string, schema: JsonObject) => ({
      type: "function",
      function: { name, description, parameters: schema },
    })
    const textOnly = (name: string) => ({
      type: "object",
      properties: { [name]: { type: "string" } },
      required: [name],
    })
    const own = OWN.filter(({ name }) => metaTools.includes(name))
    return [
      ...tools.map((tool) => offer(tool.offered, tool.description, shownSchema(tool, tools, Object.keys(params)))),
      ...own.map(({ name, description, parameter }) => offer(name, description, textOnly(parameter))),
    ]
  }

  /** The model's answer to the history, from the first model that gives one. */
  async #ask(tools: Tool[]): Promise<Answer> {
    const { models, options } = this.#shared
    const offers = this.#offers(tools)
    let plan = models.flatMap((model) => Array.from({ length: MODEL_ATTEMPTS }, () => model))
    for (let failures = 0; ; ) {
      const asking: Asking = {
        model: plan.shift()!,
        messages: [...this.#history],
        tools: offers,
        stream: options.stream,
        limit: options.maxAnswerBytes,
        signal: this.#end.signal,
        onText: (text) => this.#emit({ type: "llm_delta", text }),
      }
      try {
        return await this.#askOnce(asking)
      } catch (error) {
        if (!(error instanceof ModelFailure)) throw error
        this.#partial = noAnswer() // its text is void
        const { retryable, retry_after_ms: after = 0 } = error.error
        const isSameAgain = retryable && after <= LONGEST_MODEL_WAIT && plan[0] === asking.model
        if (!isSameAgain) plan = plan.filter((model) => model !== asking.model)
        if (error instanceof TenantQuotaUsedUp || plan.length === 0) throw error
        const wait = isSameAgain ? Math.max(after, FIRST_MODEL_WAIT) : 0
        this.#emit({ type: "retry", attempt: ++failures, wait_ms: wait, error: error.error })
        await pause(wait, this.#end.signal)
      }
    }
  }

  async #askOnce(asking: Asking): Promise<Answer> {
    const { quotas } = this.#shared
    const { tenant } = this.#request
    const reserved = estimate([asking.messages, asking.tools]) + EXPECTED_ANSWER
    if (!(await quotas.reserve(tenant, reserved, asking.signal))) throw new TenantQuotaUsedUp()
    const answer = (this.#partial = noAnswer())
    try {
      await ask(answer, asking)
      return answer
    } finally {
      const record = answer.wasRead ? usageOf(answer, asking, tenant) : null
      quotas.settle(tenant, reserved, record === null ? 0 : record.input_tokens + record.output_tokens)
      if (record !== null) {
        this.#usage.push(record)
        this.#emit({ type: "usage", usage: record })
      }
    }
  }

  // ---- The calls -----------------------------------------------------------------------------------------------

  /** A call as the client makes it of what the model wrote. */
  #read(id: string, name: string, written: string, tools: Tool[]): Call {
    let ownId = id
    for (let number = this.#ids.size + 1; ownId === "" || this.#ids.has(ownId); number++) ownId = `call_${number}`
    this.#ids.add(ownId)
    const own = OWN.find((one) => one.name === name && this.#shared.options.metaTools.includes(name))
    const tool = tools.find((one) => one.offered === name)
    const known = own !== undefined || tool !== undefined
    return { id: ownId, name: known ? name : similarName(name), written, args: parseArguments(written), tool, own }
  }

  #runCalls(calls: Call[], tools: Tool[]): Promise<Outcome[]> {
    for (const { id, name, args, written } of calls) {
      this.#emit({ type: "tool_call", call_id: id, tool_name: name, arguments: args, text: written })
    }
    return runCalls(calls, tools, this.#shared, {
      name: this.#request.name,
      tenant: this.#request.tenant,
      signal: this.#end.signal,
      millisecondsLeft: () => this.#endsAt - performance.now(),
      endError: () => END_ERRORS[(this.#end.signal.reason as ChatEnd).why],
      emit: (event) => this.#emit(event),
    })
  }

  /** Writes the turn into the history, and says whether the chat ends with it. */
  async #afterCalls(text: string, calls: Call[], outcomes: Outcome[]): Promise<ChatResult | null> {
    const done = (name: string) =>
      calls.findLast(({ own }, place) => own?.name === name && outcomes[place]!.error === undefined)
    const summary = done("__summarize__")
    if (summary !== undefined) this.#history = summarized(this.#history, ownText(summary)!)
    const toolCalls: ToolCall[] = calls.map(({ id, name, written, args }) => ({
      id,
      type: "function",
      function: { name, arguments: args === null || isBlank(written) ? "{}" : written },
    }))
    this.#history.push({ role: "assistant", content: text === "" ? null : text, tool_calls: toolCalls })
    for (const [place, { document }] of outcomes.entries()) {
      this.#history.push({ role: "tool", tool_call_id: calls[place]!.id, content: document })
    }
    for (const { display, shown } of outcomes) {
      this.#display ??= display ?? null
      this.#displays.push(...(display === undefined ? [] : [display]), ...shown)
    }
    await this.#callBack(outcomes)

    const why = this.#end.signal.aborted ? (this.#end.signal.reason as ChatEnd).why : null
    if (why === "cancelled") throw this.#end.signal.reason
    const question = done("__clarify__")
    if (question !== undefined) return this.#ended("clarify", ownText(question)!)
    if (why === "timeout") return this.#ended("timeout", "")
    const isShown = calls.every((call, place) => {
      const { error, display } = outcomes[place]!
      return error === undefined && (display !== undefined || isDependedOn(call, calls))
    })
    return isShown && this.#shared.options.display === "exit" ? this.#ended("display", "") : null
  }

  /** Tells the application, which cannot change anything by it (XMCP-CLI-064). */
  async #callBack(outcomes: Outcome[]) {
    const { onDisplay, onError } = this.#request
    const history = () => [...this.#history]
    const tell = async (callback: () => Promise<void> | undefined) => {
      try {
        await within(Promise.resolve(callback()), limited(this.#shared.closed, CALLBACK_TIME))
      } catch {
        // Whether it failed is the application's own affair.
      }
    }
    for (const { display, shown, error } of outcomes) {
      for (const envelope of [display, ...shown]) {
        if (envelope !== undefined) await tell(() => onDisplay?.(envelope, history()))
      }
      if (error !== undefined) await tell(() => onError?.(error, history()))
    }
  }

  // ---- The end -------------------------------------------------------------------------------------------------

  #emit(event: Event) {
    try {
      this.#request.onEvent?.({ turn: this.#turn, ...event })
    } catch {
      // As with callbacks.
    }
  }

  #ended(reason: string, text: string): ChatResult {
    const result: ChatResult = {
      answer: isBlank(text) ? null : text,
      display: this.#display,
      displays: this.#displays,
      history: this.#history,
      usage: totalOf(this.#usage),
      stop_reason: reason,
    }
    this.#emit({ type: "done", result })
    return result
  }

  #failure(kind: FailureKind, error: ToolError | null = null) {
    if (error !== null) this.#emit({ type: "failed", error, history: this.#history })
    return new ChatFailure(kind, this.#history, error)
  }
}

/** Whether each call of a history is followed by exactly one answer, in the order of the calls (XMCP-CLI-002). */
function isAnswered(history: readonly Message[]) {
  let open: string[] = []
  for (const { role, tool_call_id: id, tool_calls: calls } of history) {
    if (role === "tool" ? open.shift() !== id : open.length > 0) return false
    if (Array.isArray(calls)) open = calls.filter(isObject).map((call) => call.id)
  }
  return open.length === 0
}

/** The history with a summary in the place of what came before the newest message of the user (XMCP-CLI-086). */
function summarized(history: Message[], summary: string): Message[] {
  const begin = history.findIndex(({ role }) => role !== "system" && role !== "developer")
  const newest = history.findLastIndex(({ role }) => role === "user")
  if (newest <= begin) return history
  return [...history.slice(0, begin), { role: "user", content: summary }, ...history.slice(newest)]
}
