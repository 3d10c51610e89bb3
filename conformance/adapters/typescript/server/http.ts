/** Streamable HTTP in both eras. The handshake era gets sessions: a client declares the extension once. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { randomUUID } from "node:crypto"
import { toNodeHandler } from "@modelcontextprotocol/node"
import {
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from "@modelcontextprotocol/server"
import type { McpRequestContext, Server } from "@modelcontextprotocol/server"

const MOST_SESSIONS = 1000

/** Listens at http://127.0.0.1:PORT/mcp; 0 is a port that is free. */
export function serveHttp(serverIn: (context: McpRequestContext) => Server, port: number): void {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const stateless = createMcpHandler(serverIn, { legacy: "reject", onerror: console.error })

  async function inSession(request: Request): Promise<Response> {
    const id = request.headers.get("mcp-session-id")
    if (id !== null) return sessions.get(id)?.handleRequest(request) ?? new Response("no such session", { status: 404 })
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (id) => {
        sessions.set(id, transport)
        const [oldest] = sessions.keys()
        if (sessions.size > MOST_SESSIONS) void sessions.get(oldest!)!.close()
      },
    })
    transport.onclose = () => void sessions.delete(transport.sessionId ?? "")
    await serverIn({ era: "legacy" }).connect(transport)
    return transport.handleRequest(request)
  }

  async function fetch(request: Request): Promise<Response> {
    const rejected =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins())
    if (rejected !== undefined) return rejected
    if (new URL(request.url).pathname !== "/mcp") return new Response("not found", { status: 404 })
    return (await isLegacyRequest(request)) ? inSession(request) : stateless.fetch(request)
  }

  const handle = toNodeHandler({ fetch }, { onerror: console.error })
  const server = createServer((request, response) => void handle(request, response))
  server.listen(port, "127.0.0.1", () => {
    const { port: taken } = server.address() as AddressInfo
    console.error(`listening at http://127.0.0.1:${taken}/mcp`)
  })
}
