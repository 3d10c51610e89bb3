/**
 * XMCP on top of the official SDK (`@modelcontextprotocol/server`): what a server of Level 2 with the wire
 * `negotiated` adds to MCP. `serverFor` makes a server of tools; documents are written by `../codec.ts`.
 *
 * The SDK's `McpServer` validates arguments by itself and answers in words of its own. So this file takes the SDK's
 * low-level `Server` and answers `tools/list` and `tools/call` itself.
 */
import { CLIENT_CAPABILITIES_META_KEY, ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server"
import type {
  CallToolResult,
  ClientCapabilities,
  McpRequestContext,
  ServerContext,
  Tool as ListedTool,
} from "@modelcontextprotocol/server"
import { Ajv2020 } from "ajv/dist/2020.js"
import type { ErrorObject, ValidateFunction } from "ajv"
import { EncodeError, decode, encode } from "../codec.ts"
import type { JsonObject, Outgoing, Response } from "../codec.ts"
import { Failure, unforeseen } from "./failure.ts"
import { PREFIX, VERSION } from "./schemas.ts"

const EXTENSION = `${PREFIX}tool-response`
const ANNOUNCED = { [EXTENSION]: { versions: [VERSION], wire: "negotiated" } }
const NOTICE = "This was also sent as a display, which not every client shows."

/** What a tool returns. Without `text`, the server writes the data as JSON. */
export interface Reply {
  text?: string
  format?: string
  truncated?: boolean
  lossy?: boolean
  /** The envelope. It is sent only where the caller asks for it. */
  display?: unknown
  /** The data for programs. */
  data?: unknown
  /** Pictures and other blocks that text cannot carry, and blocks for the user alone. */
  blocks?: CallToolResult["content"]
}

/** A parameter that the server fills in. A secret one is named in answers, and its value is nowhere in them. */
export interface Filled {
  value: string | undefined
  secret?: boolean
}

export interface Tool {
  name: string
  description: string
  inputSchema: ListedTool["inputSchema"]
  outputSchema?: ListedTool["outputSchema"]
  annotations: NonNullable<ListedTool["annotations"]>
  /** The metadata of chapter 5, but for `server_populated`, which is made of `filled`. */
  metadata?: JsonObject
  filled?: Record<string, Filled>
  /** Gets arguments that fit the schema, and the values that were filled in. */
  run(given: any, filled: Record<string, string>): Reply | Promise<Reply>
}

/** What the SDK takes out of a request's `_meta`; its own type does not name the members. */
type Envelope = { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined

interface Client {
  declared: boolean
  documents: boolean
  maxBytes: number
  displayTypes: string[] | undefined
}

/** Who called what, and whether a display can be sent. */
interface Asked {
  client: Client
  name: string
  tool: Tool | undefined
  show: boolean
}

/** What a call ended with: the values of the document, and what stands beside it. */
interface Outcome {
  response: Outgoing
  data?: unknown
  blocks?: CallToolResult["content"]
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const first = (count: number, text: string) => [...text.slice(0, 2 * count)].slice(0, count).join("")

/** A factory of servers, as `serveStdio` and `createMcpHandler` take it: they ask for one in each era. */
export function serverFor(name: string, tools: Tool[]): (context: McpRequestContext) => Server {
  const ajv = new Ajv2020({ allErrors: true, strict: false })
  const known = new Map(tools.map((tool) => [tool.name, { tool, fits: ajv.compile(tool.inputSchema) }]))
  const listed = tools.map(listing)

  return ({ era }) => {
    const announced = era === "modern" ? { extensions: ANNOUNCED } : { experimental: ANNOUNCED }
    const server = new Server({ name, version: "1.0.0" }, { capabilities: { tools: {}, ...announced } })

    /** In the stateless era the capabilities come with each request, in the other one with `initialize`. */
    const clientOf = (context: ServerContext) =>
      era === "modern"
        ? clientFrom((context.mcpReq.envelope as Envelope)?.[CLIENT_CAPABILITIES_META_KEY]?.extensions)
        : clientFrom({ ...server.getClientCapabilities()?.experimental, ...server.getClientCapabilities()?.extensions })

    server.setRequestHandler("tools/list", () => ({ tools: listed }))
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      if (params.name === "") throw new ProtocolError(ProtocolErrorCode.InvalidParams, "a tool has a name")
      const { name, arguments: given = {} } = params
      const { tool, fits } = known.get(name) ?? {}
      const show = tool?.metadata?.["display"] === true && given["show_user"] === true
      const asked: Asked = { client: clientOf(context), name, tool, show }
      let outcome: Outcome
      try {
        if (tool === undefined) throw unknownTool(name, tools)
        outcome = await call(tool, fits!, given, asked)
      } catch (error) {
        outcome = failed(asked, error)
      }
      return written(withoutSecrets(outcome, tool), asked)
    })
    return server
  }
}

function listing({ name, description, inputSchema, outputSchema, annotations, metadata, filled }: Tool): ListedTool {
  const more = filled === undefined ? metadata : { ...metadata, server_populated: Object.keys(filled) }
  return {
    name,
    description,
    inputSchema,
    ...(outputSchema && { outputSchema }),
    annotations,
    ...(more && { _meta: { [`${PREFIX}tool`]: more } }),
  }
}

/** A declaration without a version of major 1 counts as none, and nothing else in it has an effect (XMCP-VER-002). */
function clientFrom(place: Record<string, unknown> | undefined): Client {
  const declaration = place?.[EXTENSION]
  const { versions, documents, maxBytes, displayTypes } = isObject(declaration) ? declaration : {}
  const declared = Array.isArray(versions) && versions.some((version) => /^1\.\d+$/.test(version))
  return {
    declared,
    documents: declared && documents !== false,
    maxBytes: declared && typeof maxBytes === "number" ? Math.max(maxBytes, 4096) : Infinity,
    displayTypes: declared && Array.isArray(displayTypes) ? displayTypes : undefined,
  }
}

// ---- A call ----------------------------------------------------------------------------------------------------

async function call(tool: Tool, fits: ValidateFunction, sent: JsonObject, asked: Asked): Promise<Outcome> {
  const { client, show } = asked
  const given = { ...sent }
  // Models write null for "not set".
  if (tool.metadata?.["display"] === true && given["show_user"] === null) delete given["show_user"]
  const overridden = Object.keys(tool.filled ?? {}).filter((name) => Object.hasOwn(given, name))
  for (const name of overridden) delete given[name]
  if (!fits(given)) throw refused(fits.errors ?? [])

  const values: Record<string, string> = {}
  for (const [name, { value }] of Object.entries(tool.filled ?? {})) {
    if (value === undefined) throw new Failure("MISSING_SERVER_PARAM", `The server has no value for ${name}.`)
    values[name] = value
  }

  const reply = await tool.run(given, values)
  const { text = "", format } = reply.text === undefined ? inJson(reply.data) : reply
  const response: Outgoing = { tool_name: tool.name, llm_output: text }
  if (format !== undefined) response.format = format
  if (reply.truncated) response.truncated = true
  if (reply.lossy) response.lossy = true
  if (tool.filled !== undefined) response.server_populated = populated(tool.filled, overridden)
  if (show) {
    if (reply.display == null) throw new Failure("INVALID_PAYLOAD", "The tool made no display.")
    response.display = reply.display
    if (!client.declared) {
      response.llm_output += `\n${NOTICE}`
      delete response.format // the text is not JSON any more
    }
  }

  const { blocks } = reply
  const promised = reply.text !== undefined || tool.outputSchema !== undefined
  if (reply.data === undefined || !(promised || client.declared)) return { response, blocks }
  const wrapper = tool.metadata?.["wrapped_in"]
  return { response, blocks, data: typeof wrapper === "string" ? { [wrapper]: reply.data } : reply.data }
}

/** Data as a text. JSON has no name for NaN and the infinities, a text has (XMCP-RSP-092). */
function inJson(data: unknown): Pick<Reply, "text" | "format"> {
  const isText = data === undefined || typeof data === "string" || (typeof data === "number" && !isFinite(data))
  return isText ? { text: String(data ?? "") } : { text: JSON.stringify(data), format: "application/json" }
}

function populated(filled: Record<string, Filled>, overridden: string[]) {
  const entries = Object.entries(filled)
  return {
    values: Object.fromEntries(entries.flatMap(([name, { value, secret }]) => (secret ? [] : [[name, value]]))),
    redacted: entries.flatMap(([name, { secret }]) => (secret ? [name] : [])),
    overridden,
  }
}

/** The failure of arguments that do not fit, each named by its JSON Pointer. */
function refused(errors: ErrorObject[]): Failure {
  const fields = new Map<string, { pointer: string; message: string }>()
  for (const { keyword, instancePath, params, message = "does not fit" } of errors) {
    const name: string | undefined = params["missingProperty"] ?? params["additionalProperty"]
    const step = name === undefined ? "" : `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`
    const pointer = instancePath + step
    const said =
      keyword === "required" ? "is missing"
      : keyword === "additionalProperties" ? "is not known here"
      : keyword === "enum" ? `must be one of ${JSON.stringify(params["allowedValues"])}`
      : message
    if (!fields.has(pointer)) fields.set(pointer, { pointer, message: said })
  }
  const all = [...fields.values()]
  const said = all.map(({ pointer, message }) => `${pointer}: ${message}`).join("; ")
  return new Failure("VALIDATION_FAIL", said, { meta: { fields: all, side_effects: "none" } })
}

function unknownTool(name: string, tools: Tool[]): Failure {
  const params = { name: first(128, name), tools: tools.map((tool) => tool.name) }
  return new Failure("UNKNOWN_TOOL", `There is no tool ${params.name}.`, { meta: { params, side_effects: "none" } })
}

function failed({ name, tool, show }: Asked, error: unknown): Outcome {
  const failure = error instanceof Failure ? error : unforeseen(name, error, tool?.annotations.readOnlyHint === true)
  const response: Outgoing = { tool_name: first(128, name), error: failure.error }
  if (failure.more.lossy) response.lossy = true
  if (show && failure.more.display != null) response.display = failure.more.display
  return { response }
}

/** Takes the values of secret parameters out of everything that a tool said (XMCP-TOL-022). */
function withoutSecrets(outcome: Outcome, tool?: Tool): Outcome {
  const filled = Object.values(tool?.filled ?? {})
  const secrets = filled.flatMap(({ value = "", secret }) => (secret && value.length >= 4 ? [value] : []))
  const clean = (value: unknown): unknown =>
    typeof value === "string" ? secrets.reduce((text, secret) => text.replaceAll(secret, "[redacted]"), value)
    : Array.isArray(value) ? value.map(clean)
    : isObject(value) ? Object.fromEntries(Object.entries(value).map((member) => member.map(clean)))
    : value
  return secrets.length === 0 ? outcome : (clean(outcome) as Outcome)
}

// ---- The result ------------------------------------------------------------------------------------------------

/** The result of a call. What cannot be written becomes an error. */
function written(outcome: Outcome, asked: Asked): CallToolResult {
  try {
    return inForm(outcome, asked.client)
  } catch (error) {
    const { display, ...rest } = outcome.response
    const isFailure = rest.error != null
    if (error instanceof EncodeError && error.message === "the document is too long") {
      const response = isFailure ? shortened(rest) : failed(asked, tooLarge("than a document can be")).response
      return written({ response }, asked)
    }
    if (!(error instanceof EncodeError) || display === undefined || !canBeWritten(rest)) {
      return written(failed(asked, error), asked)
    }
    // Without the display it can be written, so the display is at fault.
    const invalid = new Failure("INVALID_PAYLOAD", `The display of the tool is not valid: ${error.message}`)
    return written(isFailure ? { response: rest } : failed(asked, invalid), asked)
  }
}

/** The result in the form that this client gets. */
function inForm(outcome: Outcome, client: Client): CallToolResult {
  const { response } = outcome
  const document = encode(forClient(response, client))
  if (!client.documents) return plain(decode(document).response, outcome)
  if (Buffer.byteLength(document) <= client.maxBytes) return asDocument(document, outcome)
  if (response.error != null) return asDocument(encode(shortened(response)), { response })
  throw tooLarge(`than the ${client.maxBytes} bytes that this client accepts`)
}

const tooLarge = (than: string) => new Failure("RESULT_TOO_LARGE", `The result is larger ${than}. Ask for less.`)

function canBeWritten(response: Outgoing): boolean {
  try {
    return encode(response) !== ""
  } catch (error) {
    if (error instanceof EncodeError) return false
    throw error
  }
}

/** Adds a fallback to a display of a type that the client does not know (XMCP-MCP-008). */
function forClient(response: Outgoing, { displayTypes }: Client): Outgoing {
  const { display, llm_output, error } = response
  if (!isObject(display)) return response
  if (isReference(display)) throw new EncodeError("only clients send the type x-xmcp-reference")
  if (displayTypes === undefined || displayTypes.includes(display["type"] as string)) return response
  if (display["fallback"] !== undefined) return response
  const fallback = { type: "text", payload: display["alt"] ?? llm_output ?? error?.message }
  return { ...response, display: { ...display, fallback } }
}

function isReference(display: unknown): boolean {
  if (!isObject(display)) return false
  const { type, payload, fallback } = display
  if (type === "x-xmcp-reference" || isReference(fallback)) return true
  return type === "group" && Array.isArray(payload) && payload.some(isReference)
}

/** An error that always fits into 4,096 bytes (section 6.1). */
function shortened({ tool_name, error, lossy }: Outgoing): Outgoing {
  const { meta, message, ...rest } = error!
  const kept = Object.entries(isObject(meta) ? meta : {}).filter(([name]) =>
    ["error_id", "side_effects", "recovery"].includes(name),
  )
  const short = { ...rest, message: first(500, message.trim()), meta: Object.fromEntries(kept) }
  return { tool_name, error: short, ...(lossy && { lossy }) }
}

const result = (form: "document" | "plain", more = {}) => ({ [`${PREFIX}result`]: { version: VERSION, form, ...more } })

function asDocument(document: string, { response, data, blocks = [] }: Outcome): CallToolResult {
  return {
    content: [{ type: "text", text: document }, ...blocks],
    isError: response.error != null,
    ...(data !== undefined && { structuredContent: data as JsonObject }),
    _meta: result("document"),
  }
}

/** The plain result of section 6.3: it says what a reader takes out of the document. */
function plain(response: Response, { data, blocks = [] }: Outcome): CallToolResult {
  const { llm_output, format, truncated, lossy, display, error, server_populated } = response
  const text = error === undefined ? llm_output! : `${error.code}: ${error.message}`
  const content: CallToolResult["content"] = [{ type: "text", text }]
  if (server_populated !== undefined) {
    const _meta = { [`${PREFIX}server_populated`]: true }
    content.push({ type: "text", text: inWords(server_populated), _meta })
  }
  const alt = display?.["alt"]
  if (typeof alt === "string" && !text.includes(alt)) content.push(forUser(first(500, alt)))

  const marks = { ...(truncated && { truncated }), ...(lossy && { lossy }), ...(format && { format }) }
  return {
    content: [...content, ...blocks],
    isError: error !== undefined,
    ...(data !== undefined && { structuredContent: data as JsonObject }),
    _meta: {
      ...result("plain", marks),
      ...(display && { [`${PREFIX}display`]: display }),
      ...(error && { [`${PREFIX}error`]: error }),
      ...(server_populated && { [`${PREFIX}server_populated`]: server_populated }),
    },
  }
}

export const forUser = (text: string): CallToolResult["content"][number] => ({
  type: "text",
  text,
  annotations: { audience: ["user"] },
})

function inWords({ values, redacted, overridden }: JsonObject): string {
  const told = Object.entries(values as JsonObject).map(([name, value]) => `${name} = ${inJson(value).text}`)
  const hidden = (redacted as string[]).map((name) => `${name} (its value is not disclosed)`)
  const unused = (overridden as string[]).map((name) => ` The value given for ${name} was not used.`)
  return `Filled in by the server: ${[...told, ...hidden].join(", ")}.${unused.join("")}`
}
