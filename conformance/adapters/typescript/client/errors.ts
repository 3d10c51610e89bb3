/** Errors of calls as JSON (chapter 4), and those that a client makes itself (section 11.4). */
import { readFileSync } from "node:fs"
import { isErrorMeta, type ToolError } from "../codec.ts"
import { doubles, isBlank, isObject, isWithinDepth, type JsonObject } from "./json.ts"

export type { ToolError }
export type SideEffects = "none" | "unknown"

interface Row {
  code: string
  category: string
  retryable: boolean
  aliases?: string[]
}

const registry = new Map<string, Row>()
const registryFile = new URL("../../../../schemas/registry/error_codes.json", import.meta.url)
for (const row of (JSON.parse(readFileSync(registryFile, "utf8")) as { codes: Row[] }).codes) {
  for (const code of [row.code, ...(row.aliases ?? [])]) registry.set(code, row)
}

export const isCode = (value: unknown): value is string =>
  typeof value === "string" && /^[A-Z][A-Z0-9_]{0,62}$/.test(value)
const isCategory = (value: unknown): value is string =>
  typeof value === "string" && /^[a-z][a-z0-9_]{0,62}$/.test(value)

export const isRetryable = (code: string) => registry.get(code)?.retryable ?? false

/** Each member of `meta` that is as its schema has it, and no deeper than a document can have it (section 6.4). */
function usableMeta(meta: unknown): JsonObject | undefined {
  if (!isObject(meta)) return undefined
  const usable = Object.entries(meta).filter(([name, value]) => {
    const member = { [name]: value }
    return isWithinDepth(member) && isErrorMeta(doubles(member))
  })
  return usable.length > 0 ? Object.fromEntries(usable) : undefined
}

/** The error that is left of what a server said, with a code of the form that codes have. */
export function usableError(code: string, said: JsonObject): ToolError {
  const { message, category, retry_after_ms: after } = said
  const retryable = said["retryable"] === true
  const meta = usableMeta(said["meta"])
  return {
    code,
    message: typeof message === "string" && !isBlank(message) ? message : code,
    retryable,
    ...(retryable && Number.isSafeInteger(after) && (after as number) >= 0 ? { retry_after_ms: after as number } : {}),
    category: registry.get(code)?.category ?? (isCategory(category) ? category : "internal"),
    ...(meta === undefined ? {} : { meta }),
  }
}

/** An error of the client's own. */
export function ownError(code: string, message: string, sideEffects?: SideEffects, more: JsonObject = {}): ToolError {
  const { fields, ...rest } = more
  const meta = { ...(sideEffects ? { side_effects: sideEffects } : {}), ...(fields ? { fields } : {}) }
  return usableError(code, { message, retryable: isRetryable(code), ...rest, meta })
}

export const invalid = (pointer: string, message: string) =>
  ownError("VALIDATION_FAIL", message, "none", { fields: [{ pointer, message }] })

export const sideEffectsOf = (error: ToolError) => error.meta?.["side_effects"]

/** Where an earlier attempt can have changed something, this one cannot say that nothing changed. */
export const afterAttempts = (error: ToolError, changed: boolean): ToolError =>
  changed && sideEffectsOf(error) === "none" ? { ...error, meta: { ...error.meta, side_effects: "unknown" } } : error
