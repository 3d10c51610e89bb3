/** The calls of one turn: in which order they run, and what each one goes through (`run` of chapter 11). */
import type { Catalog } from "./catalog.ts"
import { afterAttempts, invalid, ownError, sideEffectsOf, type ToolError } from "./errors.ts"
import { handOn, type Ended } from "./handing.ts"
import { isBlank, strip, type JsonObject } from "./json.ts"
import { Cache, type Slots } from "./limits.ts"
import { ServerFailure } from "./mcp.ts"
import { failed, readResult, succeeded, type Outcome } from "./result.ts"
import { namedParameters, requiresParameter, type Tool } from "./tools.ts"
import type { Event, Options, Question } from "./types.ts"
import { TimeOver, limited, pause, within } from "./waiting.ts"

/** What all chats of a client share. */
export interface Shared {
  options: Options
  catalog: Catalog
  slots: Slots
  cache: Cache
}

/** The chat to which a turn belongs. */
export interface Surroundings {
  name: string
  tenant: string | null
  /** Aborted when the chat is cancelled or its time is over. */
  signal: AbortSignal
  millisecondsLeft: () => number
  /** The error of a call that the end of the chat met. */
  endError: () => ToolError
  emit: (event: Event) => void
}

export interface Call {
  id: string
  /** As the model knows the tool, or made it up. */
  name: string
  /** The arguments as the model wrote them, and what they are, or null where they are not one JSON object. */
  written: string
  args: JsonObject | null
  tool: Tool | undefined
  own: OwnTool | undefined
}

export interface OwnTool {
  name: string
  parameter: string
  description: string
  answer: string
}

export const OWN: OwnTool[] = [
  {
    name: "__think__",
    parameter: "thought",
    description: "Think between calls; the person does not see it.",
    answer: "Noted.",
  },
  {
    name: "__clarify__",
    parameter: "question",
    description: "Ask the person one question.",
    answer: "The person is asked.",
  },
  {
    name: "__summarize__",
    parameter: "summary",
    description: "Replace the older messages of this conversation by a summary.",
    answer: "The summary takes the place of the older messages.",
  },
]

/** The text that one of the client's own tools was given, or null. */
export function ownText({ own, args }: Call): string | null {
  const text = own === undefined ? undefined : args?.[own.parameter]
  return typeof text === "string" && !isBlank(text) ? strip(text) : null
}

/** Milliseconds: a wait that a server wants is never longer (XMCP-CLI-040), and the client's own waits. */
const LONGEST_WAIT = 120_000
const FIRST_BACK_OFF = 100
const LONGEST_BACK_OFF = 5_000

const saysUnknownTool = ({ code, message }: ToolError) =>
  code === "UNKNOWN_TOOL" || /\b(?:unknown tool|no such tool|tool\b.*\b(?:not found|does not exist))/i.test(message)

/** Runs the calls of a turn at the same time, each after those on which it depends. The outcomes are in their order. */
export function runCalls(calls: Call[], tools: Tool[], shared: Shared, chat: Surroundings): Promise<Outcome[]> {
  const running = new Map<Call, Promise<Outcome>>()
  const start = (call: Call): Promise<Outcome> => {
    const known = running.get(call)
    if (known !== undefined) return known
    const before = predecessors(call, calls)
    const ended = Promise.all(
      calls.filter((one) => before.has(one)).map(async (one) => ({ tool: one.tool!, outcome: await start(one) })),
    )
    const outcome = new CallRun(call, calls.indexOf(call), tools, shared, chat).outcome(ended)
    running.set(call, outcome)
    return outcome
  }
  return Promise.all(calls.map(start))
}

/** The calls on which a call depends directly. */
const direct = (call: Call, calls: Call[]) =>
  calls.filter(({ tool }) => tool?.server === call.tool?.server && call.tool?.dependsOn.includes(tool!.name))

/** These, and those on which they depend. */
function predecessors(call: Call, calls: Call[], found = new Set<Call>()): Set<Call> {
  for (const one of call.tool === undefined ? [] : direct(call, calls)) {
    if (!found.has(one)) predecessors(one, calls, found.add(one))
  }
  return found
}

export const isDependedOn = (call: Call, calls: Call[]) =>
  call.tool !== undefined && calls.some((other) => other.tool !== undefined && direct(other, calls).includes(call))

type Filled = { args: JsonObject } | { error: ToolError }

class CallRun {
  readonly #call: Call
  readonly #place: number
  readonly #tools: Tool[]
  readonly #shared: Shared
  readonly #chat: Surroundings

  constructor(call: Call, place: number, tools: Tool[], shared: Shared, chat: Surroundings) {
    this.#call = call
    this.#place = place
    this.#tools = tools
    this.#shared = shared
    this.#chat = chat
  }

  async outcome(ended: Promise<Ended[]>): Promise<Outcome> {
    let outcome: Outcome
    try {
      outcome = await this.#run(ended)
    } catch {
      const { signal, endError } = this.#chat
      outcome = this.#failed(signal.aborted ? endError() : ownError("INTERNAL", "The client failed.", "unknown"))
    }
    const { tool } = this.#call
    if (tool !== undefined && outcome.error !== undefined && saysUnknownTool(outcome.error)) {
      this.#shared.catalog.suspect(tool)
    }
    this.#report(outcome)
    return outcome
  }

  #failed = (error: ToolError) => failed(this.#call.name, error)

  #emit(type: string, members: JsonObject = {}) {
    this.#chat.emit({ type, call_id: this.#call.id, tool_name: this.#call.name, ...members })
  }

  #report({ error, text = "", display, shown, warnings }: Outcome) {
    for (const warning of warnings) this.#emit("warning", { text: warning })
    if (error === undefined) this.#emit("tool_result", { text })
    else this.#emit("tool_error", { error })
    for (const envelope of [display, ...shown]) if (envelope !== undefined) this.#emit("tool_display", { envelope })
  }

  /** The first line that applies gives the answer. */
  async #run(ended: Promise<Ended[]>): Promise<Outcome> {
    const { tool, args, own, name } = this.#call
    const { options, cache } = this.#shared
    const { signal, tenant } = this.#chat
    const most = options.maxCallsPerTurn
    if (most !== null && this.#place >= most) {
      return this.#failed(ownError("RATE_LIMIT", `One turn can have ${most} calls: try again in the next.`, "none"))
    }
    if (tool === undefined && own === undefined) {
      return this.#failed(ownError("UNKNOWN_TOOL", "There is no tool of this name.", "none"))
    }
    if (args === null) return this.#failed(invalid("", "The arguments are not one JSON object."))
    if (own !== undefined) {
      const text = ownText(this.#call)
      if (text === null) return this.#failed(invalid(`/${own.parameter}`, "A text is missing."))
      return succeeded(name, own.answer)
    }
    if (tool === undefined) throw new Error("a call of neither kind")

    const before = await within(ended, signal)
    signal.throwIfAborted()
    const filledIn = Object.keys(options.params)
    const handed = handOn(tool, args, this.#tools, before, filledIn)
    if ("failed" in handed) return this.#failed(ownError("DEPENDENCY_FAILED", handed.failed, "none"))

    const question: Question = { chat: this.#chat.name, call_id: this.#call.id, tool_name: name, arguments: handed.args, tenant }
    if (options.approve !== null && !(await this.#isApproved(question))) {
      return this.#failed(ownError("FORBIDDEN", "The person did not approve this call.", "none"))
    }
    const filled = await this.#fillIn(tool, question, filledIn)
    if ("error" in filled) return this.#failed(filled.error)
    const final = filled.args

    const isCacheable = options.cache && (tool.cacheable || (tool.readOnly && options.cacheReadOnly))
    const make = () => this.#attempts(tool, final)
    if (!isCacheable || tool.name === "health_check") return make()
    return cache.answer(Cache.key(tenant, tool, final), make, () => signal.aborted, signal)
  }

  async #isApproved(question: Question): Promise<boolean> {
    const { signal, name } = this.#chat
    try {
      return (await within(this.#shared.options.approve!(name, question), signal)) === true
    } catch {
      signal.throwIfAborted()
      return false
    }
  }

  /** The arguments with what the application gives, in the place of what others wrote; or an error. */
  async #fillIn(tool: Tool, question: Question, filledIn: string[]): Promise<Filled> {
    const { params } = this.#shared.options
    const written = Object.entries(question.arguments).filter(([name]) => !filledIn.includes(name))
    const args: JsonObject = Object.fromEntries(written)
    for (const name of namedParameters(tool, filledIn)) {
      let value = params[name]
      try {
        if (typeof value === "function") value = await within(Promise.resolve(value(question)), this.#chat.signal)
      } catch {
        this.#chat.signal.throwIfAborted()
        return { error: ownError("INTERNAL", `The application failed to give the parameter ${name}.`, "none") }
      }
      if (value !== undefined && value !== null) args[name] = value
      else if (requiresParameter(tool, name)) {
        const message = `The application has no value for the parameter ${name}.`
        return { error: ownError("MISSING_SERVER_PARAM", message, "none") }
      }
    }
    return { args }
  }

  async #attempts(tool: Tool, args: JsonObject): Promise<Outcome> {
    const { maxAttempts } = this.#shared.options
    const { signal, tenant, millisecondsLeft } = this.#chat
    let changed = false // an earlier attempt can have changed something
    for (let attempt = 1; ; attempt++) {
      await this.#shared.slots.take(tenant, signal)
      let outcome: Outcome
      try {
        signal.throwIfAborted()
        outcome = await this.#attempt(tool, args, attempt === 1, changed)
      } finally {
        this.#shared.slots.giveBack()
      }
      const { error } = outcome
      if (error === undefined || signal.aborted) return outcome
      const isSafe = tool.readOnly || tool.idempotent || sideEffectsOf(error) === "none"
      const backOff = Math.min(FIRST_BACK_OFF * 2 ** (attempt - 1), LONGEST_BACK_OFF)
      const wait = Math.max(error.retry_after_ms ?? 0, backOff)
      const isTooLong = wait > Math.min(LONGEST_WAIT, millisecondsLeft())
      const isLast = attempt >= maxAttempts || error.code === "CIRCUIT_OPEN"
      if (isLast || !error.retryable || !isSafe || isTooLong) return outcome
      changed ||= sideEffectsOf(error) !== "none"
      this.#emit("retry", { attempt, wait_ms: wait, error })
      await pause(wait, signal)
    }
  }

  async #attempt(tool: Tool, args: JsonObject, isFirst: boolean, changed: boolean): Promise<Outcome> {
    const { catalog, options } = this.#shared
    const { signal } = this.#chat
    const { mcp, breaker } = catalog.serverOf(tool)
    const leave = breaker.ask()
    if (typeof leave === "number") {
      const message = "The server could not be reached before, and is not called for a while."
      return this.#failed(afterAttempts(ownError("CIRCUIT_OPEN", message, "none", { retry_after_ms: leave }), changed))
    }
    if (isFirst) this.#emit("tool_started")
    const reading = { name: this.#call.name, wrappedIn: tool.wrappedIn, budget: options.displayBudget }
    try {
      const { result, announced } = await mcp.call(tool.name, args, tool.input, limited(signal, options.toolTimeout))
      breaker.count(leave, "answer", result)
      return readResult(result, { ...reading, announced })
    } catch (error) {
      if (signal.aborted) {
        breaker.count(leave, "ended", signal)
        throw signal.reason
      }
      const other = () => new ServerFailure(error instanceof TimeOver ? "timeout" : "malformed")
      const failure = error instanceof ServerFailure ? error : other()
      breaker.count(leave, failure.count, failure)
      return this.#failed(afterAttempts(failure.error, changed))
    }
  }
}
