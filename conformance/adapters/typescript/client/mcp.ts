/** A server over streamable HTTP, in both eras of MCP: with `server/discover`, or else with `initialize`. */
import { ownError, type SideEffects, type ToolError } from "./errors.ts"
import { HttpFailure, eventsOf, isEventStream, send, textOf, type HttpAnswer, type HttpRequest } from "./http.ts"
import { isBlank, isObject, jsonOf, objectAt, stringify, type JsonObject } from "./json.ts"
import { within } from "./waiting.ts"
import { PREFIX, VERSION } from "../server/schemas.ts"

const EXTENSION = `${PREFIX}tool-response`
const DECLARATION = { [EXTENSION]: { versions: [VERSION] } }
const CLIENT_INFO = { name: "xmcp-client-typescript", version: "0.1" }
const STATELESS = "2026-07-28"
const HANDSHAKE = "2025-11-25"
const MOST_PAGES = 100
/** The code with which servers say that a session is over. */
const SESSION_OVER = -32001

type Fault =
  "unreachable" | "lost" | "credentials" | "outside" | "compressed" | "too_large" | "malformed" | "protocol" | "timeout"

/** What a circuit breaker counts an attempt as; `ended` is one that the client itself ended. */
export type Count = "failure" | "answer" | "ended"

/** Sections 6.5 and 11.4: what the model is told, whether something changed, and what a circuit breaker counts. */
const FAULTS: Record<Fault, [code: string, sideEffects: SideEffects | undefined, count: Count, message: string]> = {
  unreachable: ["CONNECTION_FAILED", "none", "failure", "The server cannot be reached."],
  lost: ["CONNECTION_FAILED", "unknown", "failure", "The connection to the server was lost before it answered."],
  credentials: ["AUTH_REQUIRED", "none", "answer", "The server refused the credentials."],
  outside: ["CONNECTION_FAILED", "unknown", "answer", "What the server sent is not an answer to the call."],
  compressed: ["TOOL_ERROR", "unknown", "answer", "The answer of the server is compressed, and was not read."],
  too_large: ["RESULT_TOO_LARGE", "unknown", "answer", "The answer of the server is too large."],
  malformed: ["TOOL_ERROR", undefined, "answer", "The result is not as the protocol defines it."],
  protocol: ["TOOL_ERROR", undefined, "answer", "TOOL_ERROR"],
  timeout: ["TIMEOUT", "unknown", "failure", "The server did not answer in time."],
}

/** A request to a server that has no result. */
export class ServerFailure extends Error {
  readonly fault: Fault
  readonly error: ToolError
  readonly count: Count
  constructor(fault: Fault, protocolError: JsonObject = {}) {
    super(fault)
    const [code, sideEffects, count, message] = FAULTS[fault]
    const said = protocolError["message"]
    this.fault = fault
    this.count = count
    this.error = ownError(
      protocolError["code"] === -32602 ? "VALIDATION_FAIL" : code,
      typeof said === "string" && !isBlank(said) ? said : message,
      sideEffects,
    )
  }
}

/** What was agreed with a server. `announced`: it says that it knows XMCP. */
interface Connection {
  era: "stateless" | "handshake"
  version: string
  session?: string
  announced: boolean
}

const announces = (result: JsonObject) => {
  const capabilities = objectAt(result, "capabilities")
  return ["extensions", "experimental"].some((place) => Object.hasOwn(objectAt(capabilities, place), EXTENSION))
}

export class McpServer {
  readonly #url: string
  readonly #limit: number
  #connection: Promise<Connection> | null = null
  #lastId = 0

  constructor(url: string, limit: number) {
    this.#url = url
    this.#limit = limit
  }

  /** Every tool of the server, as it describes them. */
  async tools(signal: AbortSignal): Promise<JsonObject[]> {
    // A server that was deployed anew can announce something else. A session says itself when it is over.
    const before = await this.#connection?.catch(() => null)
    if (before?.era === "stateless") this.#connection = null
    const tools: JsonObject[] = []
    let cursor: unknown
    for (let page = 0; page < MOST_PAGES; page++) {
      const connection = await this.#connect(signal)
      const result = await this.#request(connection, "tools/list", cursor === undefined ? {} : { cursor }, {}, signal)
      if (!Array.isArray(result["tools"])) throw new ServerFailure("malformed")
      tools.push(...result["tools"].filter((tool) => isObject(tool) && typeof tool["name"] === "string"))
      cursor = result["nextCursor"]
      if (typeof cursor !== "string") break
    }
    return tools
  }

  /** The result of a call, and whether the server announced the extension. */
  async call(name: string, args: JsonObject, schema: JsonObject, signal: AbortSignal) {
    const connection = await this.#connect(signal)
    const headers = connection.era === "stateless" ? parameterHeaders(schema, args) : {}
    const result = await this.#request(connection, "tools/call", { name, arguments: args }, headers, signal)
    return { result, announced: connection.announced }
  }

  async close() {
    const connection = await this.#connection?.catch(() => null)
    if (connection?.session === undefined) return
    await this.#send(connection, { method: "DELETE" }, AbortSignal.timeout(1000)).catch(() => {})
  }

  /** Opens a connection, once for all who wait for it; one failure is then the failure of all (XMCP-CLI-100). */
  async #connect(signal: AbortSignal): Promise<Connection> {
    const opening = (this.#connection ??= this.#open(signal).catch((error: unknown) => {
      this.#connection = null
      // Whatever the server said before any call, it could not be reached.
      const isOther = error instanceof ServerFailure && error.fault !== "credentials"
      throw isOther ? new ServerFailure("unreachable") : error
    }))
    try {
      return await within(opening, signal)
    } catch (error) {
      if (signal.aborted || error instanceof ServerFailure) throw error
      return this.#connect(signal) // the one who opened it gave up, and this one has not
    }
  }

  async #open(signal: AbortSignal): Promise<Connection> {
    const stateless: Connection = { era: "stateless", version: STATELESS, announced: false }
    try {
      const found = await this.#request(stateless, "server/discover", {}, {}, signal)
      const versions = found["supportedVersions"]
      if (Array.isArray(versions) && versions.includes(STATELESS)) return { ...stateless, announced: announces(found) }
    } catch (error) {
      const other = error instanceof ServerFailure && ["protocol", "outside", "malformed"].includes(error.fault)
      if (!other) throw error
    }
    const greeting: Connection = { era: "handshake", version: HANDSHAKE, announced: false }
    const params = { protocolVersion: HANDSHAKE, capabilities: { experimental: DECLARATION }, clientInfo: CLIENT_INFO }
    let session: string | undefined
    const opened = await this.#request(greeting, "initialize", params, {}, signal, ({ headers }) => {
      session = headers["mcp-session-id"] as string | undefined
    })
    const version = typeof opened["protocolVersion"] === "string" ? opened["protocolVersion"] : HANDSHAKE
    const announced = announces(opened)
    const connection: Connection = { era: "handshake", version, announced, ...(session ? { session } : {}) }
    await this.#notify(connection, { method: "notifications/initialized" }, signal)
    return connection
  }

  async #request(
    connection: Connection,
    method: string,
    params: JsonObject,
    headers: Record<string, string>,
    signal: AbortSignal,
    seen: (answer: HttpAnswer) => void = () => {},
  ): Promise<JsonObject> {
    const id = ++this.#lastId
    const stateless = connection.era === "stateless"
    const meta = {
      "io.modelcontextprotocol/protocolVersion": connection.version,
      "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
      "io.modelcontextprotocol/clientCapabilities": { extensions: DECLARATION },
    }
    const message = { jsonrpc: "2.0", id, method, params: stateless ? { ...params, _meta: meta } : params }
    const more = stateless
      ? { "mcp-method": method, ...(method === "tools/call" ? { "mcp-name": headerText(String(params["name"])) } : {}) }
      : {}
    // In the handshake era, the end of a connection does not cancel a request.
    const cancel = () => void this.#notify(connection, { method: "notifications/cancelled", params: { requestId: id } })
    if (!stateless && method === "tools/call") signal.addEventListener("abort", cancel, { once: true })
    try {
      const request = { body: stringify(message), headers: { ...more, ...headers } }
      const answer = await this.#send(connection, request, signal)
      seen(answer)
      return await this.#read(connection, id, answer)
    } catch (error) {
      if (error instanceof HttpFailure) throw new ServerFailure(error.fault)
      throw error
    } finally {
      signal.removeEventListener("abort", cancel)
    }
  }

  #send(
    { version, session }: Connection,
    { method = "POST", body = "", headers = {} }: Partial<Pick<HttpRequest, "method" | "body" | "headers">>,
    signal: AbortSignal,
  ) {
    return send(this.#url, {
      method,
      body,
      headers: {
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": version,
        ...(session === undefined ? {} : { "mcp-session-id": session }),
        ...headers,
      },
      signal,
      limit: this.#limit,
    })
  }

  /** Sends a message that has no answer. */
  async #notify(connection: Connection, message: JsonObject, signal: AbortSignal = AbortSignal.timeout(5000)) {
    try {
      const { body } = await this.#send(connection, { body: stringify({ jsonrpc: "2.0", ...message }) }, signal)
      await textOf(body)
    } catch {
      // Nobody waits for it; a server that is gone shows it at the next request.
    }
  }

  /** The result in an answer over HTTP; the order of the tests is that of section 6.5. */
  async #read(connection: Connection, id: number, answer: HttpAnswer): Promise<JsonObject> {
    const { status } = answer
    const success = status >= 200 && status < 300
    const compressed = (answer.headers["content-encoding"] ?? "identity") !== "identity"
    if (success && compressed) throw new ServerFailure("compressed")
    if (success && isEventStream(answer)) {
      for await (const data of eventsOf(answer.body)) {
        const message = jsonOf(data)
        if (isAnswer(message, id)) return resultOf(message)
        const isQuestion = isObject(message) && "method" in message && "id" in message
        if (isQuestion && connection.era === "handshake") this.#refuse(connection, message)
      }
      throw new ServerFailure("lost")
    }
    const text = await textOf(answer.body).catch((error: unknown) => {
      if (success || !(error instanceof HttpFailure)) throw error
      return ""
    })
    const message = compressed ? undefined : jsonOf(text)
    const saysOver = status === 404 || objectAt(message, "error")["code"] === SESSION_OVER
    if (connection.session !== undefined && saysOver) {
      this.#connection = null
      throw new ServerFailure("lost")
    }
    // An error can have `null` as its id, where the server could not read the request.
    if (!success && isObject(message) && isObject(message["error"])) return resultOf(message)
    if (success && isAnswer(message, id)) return resultOf(message)
    if (status >= 500) throw new ServerFailure("lost")
    if (status === 404) throw new ServerFailure("protocol", { message: "The server does not know this request." })
    throw new ServerFailure(status === 401 || status === 403 ? "credentials" : "outside")
  }

  /** A server can ask the client something while a call runs; this client announced nothing (XMCP-CLI-118). */
  #refuse(connection: Connection, { id, method }: JsonObject) {
    const refusal = { error: { code: -32601, message: "This client does not answer such requests." } }
    void this.#notify(connection, { id, ...(method === "ping" ? { result: {} } : refusal) })
  }
}

const isAnswer = (message: unknown, id: number): message is JsonObject =>
  isObject(message) && message["id"] === id && !("method" in message) && ("result" in message || "error" in message)

function resultOf(message: JsonObject): JsonObject {
  if (isObject(message["error"])) throw new ServerFailure("protocol", message["error"])
  const result = message["result"]
  if (!isObject(result) || (result["resultType"] ?? "complete") !== "complete") throw new ServerFailure("malformed")
  return result
}

/** A text as the value of a header: as it is, or in base64. */
const headerText = (text: string) =>
  /^[!-~](?:[ -~]*[!-~])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)
    ? text
    : `=?base64?${Buffer.from(text).toString("base64")}?=`

/** In the stateless era a schema can have `x-mcp-header`: the value is repeated in a header for programs on the way. */
function parameterHeaders(schema: JsonObject, args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, property] of Object.entries(objectAt(schema, "properties"))) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined
    if (isObject(value) && isObject(property)) Object.assign(headers, parameterHeaders(property, value))
    const header = isObject(property) ? property["x-mcp-header"] : undefined
    if (typeof header !== "string" || !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(header)) continue
    if (["string", "number", "bigint", "boolean"].includes(typeof value)) {
      headers[`mcp-param-${header}`] = headerText(String(value))
    }
  }
  return headers
}
