/** Lets `xmcp check codec` judge the codec: one JSON object in a line, as the guide "Write a codec" says. */
import { DecodeError, Decoder, EncodeError, decode, encode } from "./codec.ts"
import type { DecodeOptions, EncodeOptions, Outgoing } from "./codec.ts"

const STARTED = {
  protocol: 1,
  name: "TypeScript adapter",
  directions: ["encode", "decode", "stream"],
  // Not `decimal`, `tuple`, `date` and `datetime`: JavaScript has none, or (Date) only instants in UTC. Not `halves`:
  // two halves side by side are one character in JavaScript.
  values: ["bytes", "float", "integer", "opaque", "pairs", "surrogates"],
}

/** The value that a tag stands for. */
const TAGS = new Map<string, (content: any) => unknown>([
  ["$bytes", (base64) => new Uint8Array(Buffer.from(base64, "base64"))],
  ["$float", Number],
  ["$integer", BigInt],
  ["$opaque", () => () => {}],
  ["$pairs", (pairs) => new Map(pairs.map((pair: unknown[]) => pair.map(untag)))],
])

function untag(value: any): unknown {
  if (Array.isArray(value)) return value.map(untag)
  if (typeof value !== "object" || value === null) return value
  const names = Object.keys(value)
  const tag = names.length === 1 ? TAGS.get(names[0]!) : undefined
  if (tag !== undefined) return tag(value[names[0]!])
  // Without prototype, so that `__proto__` is a member like any other.
  const object = Object.create(null)
  for (const name of names) object[name] = untag(value[name])
  return object
}

type Document = { text: string } | { base64: string }
const content = (document: Document) =>
  "text" in document ? document.text : new Uint8Array(Buffer.from(document.base64, "base64"))

function written(request: { response: unknown; illegal: EncodeOptions["illegal"] }) {
  try {
    return { document: encode(untag(request.response) as Outgoing, { illegal: request.illegal }) }
  } catch (error) {
    // RangeError: too deep for the stack, and so for a document.
    if (error instanceof EncodeError || error instanceof RangeError) return { refused: error.message }
    throw error
  }
}

function read(request: { document?: Document; pieces?: Document[]; bad_display: DecodeOptions["badDisplay"] }) {
  const options = { badDisplay: request.bad_display }
  try {
    if (request.document !== undefined) return answer(decode(content(request.document), options))
    const decoder = new Decoder(options)
    for (const piece of request.pieces!) decoder.feed(content(piece))
    return answer(decoder.end())
  } catch (error) {
    if (error instanceof DecodeError) return { error: error.fault, why: error.message }
    throw error
  }
}

const answer = ({ response, warnings }: ReturnType<typeof decode>) => ({ response, warnings: warnings.length })

// TypeScript does not know it yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

/**
 * `JSON.stringify` would write `0` for -0, `null` for the Infinity that 1e999 was read as, and a double beyond
 * 2^53 as digits, which the command takes for an integer.
 */
const exact = (_: string, value: unknown) =>
  Object.is(value, -0) ? rawJSON("-0.0")
  : value === Infinity ? rawJSON("1e999")
  : value === -Infinity ? rawJSON("-1e999")
  : Number.isInteger(value) && !Number.isSafeInteger(value) ? rawJSON((value as number).toExponential())
  : value

/** Lines end with a line feed alone. `readline` would end them at U+2028 too, which JSON allows in a text. */
async function* lines(input: AsyncIterable<Buffer>) {
  let line: Buffer[] = []
  for await (const chunk of input) {
    let start = 0
    for (let end; (end = chunk.indexOf(0x0a, start)) >= 0; start = end + 1) {
      line.push(chunk.subarray(start, end))
      yield Buffer.concat(line).toString()
      line = []
    }
    line.push(chunk.subarray(start))
  }
}

for await (const line of lines(process.stdin)) {
  const { command, id, ...request } = JSON.parse(line)
  if (command === "stop") break
  const reply = command === "start" ? STARTED : { id, ...(command === "encode" ? written(request) : read(request)) }
  process.stdout.write(JSON.stringify(reply, exact) + "\n")
}
