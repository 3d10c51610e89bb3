/** The tool of the suite (section 1.7). This server is there to be judged; one in production does not offer it. */
import { Failure } from "./failure.ts"
import { forUser } from "./xmcp.ts"
import type { Tool } from "./xmcp.ts"

export const emit: Tool = {
  name: "xmcp_conformance_emit",
  description: "Returns what its caller says, for tests.",
  inputSchema: {
    type: "object",
    properties: {
      response: { type: "object" },
      structured_content: { type: "object" },
      for_user: { type: "string" },
      show_user: { type: "boolean" },
    },
    required: ["response"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
  metadata: { display: true },
  run({ response, structured_content, for_user }) {
    const { llm_output, format, truncated, lossy, display, error } = withIntegers(response)
    if (error !== undefined) throw new Failure(error.code, error.message, { ...error, display, lossy })
    const blocks = for_user === undefined ? [] : [forUser(for_user)]
    return { text: textOf(llm_output), format, truncated, lossy, display, data: structured_content, blocks }
  },
}

/** A text, or its code units where some of them are surrogates without a partner. */
function textOf(given: string | { $surrogates: string[] } | undefined): string {
  if (given === undefined || typeof given === "string") return given ?? ""
  return given.$surrogates.map((unit) => String.fromCharCode(parseInt(unit, 16))).join("")
}

/** A number without a fraction is an integer here; beyond 2^53 it needs another type, or it is written as a double. */
function withIntegers(value: any): any {
  if (Array.isArray(value)) return value.map(withIntegers)
  if (typeof value !== "object" || value === null) {
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value) : value
  }
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withIntegers(member)]))
}
