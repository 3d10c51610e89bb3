/** Lets `xmcp check client` judge the client: one JSON object in a line, as the guide "Judge your client" says. */
import { ChatFailure, Client } from "./client.ts"
import type { ChatRequest, Message, ModelAddress, Options, ServerAddress } from "./client.ts"
import { parseJson, stringify, type JsonObject } from "./client/json.ts"

const HELLO = {
  protocol: 1,
  name: "TypeScript client 0.1",
  features: [
    "approval",
    "breaker",
    "cache",
    "call_limit",
    "cancellation",
    "chat_timeout",
    "chats_at_the_same_time",
    "dependencies",
    "events",
    "fallback_models",
    "filled_in_parameters",
    "meta_tools",
    "parameters_of_chats",
    "quotas",
    "tool_limit",
    "tool_refresh",
  ],
}

const write = (message: JsonObject) => process.stdout.write(stringify(message) + "\n")

// ---- Questions to the application ------------------------------------------------------------------------------

interface Answer extends JsonObject {
  ask: number
  approved?: boolean
  fails?: boolean
}

const asked = new Map<number, (answer: Answer) => void>()

async function ask(question: JsonObject): Promise<Answer> {
  const number = asked.size === 0 ? 1 : Math.max(...asked.keys()) + 1
  const { promise, resolve } = Promise.withResolvers<Answer>()
  asked.set(number, resolve)
  write({ ask: number, ...question })
  const answer = await promise
  if (answer.fails === true) throw new Error("the callback failed")
  return answer
}

const report = (callback: string) => async (_: unknown, history: Message[]) => {
  await ask({ callback, history })
}

// ---- Commands --------------------------------------------------------------------------------------------------

let client: Client | undefined
const chats = new Map<string, AbortController>()
/** What the application gives for parameters in each chat, where that is something else than in the setup. */
const paramsOfChat = new Map<string, JsonObject>()

/** A value of the application, which can be another one in each chat. */
function inEachChat(name: string, usual: unknown) {
  return ({ chat }: { chat: string }) => {
    const own = paramsOfChat.get(chat) ?? {}
    return Object.hasOwn(own, name) ? own[name] : usual
  }
}

type Request = JsonObject & { id: number }

async function start({ setup, models, servers }: Request): Promise<JsonObject> {
  const { approval, ...given } = setup as JsonObject
  const isSet = ([name, value]: [string, unknown]) => value !== null || name !== "max_answer_bytes"
  // The client has the same options; their names are written `maxTurns` there, and not `max_turns`.
  const rename = (name: string) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase())
  const options: Partial<Options> = Object.fromEntries(
    Object.entries(given).filter(isSet).map(([name, value]) => [rename(name), value]),
  )
  options.params = Object.fromEntries(
    Object.entries(given["params"] as JsonObject).map(([name, usual]) => [name, inEachChat(name, usual)]),
  )
  if (approval === true) {
    options.approve = async (chat, { call_id }) => (await ask({ approve: { chat, call_id } })).approved === true
  }
  client = await Client.start(models as ModelAddress[], servers as ServerAddress[], options)
  return {}
}

async function chat({ chat: name, query, history, tenant, events, params }: Request): Promise<JsonObject> {
  const cancelling = new AbortController()
  paramsOfChat.set(name as string, (params ?? {}) as JsonObject)
  chats.set(name as string, cancelling)
  const request: ChatRequest = {
    name: name as string,
    query: query as string,
    history: history as Message[],
    tenant: tenant as string | null,
    signal: cancelling.signal,
    onDisplay: report("on_display"),
    onError: report("on_error"),
  }
  if (events === true) request.onEvent = (event) => write({ chat: name, event })
  try {
    const result = await client!.chat(request)
    return { history: result.history, given: history, result }
  } catch (error) {
    if (error instanceof ChatFailure) return { history: error.history, given: history, failure: error.kind }
    return { history, failure: "crashed", why: String(error instanceof Error ? error.stack : error) }
  } finally {
    chats.delete(name as string)
  }
}

const COMMANDS: Record<string, (request: Request) => JsonObject | Promise<JsonObject>> = {
  hello: () => HELLO,
  start,
  chat,
  refresh: async () => {
    await client!.refresh()
    return {}
  },
  stop: async () => {
    await client?.close()
    return {}
  },
}

/** Commands without an answer. */
const NOTICES: Record<string, (notice: JsonObject) => void> = {
  cancel: ({ chat: name }) => chats.get(name as string)?.abort(),
  answer: (answer) => {
    asked.get(answer["ask"] as number)?.(answer as Answer)
    asked.delete(answer["ask"] as number)
  },
}

/** Lines end with a line feed alone; `readline` would end them at other characters too, which JSON allows in a text. */
async function* lines(input: AsyncIterable<Buffer>) {
  let line: Buffer[] = []
  for await (const chunk of input) {
    let begin = 0
    for (let end; (end = chunk.indexOf(0x0a, begin)) >= 0; begin = end + 1) {
      yield Buffer.concat([...line, chunk.subarray(begin, end)]).toString()
      line = []
    }
    line.push(chunk.subarray(begin))
  }
}

async function answer(request: Request, run: (request: Request) => JsonObject | Promise<JsonObject>) {
  write({ id: request.id, ...(await run(request)) })
}

for await (const line of lines(process.stdin)) {
  const { command, ...request } = parseJson(line) as JsonObject & { command: string }
  const notice = NOTICES[command]
  const run = COMMANDS[command]
  if (notice !== undefined) notice(request)
  else if (run !== undefined) void answer(request as Request, run)
}
process.exit(0)
