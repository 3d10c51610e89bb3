/** The documents that a model reads: the server's own, or written anew where they cannot stay (sections 3.5, 11.1). */
import { DecodeError, decode, encode, type Outgoing, type Response } from "../codec.ts"
import { usableError, type ToolError } from "./errors.ts"
import { forDocument, isObject, isWithinDepth, stringify, type JsonObject } from "./json.ts"
import type { Message } from "./types.ts"

const sizeOf = (display: unknown) => Buffer.byteLength(stringify(display))

/** The display that the model gets: the whole one, a reference that stands for it, or none. */
function displayWithin(display: JsonObject, budget: number): JsonObject | undefined {
  const bytes = sizeOf(display)
  if (bytes <= budget && isWithinDepth(display)) return display
  const { type, title } = display
  const payload = { type, bytes }
  const reference = { type: "x-xmcp-reference", ...(title === undefined ? {} : { title }), payload }
  const note = "Shown to the person; too large to repeat here."
  return [{ ...reference, payload: { ...payload, note } }, reference].find((candidate) => sizeOf(candidate) <= budget)
}

export type Values = Omit<Outgoing, "error"> & { error?: ToolError }

/** A document of the client's own with these values. */
export function write(values: Values, budget: number): string {
  const { display, server_populated: populated, llm_output: text, error, ...rest } = values
  const shown = isObject(display) ? displayWithin(display, budget) : undefined
  const output = text ?? (error === undefined && shown === undefined ? "" : undefined)
  const response: Outgoing = {
    ...rest,
    ...(output === undefined ? {} : { llm_output: output }),
    ...(error === undefined ? {} : { error: { ...error, meta: forDocument(error.meta ?? null) } }),
    ...(shown === undefined ? {} : { display: forDocument(shown) }),
    ...(populated === undefined ? {} : { server_populated: forDocument(populated) }),
  }
  return encode(response, { asTheServerHasThem: true })
}

/** The values of a document, as an emitter writes them. */
function writeAnew({ error, ...response }: Response, budget: number) {
  const usable = error === undefined ? {} : { error: usableError(error.code, { ...error }) }
  return write({ ...response, ...usable }, budget)
}

/** The document that a server sent, for the model: as it is, unless its display is too large or was dropped. */
export function documentWithin(document: string, response: Response, dropped: boolean, budget: number) {
  const tooLarge = response.display !== undefined && sizeOf(response.display) > budget
  return tooLarge || dropped ? writeAnew(response, budget) : document
}

function textWithin(text: string, budget: number) {
  try {
    return documentWithin(text, decode(text).response, false, budget)
  } catch (error) {
    if (error instanceof DecodeError) return text
    throw error
  }
}

/** A message of the application's history, with no display above the budget (XMCP-DSP-040). */
export function messageWithin(message: Message, budget: number): Message {
  const { role, content } = message
  if (role !== "tool") return message
  if (typeof content === "string") return { ...message, content: textWithin(content, budget) }
  if (!Array.isArray(content)) return message
  const within = (part: unknown) =>
    isObject(part) && part["type"] === "text" && typeof part["text"] === "string"
      ? { ...part, text: textWithin(part["text"], budget) }
      : part
  return { ...message, content: content.map(within) }
}
