/** What all chats of a client share: slots, circuit breakers, quotas and a cache. */
import { canonical, type JsonObject } from "./json.ts"
import type { Count } from "./mcp.ts"
import type { Outcome } from "./result.ts"
import type { Tool } from "./tools.ts"
import { within } from "./waiting.ts"

/** A limit of calls at the same time, in which the tenants take turns (XMCP-CLI-021, 117). */
export class Slots {
  #free: number
  /** Who waits, by tenant; the tenant whose turn it is comes first. */
  readonly #waiting = new Map<string | null, (() => void)[]>()

  constructor(slots: number) {
    this.#free = slots
  }

  async take(tenant: string | null, signal: AbortSignal): Promise<void> {
    if (this.#free > 0) {
      this.#free--
      return
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const queue = this.#waiting.get(tenant) ?? []
    this.#waiting.set(tenant, [...queue, resolve])
    try {
      await within(promise, signal)
    } catch (reason) {
      const left = this.#waiting.get(tenant) ?? []
      if (!left.includes(resolve)) this.giveBack() // it was this one's turn just now
      else this.#setQueue(tenant, left.filter((other) => other !== resolve))
      throw reason
    }
  }

  giveBack() {
    const [tenant, queue] = this.#waiting.entries().next().value ?? []
    if (tenant === undefined || queue === undefined) {
      this.#free++
      return
    }
    const [next, ...others] = queue
    this.#waiting.delete(tenant) // and to the end
    this.#setQueue(tenant, others)
    next!()
  }

  #setQueue(tenant: string | null, queue: (() => void)[]) {
    if (queue.length > 0) this.#waiting.set(tenant, queue)
    else this.#waiting.delete(tenant)
  }
}

/** The leave to make one attempt. */
export interface Leave {
  isProbe: boolean
  /** How often the breaker had opened before: what was sent before it opened does not count any more. */
  period: number
}

export class Breaker {
  readonly #threshold: number
  readonly #resetAfter: number
  #failures = 0
  #period = 0
  /** When the probe is due; null while the breaker is closed. */
  #dueAt: number | null = null
  #probing = false
  readonly #counted = new WeakSet<object>()

  constructor(threshold: number | null, resetAfterSeconds: number) {
    this.#threshold = threshold ?? Infinity
    this.#resetAfter = resetAfterSeconds * 1000
  }

  /** A leave, or the milliseconds after which there can be one. */
  ask(): Leave | number {
    if (this.#dueAt === null) return { isProbe: false, period: this.#period }
    const left = this.#dueAt - performance.now()
    if (left > 0) return Math.ceil(left)
    if (this.#probing) return Math.max(1, Math.ceil(Math.min(this.#resetAfter, 1000)))
    this.#probing = true
    return { isProbe: true, period: this.#period }
  }

  /** Says how an attempt ended. `cause` is the same for calls that waited for one connection (XMCP-CLI-100). */
  count(leave: Leave, count: Count, cause: object) {
    if (leave.period !== this.#period) return
    if (leave.isProbe) {
      this.#probing = false
      if (count === "failure") this.#open()
      if (count === "answer") this.#close()
    } else if (count === "answer") this.#failures = 0
    else if (count === "failure" && !this.#counted.has(cause)) {
      this.#counted.add(cause)
      if (++this.#failures >= this.#threshold) this.#open()
    }
  }

  #open() {
    this.#dueAt = performance.now() + this.#resetAfter
    this.#period++
  }

  #close() {
    this.#dueAt = null
    this.#failures = 0
    this.#period++
  }
}

/** How many tokens each tenant has used, and its running requests have reserved (XMCP-CLI-074). */
export class Quotas {
  readonly #most: Record<string, number>
  readonly #used = new Map<string, number>()
  readonly #reserved = new Map<string, number>()
  #changed = Promise.withResolvers<void>()

  constructor(most: Record<string, number>) {
    this.#most = most
  }

  /** Reserves tokens, and waits for reservations of others if need be. False: the quota is used up. */
  async reserve(tenant: string | null, tokens: number, signal: AbortSignal): Promise<boolean> {
    if (tenant === null || !Object.hasOwn(this.#most, tenant)) return true
    const most = this.#most[tenant]!
    for (;;) {
      const used = this.#used.get(tenant) ?? 0
      const reserved = this.#reserved.get(tenant) ?? 0
      if (used >= most) return false
      if (used + reserved < most) {
        this.#reserved.set(tenant, reserved + tokens)
        return true
      }
      await within(this.#changed.promise, signal)
    }
  }

  /** A request has ended, and used so many tokens in the place of those that were reserved. */
  settle(tenant: string | null, reserved: number, used: number) {
    if (tenant === null) return
    this.#reserved.set(tenant, (this.#reserved.get(tenant) ?? 0) - reserved)
    this.#used.set(tenant, (this.#used.get(tenant) ?? 0) + used)
    this.#changed.resolve()
    this.#changed = Promise.withResolvers<void>()
  }
}

interface Entry {
  outcome: Outcome
  until: number
}

const MOST_ENTRIES = 1000
const ENTRY_AGE = 300_000

/** Answers of earlier calls, and calls under way for which equal ones wait (section 11.5). */
export class Cache {
  readonly #entries = new Map<string, Entry>()
  readonly #running = new Map<string, Promise<Outcome | null>>()

  static key = (tenant: string | null, tool: Tool, args: JsonObject) =>
    canonical([tenant, tool.server, tool.name, tool.offered, tool.described, args])

  /**
   * The answer to an equal call, or else what `make` makes. `isEnded` says of an outcome that no tool made it, but the
   * end of the chat: it is none for others, who then make the call themselves.
   */
  async answer(
    key: string,
    make: () => Promise<Outcome>,
    isEnded: (outcome: Outcome) => boolean,
    signal: AbortSignal,
  ): Promise<Outcome> {
    for (;;) {
      const entry = this.#entries.get(key)
      if (entry !== undefined && entry.until > performance.now()) return entry.outcome
      const running = this.#running.get(key)
      if (running === undefined) return this.#lead(key, make, isEnded)
      const outcome = await within(running, signal)
      if (outcome !== null) return outcome
    }
  }

  async #lead(key: string, make: () => Promise<Outcome>, isEnded: (outcome: Outcome) => boolean) {
    const { promise, resolve } = Promise.withResolvers<Outcome | null>()
    this.#running.set(key, promise)
    let outcome: Outcome | null = null
    try {
      outcome = await make()
      const meta = outcome.display?.["meta"] as JsonObject | undefined
      if (outcome.error === undefined && meta?.["transient"] !== true) this.#put(key, outcome)
      return outcome
    } finally {
      this.#running.delete(key)
      resolve(outcome === null || isEnded(outcome) ? null : outcome)
    }
  }

  #put(key: string, outcome: Outcome) {
    this.#entries.delete(key)
    this.#entries.set(key, { outcome, until: performance.now() + ENTRY_AGE })
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > MOST_ENTRIES && oldest !== undefined) this.#entries.delete(oldest)
  }
}
