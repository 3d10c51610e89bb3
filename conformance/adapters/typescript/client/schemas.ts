/** Schemas of arguments: which parameters they name, how a parameter is taken out, and whether a value fits one. */
import { Ajv2020 } from "ajv/dist/2020.js"
import type { ValidateFunction } from "ajv"
import { canonical, doubles, isObject, objectAt, type JsonObject } from "./json.ts"

/** What a reference within the schema refers to. */
function referred(root: JsonObject, reference: unknown): unknown {
  if (typeof reference !== "string" || !/^#(?:\/|$)/.test(reference)) return undefined
  let place: unknown = root
  for (const token of reference.split("/").slice(1)) {
    const name = decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~")
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, name)) return undefined
    place = (place as JsonObject)[name]
  }
  return place
}

const listed = (schema: JsonObject, names: string[]): unknown[] => names.flatMap((name) => schema[name] ?? [])

/** The schema and all within it that speak of the arguments themselves, not of a part of them. */
function speaking(schema: unknown, root: JsonObject, found = new Set<JsonObject>()): Set<JsonObject> {
  if (!isObject(schema) || found.has(schema)) return found
  found.add(schema)
  const within = [
    ...listed(schema, ["allOf", "anyOf", "oneOf", "if", "then", "else", "not"]),
    ...Object.values(objectAt(schema, "dependentSchemas")),
    referred(root, schema["$ref"]),
  ]
  for (const part of within) speaking(part, root, found)
  return found
}

const lists = (value: unknown, name: string) => Array.isArray(value) && value.includes(name)

const NAMING = ["properties", "dependentRequired", "dependentSchemas"]

/** Whether one schema itself names a parameter. */
function names(schema: JsonObject, name: string) {
  if (lists(schema["required"], name)) return true
  if (NAMING.some((keyword) => Object.hasOwn(objectAt(schema, keyword), name))) return true
  if (Object.values(objectAt(schema, "dependentRequired")).some((others) => lists(others, name))) return true
  const examples = [schema["default"], ...(Array.isArray(schema["examples"]) ? schema["examples"] : [])]
  return examples.some((example) => isObject(example) && Object.hasOwn(example, name))
}

export const mentions = (schema: unknown, parameters: string[], root: JsonObject = isObject(schema) ? schema : {}) =>
  [...speaking(schema, root)].some((part) => parameters.some((name) => names(part, name)))

/** Whether a parameter is under `required`, at the top or of a schema that holds there in any case. */
export function requires(schema: unknown, name: string, root = schema, seen = new Set<unknown>()): boolean {
  if (!isObject(schema) || !isObject(root) || seen.has(schema)) return false
  seen.add(schema)
  const within = [...listed(schema, ["allOf"]), referred(root, schema["$ref"])]
  return lists(schema["required"], name) || within.some((part) => requires(part, name, root, seen))
}

/** A copy of the schema that does not name these parameters (XMCP-CLI-082). */
export function without(schema: JsonObject, parameters: string[]): JsonObject {
  if (parameters.length === 0) return schema
  const copy = structuredClone(schema)
  const parts = [...speaking(copy, copy)]
  // Before anything is taken out: without the name, a condition would say something else.
  for (const keyword of ["if", "not"]) {
    const conditions = parts.filter((part) => keyword in part && mentions(part[keyword], parameters, copy))
    for (const part of conditions) delete part[keyword]
  }
  const omit = (value: unknown) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => !parameters.includes(name))) : value
  const others = (value: unknown) =>
    Array.isArray(value) ? value.filter((name) => !parameters.includes(name as string)) : value
  for (const part of parts) {
    for (const keyword of [...NAMING, "default"]) if (keyword in part) part[keyword] = omit(part[keyword])
    if ("required" in part) part["required"] = others(part["required"])
    if (Array.isArray(part["examples"])) part["examples"] = part["examples"].map(omit)
    const dependent = objectAt(part, "dependentRequired")
    for (const [name, value] of Object.entries(dependent)) dependent[name] = others(value)
  }
  for (const part of parts) {
    const alternatives = part["oneOf"]
    if (!Array.isArray(alternatives) || new Set(alternatives.map(canonical)).size === alternatives.length) continue
    // Each value would fit several of them, and so none.
    part["allOf"] = [...listed(part, ["allOf"]), { anyOf: alternatives }]
    delete part["oneOf"]
  }
  return copy
}

const DIALECT = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/

const validators = new WeakMap<JsonObject, Map<string, ValidateFunction | null>>()

/** Checks a value of a parameter; null where the client cannot check it, so that the server decides. */
function validator(input: JsonObject, name: string): ValidateFunction | null {
  const { $schema: dialect, $id: _, ...schema } = input
  if (dialect !== undefined && !(typeof dialect === "string" && DIALECT.test(dialect))) return null
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false, allowUnionTypes: true })
  const pointer = encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))
  try {
    return ajv.addSchema(schema, "tool").compile({ $ref: `tool#/properties/${pointer}` })
  } catch {
    return null
  }
}

/** Whether a value is valid for a parameter of a tool (XMCP-CLI-036). */
export function fits(input: JsonObject, name: string, value: unknown): boolean {
  const known = validators.get(input) ?? new Map<string, ValidateFunction | null>()
  validators.set(input, known)
  if (!known.has(name)) known.set(name, validator(input, name))
  const validate = known.get(name)
  return validate == null || validate(doubles(value))
}
