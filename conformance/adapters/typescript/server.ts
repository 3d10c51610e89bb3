/** A server of Level 2, in both eras of MCP: `node server.ts` over stdio, `node server.ts --port 3333` over HTTP. */
import { parseArgs } from "node:util"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { serveHttp } from "./server/http.ts"
import { tools } from "./server/tools.ts"
import { serverFor } from "./server/xmcp.ts"

const { port } = parseArgs({ options: { port: { type: "string" } } }).values
const serverIn = serverFor("sample", tools)

if (port === undefined) serveStdio(serverIn, { onerror: console.error })
else serveHttp(serverIn, Number(port))
