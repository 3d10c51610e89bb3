/**
 * A client for XMCP (specification 1.0-draft, chapter 11), written from the text alone: it lets a model call the tools
 * of servers. `Client.start` lists the tools, and `chat` runs one chat; several can run at the same time.
 */
import { Catalog } from "./client/catalog.ts"
import { Chat, type ChatShared } from "./client/chat.ts"
import { Cache, Quotas, Slots } from "./client/limits.ts"
import { DEFAULTS } from "./client/types.ts"
import type { ChatRequest, ChatResult, ModelAddress, Options, ServerAddress } from "./client/types.ts"

export { ChatFailure, DEFAULTS } from "./client/types.ts"
export type * from "./client/types.ts"

export class Client {
  readonly #closing = new AbortController()
  readonly #shared: ChatShared

  private constructor(models: ModelAddress[], servers: ServerAddress[], options: Options) {
    const closed = this.#closing.signal
    this.#shared = {
      models,
      options,
      closed,
      catalog: new Catalog(servers, options, closed),
      slots: new Slots(options.maxConcurrency),
      quotas: new Quotas(options.quotaTokens),
      cache: new Cache(),
    }
  }

  /** The models are asked in their order: the next one where one cannot be asked. */
  static async start(models: ModelAddress[], servers: ServerAddress[], options: Partial<Options> = {}) {
    const client = new Client(models, servers, { ...DEFAULTS, ...options })
    await client.refresh()
    return client
  }

  /** Runs a chat to its end, or throws a `ChatFailure`. */
  chat(request: ChatRequest): Promise<ChatResult> {
    return new Chat(this.#shared, request).run()
  }

  /** Lists the tools of all servers again. */
  refresh(): Promise<void> {
    return this.#shared.catalog.refresh()
  }

  /** Cancels the chats that run, and closes the sessions with servers. */
  async close() {
    this.#closing.abort()
    await this.#shared.catalog.close()
  }
}
