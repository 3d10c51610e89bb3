/**
 * A codec for XMCP documents (specification 1.0-draft), written from the specification alone.
 *
 * `encode` writes a response as a document, `decode` reads a whole document, and `Decoder` reads one in pieces.
 * A refusal to write is an `EncodeError`; a refusal to read is a `DecodeError` with a class of section 2.5.
 */
import { readFileSync } from "node:fs"
import { isUtf8 } from "node:buffer"
import { Ajv2020 } from "ajv/dist/2020.js"
import { SaxesParser } from "saxes"
import type { SaxesTagPlain } from "saxes"

export type FaultClass =
  "NOT_WELL_FORMED" | "DTD" | "ENCODING" | "SCHEMA" | "VERSION" | "BAD_JSON" | "BAD_ENVELOPE" | "LIMIT"

export type JsonObject = { [name: string]: unknown }

export interface ToolError {
  code: string
  message: string
  retryable: boolean
  retry_after_ms?: number
  category: string
  meta?: JsonObject
}

export interface Response {
  tool_name: string
  version: string
  call_id?: string
  llm_output?: string
  format?: string
  truncated: boolean
  lossy: boolean
  display?: JsonObject
  server_populated?: JsonObject
  error?: ToolError
}

/** What `encode` takes: as `Response`, with defaults left out, and values of the language inside the JSON. */
export type Outgoing = Partial<Omit<Response, "error" | "display" | "server_populated">> & {
  tool_name: string
  display?: unknown
  server_populated?: unknown
  error?: Partial<Omit<ToolError, "meta">> & { code: string; message: string; meta?: unknown }
}

export class EncodeError extends Error {}

export class DecodeError extends Error {
  readonly fault: FaultClass
  constructor(fault: FaultClass, message: string) {
    super(message)
    this.fault = fault
  }
}

/** Section 2.6. */
const LIMITS = {
  document: 8_388_608,
  elements: 256,
  depth: 64,
  attributes: 256,
  attributeValue: 4096,
  tag: 65_536,
  json: 64,
}

// ---- Schemas and registries ------------------------------------------------------------------------------------

const load = (path: string) => JSON.parse(readFileSync(new URL(`../../../schemas/${path}`, import.meta.url), "utf8"))

// `strictNumbers: false`: 1e999 is a number that a reader accepts, although it becomes Infinity here.
const ajv = new Ajv2020({ strict: false, strictNumbers: false })
ajv.addFormat(
  "date-time",
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/,
)
export const isEnvelope = ajv.compile(load("display_envelope.schema.json"))
export const isErrorMeta = ajv.compile(load("error_meta.schema.json"))
const isServerPopulated = ajv.compile(load("server_populated.schema.json"))

const displayTypes = load("registry/display_types.json")
const reservedTypes = new Set<string>(
  displayTypes.types.filter((row: any) => row.status === "reserved").map((row: any) => row.type),
)
const inertChart = displayTypes.types.find((row: any) => row.type === "chart").inert

// A Map, because an object would also have a category for codes such as `constructor`.
const categories = new Map<string, string>()
for (const row of load("registry/error_codes.json").codes) {
  for (const code of [row.code, ...(row.aliases ?? [])]) categories.set(code, row.category)
}

// ---- Attributes, as the XSD has them ---------------------------------------------------------------------------

const VERSION = /^(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})$/
const MEDIA_TYPE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+\-]*\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+\-]*$/
const ERROR_CODE = /^[A-Z][A-Z0-9_]{0,62}$/
const CATEGORY = /^[a-z][a-z0-9_]{0,62}$/

/** Length in characters: the strings of JavaScript have a length in code units. */
const isOfLength = (text: string, most: number) => {
  if (text.length > 2 * most) return false
  const { length } = [...text]
  return length >= 1 && length <= most
}
const isToolName = (text: string) => isOfLength(text, 128)
const isCallId = (text: string) => isOfLength(text, 256)
const isMediaType = (text: string) => text.length <= 127 && MEDIA_TYPE.test(text)

/** Removes white space of XML from the ends; `trim` would take more. */
const strip = (text: string) => {
  let start = 0
  let end = text.length
  while (start < end && " \t\n\r".includes(text[start]!)) start++
  while (end > start && " \t\n\r".includes(text[end - 1]!)) end--
  return text.slice(start, end)
}
const isWhiteSpace = (text: string) => strip(text) === ""

// ---- Reading JSON ----------------------------------------------------------------------------------------------

/** `JSON.parse` keeps the last of two members of one name, knows no depth, and lets unpaired surrogates pass. */
function parseJson(text: string): unknown {
  let at = 0

  const bad = (what: string): never => {
    throw new DecodeError("BAD_JSON", `${what} at ${at}`)
  }
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  const take = (token: string) => {
    match(/[ \t\n\r]*/y)
    if (!text.startsWith(token, at)) return false
    at += token.length
    return true
  }
  const string = () => {
    const literal = match(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y) ?? bad("no string")
    const value: string = JSON.parse(literal)
    return value.isWellFormed() ? value : bad("an unpaired surrogate before")
  }
  const value = (depth: number): unknown => {
    const nested = () => {
      if (depth === LIMITS.json) throw new DecodeError("LIMIT", "JSON nested too deeply")
      return depth + 1
    }
    if (take("{")) {
      const within = nested()
      // Without prototype, so that `__proto__` is a member like any other.
      const object: JsonObject = Object.create(null)
      if (take("}")) return object
      do {
        match(/[ \t\n\r]*/y)
        const name = string()
        if (name in object) bad(`member ${JSON.stringify(name)} twice`)
        if (!take(":")) bad("no colon")
        object[name] = value(within)
      } while (take(","))
      return take("}") ? object : bad("no end of the object")
    }
    if (take("[")) {
      const within = nested()
      const array: unknown[] = []
      if (take("]")) return array
      do array.push(value(within))
      while (take(","))
      return take("]") ? array : bad("no end of the array")
    }
    if (text[at] === '"') return string()
    if (take("true")) return true
    if (take("false")) return false
    if (take("null")) return null
    return Number(match(/-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y) ?? bad("no value"))
  }

  const result = value(0)
  match(/[ \t\n\r]*/y)
  return at === text.length ? result : bad("something after the value")
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

// ---- Reading ---------------------------------------------------------------------------------------------------

/**
 * Runs ahead of the parser through the characters of a document, to see what the parser reports too late or never:
 * where a document type declaration begins, and how long a tag is.
 */
class Scout {
  #state: "text" | "open" | "bang" | "tag" | "comment" | "cdata" | "instruction" = "text"
  #word = "" // what follows `<!`
  #run = 0 // how many `-`, `]` or `?` came last
  #quote = ""
  #bytes = 0

  /** The first fault in this piece and where it is, or null. */
  look(piece: string): { at: number; fault: DecodeError } | null {
    for (let at = 0; at < piece.length; at++) {
      const c = piece[at]!
      switch (this.#state) {
        case "text":
          at = piece.indexOf("<", at)
          if (at < 0) return null
          this.#state = "open"
          this.#bytes = 1
          break
        case "open":
          this.#run = 0
          this.#word = ""
          this.#quote = ""
          if (c === "!") this.#state = "bang"
          else if (c === "?") this.#state = "instruction"
          else {
            this.#state = "tag"
            at-- // `<>` is already the end
          }
          break
        case "bang":
          if (this.#word === "DOCTYPE" && isWhiteSpace(c)) {
            return { at, fault: new DecodeError("DTD", "a document type declaration") }
          }
          this.#word += c
          if (this.#word === "--") this.#state = "comment"
          else if (this.#word === "[CDATA[") this.#state = "cdata"
          else if (!["--", "[CDATA[", "DOCTYPE"].some((word) => word.startsWith(this.#word))) {
            return { at, fault: new DecodeError("NOT_WELL_FORMED", "no such markup") }
          }
          break
        case "tag":
          this.#bytes += utf8Length(c.charCodeAt(0))
          if (this.#bytes > LIMITS.tag) return { at, fault: new DecodeError("LIMIT", "a tag is too long") }
          if (this.#quote !== "") {
            if (c === this.#quote) this.#quote = ""
          } else if (c === '"' || c === "'") this.#quote = c
          else if (c === ">") this.#state = "text"
          break
        case "comment":
          this.#until(c, "-", 2)
          break
        case "cdata":
          this.#until(c, "]", 2)
          break
        case "instruction":
          this.#until(c, "?", 1)
          break
      }
    }
    return null
  }

  #until(c: string, mark: string, times: number) {
    if (c === ">" && this.#run >= times) this.#state = "text"
    this.#run = c === mark ? this.#run + 1 : 0
  }
}

/** Bytes in UTF-8 of one code unit; each half of a surrogate pair has two of the four. */
const utf8Length = (unit: number) => (unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3)

const XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
const XMLNS_NAMESPACE = "http://www.w3.org/2000/xmlns/"

type Part = "llm_output" | "display" | "error" | "meta" | "server_populated"

interface Element {
  part: "root" | Part | "ignored"
  /** Namespaces by prefix, those of the ancestors included. */
  namespaces: Map<string, string>
}

export interface DecodeOptions {
  /** What to do with a display that cannot be used: refuse the document, or drop the display and warn. */
  badDisplay?: "raise" | "drop"
}

export interface Decoded {
  response: Response
  warnings: string[]
}

/** Reads one document in pieces. Each method throws a `DecodeError` as soon as the document is refused. */
export class Decoder {
  readonly #badDisplay: "raise" | "drop"
  readonly #parser = new SaxesParser()
  readonly #scout = new Scout()

  // Input
  #size = 0
  #surrogate = "" // the first half of a pair at the end of a piece
  #incomplete: Uint8Array = new Uint8Array() // the beginning of a character at the end of a piece
  #head: Uint8Array[] | null = null // bytes that wait until the encoding is known

  // Document
  readonly #open: Element[] = []
  #elements = 0
  #attributes = 0
  #rootSeen = false
  #otherMajor = ""
  /** The first fault of the class SCHEMA. It waits for the end, because worse faults go first (XMCP-RSP-075). */
  #schemaFault: DecodeError | null = null
  readonly #children: string[] = []
  readonly #texts = new Map<Part, string[]>()
  #afterMeta = false
  readonly #response: Response = { tool_name: "", version: "1.0", truncated: false, lossy: false }
  readonly #error: ToolError = { code: "", message: "", retryable: false, category: "internal" }

  constructor({ badDisplay = "raise" }: DecodeOptions = {}) {
    this.#badDisplay = badDisplay
    const parser = this.#parser
    parser.on("error", (error) => {
      throw new DecodeError("NOT_WELL_FORMED", error.message)
    })
    parser.on("xmldecl", ({ version, encoding }) => {
      if (version !== "1.0") throw new DecodeError("ENCODING", `XML ${version}`)
      if (encoding !== undefined && encoding.toUpperCase() !== "UTF-8") {
        throw new DecodeError("ENCODING", `encoding ${encoding}`)
      }
    })
    parser.on("processinginstruction", ({ target }) => {
      if (target.includes(":")) throw new DecodeError("NOT_WELL_FORMED", "a colon in the name of an instruction")
    })
    parser.on("opentagstart", () => {
      if (++this.#elements > LIMITS.elements) throw new DecodeError("LIMIT", "too many elements")
      if (this.#open.length === LIMITS.depth) throw new DecodeError("LIMIT", "elements nested too deeply")
    })
    parser.on("attribute", ({ value }) => {
      if (++this.#attributes > LIMITS.attributes) throw new DecodeError("LIMIT", "too many attributes")
      if (Buffer.byteLength(value) > LIMITS.attributeValue) throw new DecodeError("LIMIT", "an attribute is too long")
    })
    parser.on("opentag", (tag) => this.#opened(tag))
    parser.on("closetag", () => void this.#open.pop())
    parser.on("text", (text) => this.#text(text))
    parser.on("cdata", (text) => this.#text(text))
  }

  /** Takes the next piece: characters, or bytes. */
  feed(piece: string | Uint8Array) {
    const first = this.#size === 0
    let bytes: Uint8Array
    if (typeof piece === "string") {
      let text = this.#surrogate + piece
      this.#surrogate = /[\ud800-\udbff]$/.exec(text)?.[0] ?? ""
      if (this.#surrogate !== "") text = text.slice(0, -1)
      bytes = Buffer.from(forbidSurrogates(text))
    } else {
      bytes = piece
      if (first && bytes.length > 0) this.#head = []
    }
    // What is within the limit is read first, so that the outcome does not depend on where the pieces end.
    const tooLong = this.#size + bytes.length > LIMITS.document
    if (tooLong) bytes = bytes.subarray(0, LIMITS.document - this.#size)
    this.#size += bytes.length

    if (this.#head === null) this.#bytes(bytes)
    else {
      this.#head.push(bytes)
      // Only the last byte of the earlier pieces can be a `<` that still waits for the byte after it.
      const waiting = this.#head.at(-2)?.at(-1) === 0x3c
      const less = bytes.indexOf(0x3c)
      if ((waiting && bytes.length > 0) || (less >= 0 && less < bytes.length - 1)) this.#release()
    }
    if (tooLong) {
      this.#release()
      throw new DecodeError("LIMIT", "the document is too long")
    }
  }

  /** Says that there are no more pieces. */
  end(): Decoded {
    if (this.#surrogate !== "") this.#bytes(Buffer.from(forbidSurrogates(this.#surrogate)))
    this.#release()
    if (this.#incomplete.length > 0) throw new DecodeError("NOT_WELL_FORMED", "the last character is incomplete")
    this.#parser.close()
    return this.#result()
  }

  /** Examines the beginning of a document that is given as bytes, and reads it. */
  #release() {
    if (this.#head === null) return
    const head = Buffer.concat(this.#head)
    this.#head = null
    const less = head.indexOf(0x3c)
    const mark = head.length >= 2 ? head.readUInt16BE(0) : 0
    if (mark === 0xfeff || mark === 0xfffe || (less >= 0 && (head[less - 1] === 0 || head[less + 1] === 0))) {
      throw new DecodeError("ENCODING", "not UTF-8")
    }
    this.#bytes(head)
  }

  #bytes(piece: Uint8Array) {
    const bytes = this.#incomplete.length > 0 ? Buffer.concat([this.#incomplete, piece]) : piece
    const end = bytes.length - incompleteLength(bytes)
    const complete = bytes.subarray(0, end)
    this.#incomplete = bytes.slice(end)
    if (isUtf8(complete)) return this.#characters(Buffer.from(complete.buffer, complete.byteOffset, end).toString())

    // A fault before the bad byte counts, such as a document type declaration: read what is before it.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
    let text = ""
    try {
      for (const byte of complete) text += decoder.decode(Uint8Array.of(byte), { stream: true })
    } catch {
      // The byte is found.
    }
    this.#characters(text)
    throw new DecodeError("NOT_WELL_FORMED", "not UTF-8")
  }

  #characters(text: string) {
    const seen = this.#scout.look(text)
    if (seen === null) return void this.#parser.write(text)
    this.#parser.write(text.slice(0, seen.at))
    if (seen.fault.fault === "DTD" && this.#rootSeen) {
      throw new DecodeError("NOT_WELL_FORMED", "a document type declaration that is not before the root")
    }
    throw seen.fault
  }

  /**
   * A start tag. The namespaces are resolved here: saxes takes white space off their names, which makes
   * different names the same, and does not check how the part after the colon begins.
   */
  #opened(tag: SaxesTagPlain) {
    const parent = this.#open.at(-1)
    const namespaces = new Map(parent?.namespaces)
    const names = Object.keys(tag.attributes)
    for (const name of names) {
      if (name === "xmlns") declare(namespaces, "", tag.attributes[name]!)
      else if (name.startsWith("xmlns:")) declare(namespaces, name.slice(6), tag.attributes[name]!)
    }

    const { namespace, local } = resolve(namespaces, tag.name, namespaces.get("") ?? "")
    const attributes = new Map<string, string>() // those in no namespace
    const seen = new Set<string>()
    for (const name of names) {
      if (name === "xmlns") continue
      const attribute = resolve(namespaces, name, "")
      const expanded = `${attribute.namespace} ${attribute.local}`
      if (seen.has(expanded)) throw new DecodeError("NOT_WELL_FORMED", `attribute ${name} twice`)
      seen.add(expanded)
      if (attribute.namespace === "") attributes.set(attribute.local, tag.attributes[name]!)
    }

    this.#open.push({ part: this.#part(parent?.part, namespace, local, attributes), namespaces })
  }

  /** What an element is, with its attributes read. */
  #part(parent: Element["part"] | undefined, namespace: string, local: string, attributes: Map<string, string>) {
    switch (parent) {
      case undefined:
        this.#rootSeen = true
        if (namespace !== "" || local !== "tool_response") this.#schema("the root is not tool_response")
        else this.#readRoot(attributes)
        return "root"
      case "root":
        if (namespace !== "") return "ignored"
        this.#children.push(local)
        // A second one makes the order of the children a fault, so that it does not matter what is in it.
        if (this.#children.indexOf(local) < this.#children.length - 1) return "ignored"
        switch (local) {
          case "llm_output":
            this.#readOutput(attributes)
            return this.#begin(local)
          case "error":
            this.#readError(attributes)
            return this.#begin(local)
          case "display":
          case "server_populated":
            this.#readLossy(attributes)
            return this.#begin(local)
        }
        return "ignored"
      case "ignored":
        return "ignored"
      case "error":
        if (namespace === "" && local === "meta" && !this.#texts.has("meta")) {
          this.#afterMeta = true
          this.#readLossy(attributes)
          return this.#begin(local)
        }
    }
    this.#schema(`an element ${local} in ${parent}`)
    return "ignored"
  }

  #begin(part: Part) {
    this.#texts.set(part, [])
    return part
  }

  #readRoot(attributes: Map<string, string>) {
    const name = attributes.get("tool_name")
    if (name === undefined) this.#schema("no tool_name")
    else if (!isToolName(name)) this.#schema("tool_name is too short or too long")
    else this.#response.tool_name = name

    const version = attributes.get("version")
    if (version !== undefined) {
      const major = VERSION.exec(version)?.[1]
      if (major === undefined) this.#schema("version is malformed")
      else if (major !== "1") this.#otherMajor = version
      this.#response.version = version
    }

    const callId = attributes.get("call_id")
    if (callId !== undefined) {
      if (!isCallId(callId)) this.#schema("call_id is too short or too long")
      this.#response.call_id = callId
    }
    this.#readLossy(attributes)
  }

  #readOutput(attributes: Map<string, string>) {
    const format = attributes.get("format")
    if (format !== undefined) {
      if (!isMediaType(format)) this.#schema("format is malformed")
      this.#response.format = format
    }
    this.#response.truncated = this.#boolean(attributes, "truncated")
    this.#readLossy(attributes)
  }

  #readError(attributes: Map<string, string>) {
    const error = this.#error
    error.code = attributes.get("code") ?? ""
    if (!ERROR_CODE.test(error.code)) this.#schema("code is missing or malformed")
    error.retryable = this.#boolean(attributes, "retryable")

    const after = attributes.get("retry_after_ms")
    if (after !== undefined) {
      // An xs:nonNegativeInteger has white space around it, a sign and leading zeros.
      const digits = strip(after)
      if (!/^(?:\+?[0-9]+|-0+)$/.test(digits)) this.#schema("retry_after_ms is malformed")
      else if (Number(digits) > Number.MAX_SAFE_INTEGER) this.#schema("retry_after_ms is too large")
      else error.retry_after_ms = Math.abs(Number(digits))
    }

    const category = attributes.get("category")
    if (category !== undefined && !CATEGORY.test(category)) this.#schema("category is malformed")
    error.category = category ?? categories.get(error.code) ?? "internal"
    this.#readLossy(attributes)
  }

  #readLossy(attributes: Map<string, string>) {
    if (this.#boolean(attributes, "lossy")) this.#response.lossy = true
  }

  /** An xs:boolean, which can have white space around it. */
  #boolean(attributes: Map<string, string>, name: string) {
    const value = strip(attributes.get(name) ?? "false")
    if (!["true", "false", "1", "0"].includes(value)) this.#schema(`${name} is no boolean`)
    return value === "true" || value === "1"
  }

  #text(text: string) {
    const part = this.#open.at(-1)?.part
    if (part === undefined || part === "ignored") return
    if (part === "root" || (part === "error" && this.#afterMeta)) {
      if (!isWhiteSpace(text)) this.#schema(`text in ${part}`)
    } else this.#texts.get(part)!.push(text)
  }

  #schema(message: string) {
    this.#schemaFault ??= new DecodeError("SCHEMA", message)
  }

  #result(): Decoded {
    if (this.#otherMajor !== "") throw new DecodeError("VERSION", `version ${this.#otherMajor}`)
    if (!/^(?:llm_output(?: display)?|display|error(?: display)?)(?: server_populated)?$/.test(this.#children.join(" "))) {
      this.#schema(`children ${this.#children.join(" ")}`)
    }
    if (this.#schemaFault !== null) throw this.#schemaFault

    const text = (part: Part) => this.#texts.get(part)?.join("")
    const json = (part: Part) => {
      const value = parseJson(text(part)!)
      return isObject(value) ? value : bad("BAD_JSON", `no object in ${part}`)
    }
    const bad = (fault: FaultClass, message: string): never => {
      throw new DecodeError(fault, message)
    }

    const response = this.#response
    const warnings: string[] = []
    if (this.#texts.has("llm_output")) response.llm_output = text("llm_output")!
    if (this.#texts.has("error")) {
      response.error = this.#error
      response.error.message = strip(text("error")!)
      if (this.#texts.has("meta")) response.error.meta = json("meta")
    }
    if (this.#texts.has("server_populated")) response.server_populated = json("server_populated")
    // The display comes last: a client drops it only where it is the only fault (XMCP-RSP-072).
    if (this.#texts.has("display")) {
      try {
        const value = parseJson(text("display")!)
        if (!isEnvelope(value)) bad("BAD_ENVELOPE", ajv.errorsText(isEnvelope.errors))
        response.display = value as JsonObject
      } catch (error) {
        const droppable = error instanceof DecodeError && error.fault !== "LIMIT"
        if (!droppable || this.#badDisplay === "raise") throw error
        warnings.push(`the display was dropped: ${error.message}`)
      }
    }
    return { response, warnings }
  }
}

/** Reads a whole document, given as characters or as bytes. */
export function decode(document: string | Uint8Array, options: DecodeOptions = {}): Decoded {
  const decoder = new Decoder(options)
  decoder.feed(document)
  return decoder.end()
}

/** Puts U+FFFF, which the parser refuses, in the place of unpaired surrogates, which it does not see. */
const forbidSurrogates = (text: string) => text.replace(/\p{Cs}/gu, "\uffff")

/** How many bytes at the end are the beginning of a character of UTF-8. */
function incompleteLength(bytes: Uint8Array) {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back]!
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? back : 0
  }
  return 0
}

function declare(namespaces: Map<string, string>, prefix: string, namespace: string) {
  const wrong =
    prefix === "xmlns" ||
    namespace === XMLNS_NAMESPACE ||
    (prefix === "xml") !== (namespace === XML_NAMESPACE) ||
    (prefix !== "" && namespace === "")
  if (wrong) throw new DecodeError("NOT_WELL_FORMED", `the prefix "${prefix}" cannot be ${JSON.stringify(namespace)}`)
  namespaces.set(prefix, namespace)
}

function resolve(namespaces: Map<string, string>, name: string, withoutPrefix: string) {
  const parts = name.split(":")
  // The parser has checked the characters of a name, but not that both sides of the colon begin as names do.
  if (parts.length > 2 || parts.some((part) => !/^[^-.0-9\u00b7\u0300-\u036f\u203f\u2040]/u.test(part))) {
    throw new DecodeError("NOT_WELL_FORMED", `the name ${name}`)
  }
  if (parts.length === 1) return { namespace: withoutPrefix, local: name }
  const [prefix, local] = parts as [string, string]
  const namespace =
    prefix === "xml" ? XML_NAMESPACE : prefix === "xmlns" ? XMLNS_NAMESPACE : namespaces.get(prefix)
  if (namespace === undefined) throw new DecodeError("NOT_WELL_FORMED", `nothing is bound to the prefix ${prefix}`)
  return { namespace, local }
}

// ---- Writing ---------------------------------------------------------------------------------------------------

export interface EncodeOptions {
  /** What to do with a code point that XML or JSON cannot carry: put U+FFFD in its place, or refuse. */
  illegal?: "replace" | "error"
  /** The display and the filled-in values are a server's: a client writes them as they are (section 11.1). */
  asTheServerHasThem?: boolean
}

/** Code points that XML 1.0 does not allow; `\p{Cs}` are the surrogates that are not in a pair. */
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff\p{Cs}]/gu

const REFERENCES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\t": "&#9;",
  "\n": "&#10;",
  "\r": "&#13;",
}

/** Writes the values of one element and remembers whether something was replaced. */
class Writer {
  readonly #illegal: "replace" | "error"
  lossy: boolean

  constructor(illegal: "replace" | "error", lossy = false) {
    this.#illegal = illegal
    this.lossy = lossy
  }

  text(value: unknown) {
    return this.#legal(value).replace(/[&<>\r]/g, (c) => REFERENCES[c]!)
  }

  attribute(name: string, value: unknown, isValid: (text: string) => boolean = () => true) {
    const legal = this.#legal(value)
    if (!isValid(legal)) throw new EncodeError(`${name} is not valid`)
    return ` ${name}="${legal.replace(/[&<>"\t\n\r]/g, (c) => REFERENCES[c]!)}"`
  }

  json(value: unknown) {
    return this.#value(value, 0)
  }

  get mark() {
    return this.lossy ? ' lossy="true"' : ""
  }

  #legal(value: unknown, pattern = NOT_XML) {
    if (typeof value !== "string") throw new EncodeError("not a text")
    return value.replace(pattern, () => {
      if (this.#illegal === "error") throw new EncodeError("a character that cannot be written")
      this.lossy = true
      return "\ufffd"
    })
  }

  #value(value: unknown, depth: number): string {
    switch (typeof value) {
      case "boolean":
        return String(value)
      case "string":
        return this.#string(value)
      case "number":
        return number(value)
      case "bigint":
        return isSafe(value) ? String(value) : `"${value}"`
      case "object":
        break
      default:
        throw new EncodeError(`a ${typeof value} has no JSON form`)
    }
    if (value === null) return "null"
    if (value instanceof Uint8Array) return `"${Buffer.from(value).toString("base64")}"`
    if (value instanceof Date) return this.#date(value)

    if (depth === LIMITS.json) throw new EncodeError("nested too deeply, or within itself")
    // `Array.from` reads holes as undefined, which has no JSON form; `map` would leave them out.
    if (Array.isArray(value)) return `[${Array.from(value, (item) => this.#value(item, depth + 1)).join()}]`
    const prototype: unknown = Object.getPrototypeOf(value)
    if (value instanceof Map) return this.#members(value, depth + 1)
    if (prototype === null || prototype === Object.prototype) return this.#members(Object.entries(value), depth + 1)
    throw new EncodeError("an object that is no JSON object")
  }

  #members(entries: Iterable<[unknown, unknown]>, depth: number) {
    const members = new Map<string, string>()
    for (const [key, value] of entries) {
      const isInteger = typeof key === "bigint" || Number.isInteger(key)
      if (!isInteger && typeof key !== "string") throw new EncodeError("a member name that is no text and no integer")
      const name = this.#string(isInteger ? String(BigInt(key as number)) : key)
      if (members.has(name)) throw new EncodeError(`two members would be named ${name}`)
      members.set(name, this.#value(value, depth))
    }
    return `{${Array.from(members, ([name, value]) => `${name}:${value}`).join()}}`
  }

  #string(value: unknown) {
    const escaped = JSON.stringify(this.#legal(value, /\p{Cs}/gu))
    return escaped.replace(/[<>&\ufffe\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)
  }

  #date(value: Date) {
    const text = Number.isNaN(value.getTime()) ? "" : value.toISOString()
    if (!/^[0-9]{4}-/.test(text)) throw new EncodeError("a date that RFC 3339 does not have")
    return `"${text}"`
  }
}

const isSafe = (value: bigint) => value >= -(2n ** 53n - 1n) && value <= 2n ** 53n - 1n

/** A number that only a double holds has a fraction or an exponent (XMCP-RSP-043). */
function number(value: number) {
  if (!Number.isFinite(value)) return "null"
  if (Object.is(value, -0)) return "-0.0"
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value)
}

/** Writes a response as a document, or throws an `EncodeError`. */
export function encode(response: Outgoing, options: EncodeOptions = {}): string {
  const { illegal = "replace", asTheServerHasThem = false } = options
  const { llm_output, display, error, server_populated } = response
  if (llm_output != null && error != null) throw new EncodeError("an error has no llm_output")
  if (llm_output == null && error == null && display == null) throw new EncodeError("nothing to write")
  if (llm_output == null && (response.format != null || response.truncated)) {
    throw new EncodeError("format and truncated are about llm_output")
  }

  let content = ""
  if (llm_output != null) {
    const writer = new Writer(illegal)
    const text = writer.text(llm_output)
    const format = response.format == null ? "" : writer.attribute("format", response.format, isMediaType)
    content += `<llm_output${format}${response.truncated ? ' truncated="true"' : ""}${writer.mark}>${text}</llm_output>`
  }
  if (error != null) content += writeError(error, illegal)
  const checks = asTheServerHasThem ? [] : [checkEnvelope, checkPopulated]
  if (display != null) content += writeJson("display", display, illegal, checks[0])
  if (server_populated != null) content += writeJson("server_populated", server_populated, illegal, checks[1])

  const writer = new Writer(illegal, response.lossy === true)
  let attributes = writer.attribute("tool_name", response.tool_name, isToolName)
  if (response.version != null && response.version !== "1.0") {
    attributes += writer.attribute("version", response.version, (text) => VERSION.exec(text)?.[1] === "1")
  }
  if (response.call_id != null) attributes += writer.attribute("call_id", response.call_id, isCallId)

  const document = `<tool_response${attributes}${writer.mark}>${content}</tool_response>`
  if (Buffer.byteLength(document) > LIMITS.document) throw new EncodeError("the document is too long")
  return document
}

function writeError(error: NonNullable<Outgoing["error"]>, illegal: "replace" | "error") {
  const { code, retryable = false, retry_after_ms: after, category } = error
  const writer = new Writer(illegal)
  const message = writer.text(error.message)
  if (isWhiteSpace(error.message)) throw new EncodeError("an error without a message")

  let attributes = writer.attribute("code", code, (text) => ERROR_CODE.test(text))
  if (retryable) attributes += ' retryable="true"'
  if (after != null) {
    if (!retryable) throw new EncodeError("retry_after_ms of an error that is not retryable")
    if (!Number.isSafeInteger(after) || after < 0) throw new EncodeError("retry_after_ms is not valid")
    attributes += ` retry_after_ms="${after}"`
  }
  if (category != null) {
    const registered = categories.get(code) ?? category
    if (category !== registered) throw new EncodeError(`the category of ${code} is ${registered}`)
    attributes += writer.attribute("category", category, (text) => CATEGORY.test(text))
  }
  const meta = error.meta == null ? "" : writeJson("meta", error.meta, illegal, checkMeta)
  return `<error${attributes}${writer.mark}>${message}${meta}</error>`
}

/** Writes an element with JSON. The value is checked as it is written: the number of a bigint is a text there. */
function writeJson(name: string, value: unknown, illegal: "replace" | "error", check?: (value: unknown) => void) {
  const writer = new Writer(illegal)
  const json = writer.json(value)
  check?.(parseJson(json))
  return `<${name}${writer.mark}>${json}</${name}>`
}

function checkMeta(value: unknown) {
  if (!isErrorMeta(value)) throw new EncodeError(`meta: ${ajv.errorsText(isErrorMeta.errors)}`)
}

function checkPopulated(value: any) {
  if (!isServerPopulated(value)) throw new EncodeError(`server_populated: ${ajv.errorsText(isServerPopulated.errors)}`)
  const { values = {}, redacted = [] } = value as { values?: JsonObject; redacted?: string[] }
  if (redacted.some((name) => Object.hasOwn(values, name))) throw new EncodeError("a redacted value")
}

function checkEnvelope(value: any) {
  if (!isEnvelope(value)) throw new EncodeError(`display: ${ajv.errorsText(isEnvelope.errors)}`)
  checkEmitted(value, 0, 0)
}

/** The rules for envelopes that bind an emitter only (XMCP-DSP-006, 010, 011, 014, 015). */
function checkEmitted(envelope: any, groups: number, fallbacks: number) {
  if (reservedTypes.has(envelope.type)) throw new EncodeError(`the type ${envelope.type} is reserved`)
  for (const name of Object.keys(envelope.meta ?? {})) {
    if (!displayTypes.envelope.meta.includes(name) && !/^[A-Za-z0-9._-]+\/[A-Za-z0-9._/-]+$/.test(name)) {
      throw new EncodeError(`the member ${name} of meta has no vendor prefix`)
    }
  }
  if (envelope.type === "chart") checkChart(envelope.payload)
  if (envelope.type === "group") {
    if (groups === displayTypes.envelope.deepest_group) throw new EncodeError("groups nested too deeply")
    for (const member of envelope.payload) checkEmitted(member, groups + 1, fallbacks)
  }
  if (envelope.fallback !== undefined) {
    if (fallbacks === displayTypes.envelope.deepest_fallback) throw new EncodeError("fallbacks nested too deeply")
    checkEmitted(envelope.fallback, groups, fallbacks + 1)
  }
}

function checkChart(part: unknown) {
  if (typeof part !== "object" || part === null) return
  for (const [name, value] of Object.entries(part)) {
    if (name === "values" && Array.isArray(value)) continue
    if (name === "datasets" && isObject(value)) continue
    if (!Array.isArray(part)) {
      if (inertChart.members.includes(name)) throw new EncodeError(`a chart with ${name}`)
      const mark = isObject(value) ? value["type"] : value
      if (name === "mark" && inertChart.marks.includes(mark)) throw new EncodeError(`a chart with the mark ${mark}`)
    }
    checkChart(value)
  }
}
