/** What a client reads of the result of a call (section 6.4). */
import { DecodeError, EncodeError, decode, isEnvelope } from "../codec.ts"
import { documentWithin, write, type Values } from "./documents.ts"
import { isCode, isRetryable, ownError, usableError, type ToolError } from "./errors.ts"
import { asNumber, doubles, isBlank, isObject, isSame, jsonOf, objectAt, stringify, type JsonObject } from "./json.ts"
import { PREFIX } from "../server/schemas.ts"

/** What came of a call. */
export interface Outcome {
  /** For the model. */
  document: string
  error?: ToolError
  /** The text of `llm_output`, absent where there is none. */
  text?: string
  /** The structured content without its wrapper; `null` can be one. */
  structured?: { value: unknown }
  /** The display of the tool. */
  display?: JsonObject
  /** Displays that the client made of blocks for the person. */
  shown: JsonObject[]
  warnings: string[]
}

export interface Reading {
  announced: boolean
  /** The name under which the model knows the tool. */
  name: string
  wrappedIn: string | undefined
  budget: number
}

/** The outcome of a call that has no answer of the tool. */
export const failed = (name: string, error: ToolError): Outcome => ({
  document: write({ tool_name: name, error }, 0),
  error,
  shown: [],
  warnings: [],
})

export const succeeded = (name: string, text: string): Outcome => ({
  document: write({ tool_name: name, llm_output: text }, 0),
  text,
  shown: [],
  warnings: [],
})

export function readResult(result: JsonObject, reading: Reading): Outcome {
  const { content } = result
  if (!Array.isArray(content)) {
    return failed(reading.name, ownError("TOOL_ERROR", "The result is not as the protocol defines it."))
  }
  const blocks = content.filter(isObject)
  const form = objectAt(result["_meta"], `${PREFIX}result`)["form"]
  const isDocument = reading.announced && form !== "plain"
  try {
    return isDocument ? readDocument(result, blocks, reading) : readBlocks(result, blocks, reading)
  } catch (error) {
    // Such as a text that makes the document longer than documents are.
    if (!(error instanceof EncodeError) && !(error instanceof RangeError)) throw error
    return failed(reading.name, ownError("RESULT_TOO_LARGE", "The result cannot be written as a document.", "unknown"))
  }
}

// ---- Blocks ----------------------------------------------------------------------------------------------------

/** The author of the block wrote it for the person alone. */
function isForUser({ annotations }: JsonObject) {
  const audience = isObject(annotations) ? annotations["audience"] : undefined
  return Array.isArray(audience) && audience.length > 0 && audience.every((one) => one === "user")
}

/** The text of a text block, or of an embedded resource that has one. */
function textIn(block: JsonObject): string | undefined {
  const holder = block["type"] === "resource" ? objectAt(block, "resource") : block["type"] === "text" ? block : {}
  return typeof holder["text"] === "string" ? holder["text"] : undefined
}

/** What the model gets of a block: its text, or words that say what is there. */
function wordsFor(block: JsonObject): string {
  const { type, name, uri } = block
  if (type === "resource_link") return `[link to a resource: ${[name, uri].filter(Boolean).join(", ")}]`
  const mime = block["mimeType"] ?? objectAt(block, "resource")["mimeType"]
  const kind = typeof mime === "string" ? `${String(type)}, ${mime}` : String(type)
  return `[${kind}: not visible to you]`
}

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"]

/** A display of what a block for the person holds, and the reference that the model gets in its place. */
function shownTo(block: JsonObject): { display: JsonObject; reference: string } | undefined {
  const text = textIn(block)
  if (text !== undefined) {
    const reference = `[text, ${[...text].length} characters: shown to the person, not visible to you]`
    return { display: { type: "text", payload: text }, reference }
  }
  const { type, data, mimeType } = block
  const mime = String(mimeType).toLowerCase()
  if (type !== "image" || typeof data !== "string" || !PICTURES.includes(mime)) return undefined
  const display = { type: "image", payload: `data:${mime};base64,${data}` }
  return { display, reference: `[${mime}: shown to the person, not visible to you]` }
}

/** Whether data says again what a block says that is for the person alone. */
function repeats(data: unknown, text: string): boolean {
  if (typeof data === "string") return data.includes(text)
  if (typeof data !== "object" || data === null) return false
  const value = jsonOf(text)
  if (typeof value === "object" && value !== null && isSame(value, data)) return true
  if (Array.isArray(data)) return data.some((item) => repeats(item, text))
  return isObject(data) && Object.entries(data).some(([name, item]) => name.includes(text) || repeats(item, text))
}

/** The displays of the blocks for the person; one that says no more than the beginning of `alt` is left out. */
function personal(blocks: JsonObject[], display: JsonObject | undefined) {
  const alt = String(display?.["alt"] ?? "")
  const found = blocks.filter(isForUser).flatMap((block) => shownTo(block) ?? [])
  return found.filter((one) => alt === "" || !alt.startsWith(String(one.display["payload"])))
}

/** The structured content without its wrapper. */
function unwrapped(content: unknown, wrappedIn: string | undefined): Pick<Outcome, "structured"> {
  if (content === undefined || content === null) return {}
  const isWrapped = wrappedIn !== undefined && isObject(content) && Object.keys(content).join() === wrappedIn
  return { structured: { value: isWrapped ? content[wrappedIn] : content } }
}

// ---- Documents -------------------------------------------------------------------------------------------------

function readDocument(result: JsonObject, blocks: JsonObject[], { name, wrappedIn, budget }: Reading): Outcome {
  const [first] = blocks
  const document = first?.["type"] === "text" && !isForUser(first) ? first["text"] : undefined
  const unreadable = (why: string) => ({
    ...failed(name, ownError("INVALID_XML", why)),
    shown: personal(blocks, undefined).map((one) => one.display),
  })
  if (typeof document !== "string") return unreadable("The result has no document.")
  let decoded: ReturnType<typeof decode>
  try {
    decoded = decode(document, { badDisplay: "drop" })
  } catch (error) {
    if (error instanceof DecodeError) return unreadable(`The document cannot be read: ${error.fault}.`)
    throw error
  }
  const { response, warnings } = decoded
  const { display, llm_output: text } = response
  const dropped = warnings.length > 0
  const common = {
    ...(display === undefined ? {} : { display }),
    shown: personal(blocks.slice(1), display).map((one) => one.display),
    warnings: dropped ? ["The display of the result was dropped, because it is none."] : [],
  }
  if (response.error === undefined && result["isError"] === true) {
    const error = ownError("TOOL_ERROR", text ?? "")
    return { ...common, error, document: write({ tool_name: name, error, display }, budget) }
  }
  const own = documentWithin(document, response, dropped, budget)
  if (response.error !== undefined) {
    const error = usableError(response.error.code, { ...response.error })
    // The model reads the category of the server, where the document stays.
    const { category } = own === document ? response.error : error
    return { ...common, error: { ...error, category }, document: own }
  }
  const texts = text === undefined ? {} : { text }
  return { ...common, ...texts, ...unwrapped(result["structuredContent"], wrappedIn), document: own }
}

// ---- Results that are no documents -----------------------------------------------------------------------------

function readBlocks(result: JsonObject, blocks: JsonObject[], reading: Reading): Outcome {
  const { announced, name, wrappedIn, budget } = reading
  const meta = announced && isObject(result["_meta"]) ? result["_meta"] : {}
  const info = objectAt(meta, `${PREFIX}result`)
  const isNote = (block: JsonObject) => announced && objectAt(block, "_meta")[`${PREFIX}server_populated`] === true
  const parts = blocks
    .filter((block) => !isForUser(block) && !isNote(block))
    .flatMap((block) => textIn(block) ?? (block["type"] === "text" ? [] : wordsFor(block)))
  const ownText = parts.some((part) => part !== "") ? parts.join("\n") : undefined

  const warnings: string[] = []
  const usable = (key: string, isUsable: (value: unknown) => boolean) => {
    const value = meta[`${PREFIX}${key}`]
    if (value === undefined || isUsable(value)) return value as JsonObject | undefined
    warnings.push(`The member ${key} of the result was dropped, because it is not as it has to be.`)
    return undefined
  }
  const display = usable("display", (value) => isEnvelope(doubles(value)))
  const populated = usable("server_populated", isObject)

  const sent = result["structuredContent"] ?? undefined
  const format = info["format"] === "application/json" && ownText !== undefined ? jsonOf(ownText) : undefined
  const structured = sent ?? (isObject(format) ? format : undefined)
  const secrets = blocks.filter(isForUser).flatMap((block) => textIn(block) ?? [])
  const isSecret = (data: unknown) => secrets.some((text) => !isBlank(text) && repeats(data, text))
  const dataText = sent === undefined || isSecret(sent) ? undefined : stringify(sent)

  const people = personal(blocks, display)
  const common = {
    ...(display === undefined ? {} : { display }),
    shown: people.map((one) => one.display),
    warnings,
  }
  const rest = { tool_name: name, display, server_populated: populated }

  const error = errorOf(result, meta, ownText, sent, isSecret, dataText)
  if (error !== undefined) return { ...common, error, document: write({ ...rest, error }, budget) }

  const text = ownText ?? dataText ?? (display === undefined ? "" : undefined)
  const lines = [...(text === undefined || text === "" ? [] : [text]), ...people.map((one) => one.reference)]
  const output = text === undefined && lines.length === 0 ? undefined : lines.join("\n")
  const marks = { truncated: info["truncated"] === true, lossy: info["lossy"] === true }
  const values: Values = output === undefined ? rest : { ...rest, llm_output: output, ...marks }
  const texts = text === undefined ? {} : { text }
  return { ...common, ...texts, ...unwrapped(structured, wrappedIn), document: write(values, budget) }
}

function errorOf(
  result: JsonObject,
  meta: JsonObject,
  ownText: string | undefined,
  data: unknown,
  isSecret: (data: unknown) => boolean,
  dataText: string | undefined,
): ToolError | undefined {
  const said = meta[`${PREFIX}error`]
  if (isObject(said) && isCode(said["code"])) return usableError(said["code"], said)
  if (result["isError"] !== true) return undefined

  const holder = [objectAt(data, "error"), data].find((one) => isObject(one) && typeof one["code"] === "string")
  const hints = isObject(holder) ? holder : {}
  const { message } = hints
  const texts = [ownText, isSecret(message) ? undefined : message, dataText]
  const usable = texts.find((text) => typeof text === "string" && !isBlank(text))
  return foreignError(hints, (usable as string | undefined) ?? "The tool failed, and did not say why.")
}

/** How servers that do not know XMCP say when another attempt can help, in milliseconds (XMCP-MCP-040). */
const WAITS: [member: string, unit: number][] = [
  ["retry_after_ms", 1],
  ["retry_after_seconds", 1000],
  ["retry_after", 1000],
]

function foreignError(hints: JsonObject, message: string): ToolError {
  const written = String(hints["code"] ?? "")
    .replace(/[a-z]/g, (letter) => letter.toUpperCase())
    .replace(/[^A-Z0-9_]/gu, "_")
  const code = isCode(written) ? written : "TOOL_ERROR"
  const retryable = typeof hints["retryable"] === "boolean" ? hints["retryable"] : isRetryable(code)
  const waits = WAITS.map(([member, unit]) => (asNumber(hints[member]) ?? -1) * unit)
  const wait = waits.find((milliseconds) => milliseconds >= 0)
  return usableError(code, {
    message,
    retryable,
    ...(wait === undefined ? {} : { retry_after_ms: Math.min(Math.ceil(wait), Number.MAX_SAFE_INTEGER) }),
  })
}
