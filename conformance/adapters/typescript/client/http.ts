/** Requests over HTTP, each on a connection of its own, with a limit for the answer, and streams of events. */
import * as http from "node:http"
import * as https from "node:https"

export type HttpFault = "unreachable" | "lost" | "too_large"

export class HttpFailure extends Error {
  readonly fault: HttpFault
  constructor(fault: HttpFault) {
    super(fault)
    this.fault = fault
  }
}

export interface HttpAnswer {
  status: number
  headers: http.IncomingHttpHeaders
  /** Throws an `HttpFailure`, or the reason of the signal. */
  body: AsyncIterable<Uint8Array>
}

export interface HttpRequest {
  method?: "POST" | "DELETE"
  headers: Record<string, string>
  body?: string
  signal: AbortSignal
  /** The most bytes that the answer can have. */
  limit: number
}

/** Node neither asks for compressed answers nor decompresses one (XMCP-CLI-111). */
export function send(url: string, { method = "POST", headers, body = "", signal, limit }: HttpRequest) {
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>()
  if (signal.aborted) {
    reject(signal.reason)
    return promise
  }
  const secure = url.startsWith("https:")
  const length = Buffer.byteLength(body)
  const own = { "content-type": "application/json", "content-length": length, "accept-encoding": "identity" }
  const request = (secure ? https : http).request(url, { method, agent: false, headers: { ...headers, ...own } })
  let connected = false
  const stop = () => request.destroy()
  signal.addEventListener("abort", stop, { once: true })
  request.on("close", () => signal.removeEventListener("abort", stop))
  request.on("socket", (socket) => socket.once(secure ? "secureConnect" : "connect", () => (connected = true)))
  const failure = () => (signal.aborted ? signal.reason : new HttpFailure(connected ? "lost" : "unreachable"))
  request.on("error", () => reject(failure()))
  request.on("response", (response) =>
    resolve({ status: response.statusCode ?? 0, headers: response.headers, body: pieces(response, signal, limit) }),
  )
  request.end(body)
  return promise
}

async function* pieces(response: http.IncomingMessage, signal: AbortSignal, limit: number) {
  let size = 0
  try {
    for await (const piece of response as AsyncIterable<Uint8Array>) {
      size += piece.length
      if (size > limit) throw new HttpFailure("too_large")
      yield piece
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw error instanceof HttpFailure ? error : new HttpFailure("lost")
  } finally {
    response.destroy()
  }
  if (signal.aborted) throw signal.reason
  if (!response.complete) throw new HttpFailure("lost")
}

export async function textOf(body: AsyncIterable<Uint8Array>) {
  const all: Uint8Array[] = []
  for await (const piece of body) all.push(piece)
  return new TextDecoder().decode(Buffer.concat(all))
}

/** The data of each event of a stream. */
export async function* eventsOf(body: AsyncIterable<Uint8Array>) {
  const decoder = new TextDecoder()
  let rest = ""
  let data: string[] = []
  for await (const piece of body) {
    rest += decoder.decode(piece, { stream: true })
    // A carriage return at the end can be the first half of an end of line.
    for (let end; (end = /\r\n|\n|\r(?=[^])/.exec(rest)) !== null; ) {
      const line = rest.slice(0, end.index)
      rest = rest.slice(end.index + end[0].length)
      if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5))
      else if (line === "" && data.length > 0) {
        yield data.join("\n")
        data = []
      }
    }
  }
}

export const isEventStream = (answer: HttpAnswer) => /^text\/event-stream\b/i.test(answer.headers["content-type"] ?? "")
