/** Failures: those that a tool foresees, with what the registry says of their codes, and all others. */
import { randomUUID } from "node:crypto"
import type { Outgoing } from "../codec.ts"
import { CODES } from "./schemas.ts"

/** The categories of section 4.2 whose errors are retryable, for codes that are not registered. */
const RETRYABLE = ["rate_limited", "timeout", "unavailable"]

export interface FailureOptions {
  /** Needed for a code that is not registered. */
  category?: string
  retryable?: boolean
  retry_after_ms?: number
  meta?: unknown
  display?: unknown
  lossy?: boolean
}

/** A failure that a tool foresees. */
export class Failure extends Error {
  readonly error: NonNullable<Outgoing["error"]>
  readonly more: FailureOptions

  constructor(code: string, message: string, more: FailureOptions = {}) {
    super(message)
    this.more = more
    const row = CODES.get(code)
    const category = more.category ?? row?.category ?? "internal"
    const { retryable = row?.retryable ?? RETRYABLE.includes(category), retry_after_ms, meta } = more
    this.error = { code, message, category, retryable }
    if (retry_after_ms !== undefined) this.error.retry_after_ms = retry_after_ms
    if (meta !== undefined) this.error.meta = meta
  }
}

/** The failure that nobody foresaw. Only its id leaves the server; the log has the rest. */
export function unforeseen(tool: string, cause: unknown, isReadOnly: boolean): Failure {
  const error_id = randomUUID()
  console.error(error_id, tool, cause)
  const side_effects = isReadOnly ? "none" : "unknown"
  return new Failure("INTERNAL", `The server's log has the reason: ${error_id}`, { meta: { error_id, side_effects } })
}
