/** The servers of a client and the tools that it offers of them (section 11.9). */
import { Breaker } from "./limits.ts"
import { McpServer } from "./mcp.ts"
import { Names, hasCircle, readTool, type Tool } from "./tools.ts"
import type { Options, ServerAddress } from "./types.ts"
import { limited, within } from "./waiting.ts"

interface Entry {
  mcp: McpServer
  breaker: Breaker
  tools: Tool[]
  warnings: string[]
  /** When the list came, and when it was last asked for. */
  listedAt: number
  askedAt: number
  /** The list that is under way. */
  listing: Promise<void> | null
  timer: ReturnType<typeof setTimeout> | undefined
}

/** In milliseconds. A chat does not begin with an older list, nor does it ask more often for one that did not come. */
const OLDEST_LIST = 40_000
const BETWEEN_LISTS = 3_000
const BETWEEN_TRIES = 1_000
/** In seconds: how long a list can take, and how long a chat waits for it. */
const LIST_TIME = 10
const PATIENCE = 4

export class Catalog {
  readonly #entries: Entry[]
  readonly #names: Names
  readonly #options: Options
  readonly #closed: AbortSignal

  constructor(servers: ServerAddress[], options: Options, closed: AbortSignal) {
    this.#options = options
    this.#closed = closed
    this.#names = new Names(servers.map((server) => server.name))
    this.#entries = servers.map(({ url }) => ({
      mcp: new McpServer(url, options.maxAnswerBytes),
      breaker: new Breaker(options.breakerThreshold, options.breakerResetAfter),
      tools: [],
      warnings: [],
      listedAt: -Infinity,
      askedAt: -Infinity,
      listing: null,
      timer: undefined,
    }))
  }

  offered = (): Tool[] => this.#entries.flatMap((entry) => entry.tools)
  warnings = (): string[] => this.#entries.flatMap((entry) => entry.warnings)

  serverOf(tool: Tool): { mcp: McpServer; breaker: Breaker } {
    return this.#entries[tool.server]!
  }

  /** Lists the tools of all servers again. */
  async refresh() {
    await Promise.all(this.#entries.map((entry) => this.#listAgain(entry)))
  }

  /** Lists what is too old, or did not come, before a chat begins (XMCP-CLI-095, 122). */
  async freshen(signal: AbortSignal) {
    const now = performance.now()
    const isOld = ({ listedAt, askedAt }: Entry) => now - listedAt > OLDEST_LIST && now - askedAt > BETWEEN_TRIES
    const lists = this.#entries.filter(isOld).map((entry) => this.#list(entry))
    await within(Promise.all(lists), limited(signal, PATIENCE)).catch(() => {})
  }

  /** A server said that it does not have a tool: its list is soon asked for again (XMCP-CLI-121). */
  suspect(tool: Tool) {
    const entry = this.#entries[tool.server]!
    const wait = Math.max(0, entry.askedAt + BETWEEN_LISTS - performance.now())
    entry.timer ??= setTimeout(() => {
      entry.timer = undefined
      void this.#listAgain(entry)
    }, wait)
  }

  async close() {
    for (const { timer } of this.#entries) clearTimeout(timer)
    await Promise.all(this.#entries.map(({ mcp }) => mcp.close()))
  }

  #list(entry: Entry): Promise<void> {
    return (entry.listing ??= this.#listNow(entry).finally(() => (entry.listing = null)))
  }

  /** A list that begins now or later: one that is under way can be older than what the server has now. */
  async #listAgain(entry: Entry) {
    await entry.listing
    await this.#list(entry)
  }

  async #listNow(entry: Entry) {
    entry.askedAt = performance.now()
    try {
      const listed = await entry.mcp.tools(limited(this.#closed, LIST_TIME))
      entry.listedAt = performance.now()
      this.#take(entry, listed)
    } catch {
      // Its last list stays, and the next chat asks again.
      if (entry.tools.length === 0) entry.warnings = ["The tools of a server cannot be listed."]
    }
  }

  #take(entry: Entry, listed: Record<string, unknown>[]) {
    const server = this.#entries.indexOf(entry)
    const tools = new Map<string, Tool>()
    for (const one of listed) {
      const name = String(one["name"])
      if (!tools.has(name)) tools.set(name, readTool(server, one, ""))
    }
    const all = [...tools.values()]
    if (hasCircle(all)) {
      entry.warnings = ["The tools of a server depend on each other in a circle, and are not offered."]
      return
    }
    const most = this.#options.maxToolsPerServer ?? Infinity
    const kept = all.slice(0, most)
    entry.tools = kept.map((tool) => ({ ...tool, offered: this.#names.of(server, tool.name) }))
    entry.warnings = kept.length < all.length ? [`Of a server's ${all.length} tools, ${kept.length} are offered.`] : []
  }
}
