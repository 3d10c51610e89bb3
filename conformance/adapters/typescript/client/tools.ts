/** The tools of servers: what a client reads of them, their names, and what a model sees of their schemas. */
import { canonical, isObject, objectAt, type JsonObject } from "./json.ts"
import { PREFIX } from "../server/schemas.ts"
import { mentions, requires, without } from "./schemas.ts"

export interface Tool {
  /** Which server has it, by its place in the list of the application. */
  server: number
  /** The server's own name for it. */
  name: string
  /** The name under which the model knows it. */
  offered: string
  description: string
  input: JsonObject
  output: JsonObject | undefined
  readOnly: boolean
  idempotent: boolean
  cacheable: boolean
  dependsOn: string[]
  provides: string | undefined
  wrappedIn: string | undefined
  /** How the server described it. */
  described: string
}

const isName = (value: unknown): value is string =>
  typeof value === "string" && value.length >= 1 && [...value].length <= 128

/** Reads a tool of a list; a member of its metadata that is not as the schema says counts as absent (section 5.1). */
export function readTool(server: number, listed: JsonObject, offered: string): Tool {
  const metadata = objectAt(listed["_meta"], `${PREFIX}tool`)
  const hints = objectAt(listed, "annotations")
  const output = isObject(listed["outputSchema"]) ? listed["outputSchema"] : undefined
  const name = String(listed["name"])
  const names = metadata["depends_on"]
  const areNames = Array.isArray(names) && names.every(isName) && new Set(names).size === names.length
  const wrapped = output?.["x-fastmcp-wrap-result"] === true ? "result" : undefined
  return {
    server,
    name,
    offered,
    description: typeof listed["description"] === "string" ? listed["description"] : "",
    input: objectAt(listed, "inputSchema"),
    output,
    readOnly: hints["readOnlyHint"] === true,
    idempotent: hints["idempotentHint"] === true,
    cacheable: metadata["cacheable"] === true,
    dependsOn: areNames ? names.filter((other) => other !== name) : [],
    provides: isName(metadata["provides"]) ? metadata["provides"] : undefined,
    wrappedIn: isName(metadata["wrapped_in"]) ? metadata["wrapped_in"] : wrapped,
    described: canonical(listed),
  }
}

/** Whether tools of one list depend on each other in a circle. */
export function hasCircle(tools: Tool[]): boolean {
  // Takes away, as long as there is one, each tool that depends on none that is left.
  let left = tools
  for (;;) {
    const names = new Set(left.map((tool) => tool.name))
    const waiting = left.filter((tool) => tool.dependsOn.some((name) => names.has(name)))
    if (waiting.length === left.length) return left.length > 0
    left = waiting
  }
}

// ---- Names -----------------------------------------------------------------------------------------------------

export const OWN_TOOLS = ["__think__", "__clarify__", "__summarize__"]
const LONGEST_NAME = 64

/** A name that models and documents allow. */
export const similarName = (name: string) => name.replace(/[^A-Za-z0-9_-]/gu, "_").slice(0, LONGEST_NAME) || "unnamed"

/** Gives each tool a name that no other tool has had while the client runs (XMCP-CLI-090 to 092). */
export class Names {
  readonly #given: (string | null)[]
  readonly #names = new Map<string, string>()
  readonly #taken = new Set(OWN_TOOLS)

  constructor(serverNames: (string | null)[]) {
    this.#given = serverNames
  }

  of(server: number, tool: string): string {
    const key = `${server} ${tool}`
    let name = this.#names.get(key)
    if (name === undefined) {
      const given = this.#given[server] ?? null
      let wanted = similarName(given === null ? tool : `${given}__${tool}`)
      // What begins as the names of a named server do is kept for that server.
      for (let tries = 0; tries < 9 && given === null && this.#isReserved(wanted); tries++) {
        wanted = similarName(`x_${wanted}`)
      }
      name = wanted
      for (let number = 2; this.#taken.has(name); number++) {
        name = `${wanted.slice(0, LONGEST_NAME - String(number).length - 1)}_${number}`
      }
      this.#names.set(key, name)
      this.#taken.add(name)
    }
    return name
  }

  #isReserved = (name: string) =>
    this.#given.some((other) => other !== null && name.startsWith(similarName(`${other}__`)))
}

// ---- What a model sees -----------------------------------------------------------------------------------------

const property = (schema: JsonObject, name: string): unknown => {
  const properties = objectAt(schema, "properties")
  return Object.hasOwn(properties, name) ? properties[name] : undefined
}

/** The parameters that a predecessor can fill: the properties at the top, but not `show_user`. */
export const parameters = (tool: Tool) =>
  Object.keys(objectAt(tool.input, "properties")).filter((name) => name !== "show_user")
export const parameterSchema = (tool: Tool, name: string) => property(tool.input, name)

const requiredAtTop = (schema: JsonObject) => (Array.isArray(schema["required"]) ? schema["required"] : [])

/** The only parameter that a tool requires, of those that the application does not fill in (XMCP-CLI-120). */
export function onlyRequired(tool: Tool, filledIn: string[]): string | undefined {
  const names = [...new Set(requiredAtTop(tool.input))].filter((name) => !filledIn.includes(name))
  return names.length === 1 && parameters(tool).includes(names[0]) ? names[0] : undefined
}

/** The schema of what a tool hands on, without its wrapper. */
function handedSchema({ output, wrappedIn }: Tool): JsonObject {
  if (output === undefined) return {}
  const inner = wrappedIn === undefined ? undefined : property(output, wrappedIn)
  return isObject(inner) ? inner : output
}

const provides = (tool: Tool, name: string) =>
  tool.provides === name || property(handedSchema(tool), name) !== undefined

const typesOf = (schema: unknown) => {
  const type = isObject(schema) ? schema["type"] : undefined
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type]
  return types.map((one) => (one === "integer" ? "number" : one))
}

function canFit(result: JsonObject, parameter: unknown) {
  const [from, to] = [typesOf(result), typesOf(parameter)]
  return from.length === 0 || to.length === 0 || from.some((type) => to.includes(type))
}

/** The parameters that the model need not write, because earlier calls of the turn fill them (XMCP-CLI-037). */
function providedParameters(tool: Tool, predecessors: Tool[], filledIn: string[]): string[] {
  const open = parameters(tool).filter((name) => !filledIn.includes(name))
  const provided = open.filter((name) => predecessors.some((other) => provides(other, name)))
  const only = onlyRequired(tool, filledIn)
  const [predecessor, ...others] = predecessors
  if (only === undefined || predecessor === undefined || others.length > 0) return provided
  const another = provided.some((name) => name !== only)
  const fits = canFit(handedSchema(predecessor), parameterSchema(tool, only))
  return !another && fits ? [...provided, only] : provided
}

/** The tools among these on which a tool depends, in the order in which it names them. */
export const predecessorsOf = (tool: Tool, tools: Tool[]) =>
  tool.dependsOn.flatMap((name) => tools.find((other) => other.server === tool.server && other.name === name) ?? [])

/** The schema that a model sees of a tool. */
export function shownSchema(tool: Tool, tools: Tool[], filledIn: string[]): JsonObject {
  const provided = providedParameters(tool, predecessorsOf(tool, tools), filledIn)
  const schema: JsonObject = { type: "object", properties: {}, ...without(tool.input, filledIn) }
  if (provided.length === 0 || !Array.isArray(schema["required"])) return schema
  return { ...schema, required: schema["required"].filter((name: string) => !provided.includes(name)) }
}

/** Which of the application's parameters a tool has, and which of them it cannot do without. */
export const namedParameters = (tool: Tool, filledIn: string[]) =>
  filledIn.filter((name) => mentions(tool.input, [name]))
export const requiresParameter = (tool: Tool, name: string) => requires(tool.input, name)
