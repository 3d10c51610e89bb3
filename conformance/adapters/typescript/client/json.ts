/** JSON whose numbers keep their value: an integer that no double holds is a bigint, another such number stays text. */

export type JsonObject = { [name: string]: unknown }

/** A number as it was written, which `JSON.stringify` writes as it is. */
interface RawNumber {
  readonly rawJSON: string
}
type Reviver = (this: unknown, name: string, value: unknown, context: { source?: string }) => unknown

// TypeScript does not know these yet.
const { parse, rawJSON, isRawJSON } = JSON as unknown as {
  parse(text: string, reviver?: Reviver): unknown
  rawJSON(text: string): RawNumber
  isRawJSON(value: unknown): value is RawNumber
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isRawJSON(value)

/** The value of a member that is an object, or an empty object. */
export const objectAt = (value: unknown, name: string): JsonObject => {
  const member = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return isObject(member) ? member : {}
}

/** The value that a number is written with: `1.50e3` and `1500` have the same. */
function decimal(text: string) {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
  if (whole === undefined) return text
  const digits = (whole + fraction).replace(/^0+/, "")
  const significant = digits.replace(/0+$/, "")
  if (significant === "") return "0"
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

function exact(value: number, source: string) {
  if (/^-?\d+$/.test(source)) return Number.isSafeInteger(value) ? value : BigInt(source)
  return decimal(source) === decimal(String(value)) ? value : rawJSON(source)
}

export const parseJson = (text: string): unknown =>
  parse(text, (_, value, { source }) => (typeof value === "number" && source ? exact(value, source) : value))

export const stringify = (value: unknown): string =>
  JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? rawJSON(String(item)) : item))

/** The JSON value of a text, or undefined. */
export function jsonOf(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** Whether two values are the same as JSON, in which the members of an object have no order. */
export const isSame = (one: unknown, other: unknown): boolean =>
  Array.isArray(one) && Array.isArray(other) ?
    one.length === other.length && one.every((item, place) => isSame(item, other[place]))
  : isObject(one) && isObject(other) ?
    Object.keys(one).length === Object.keys(other).length &&
    Object.entries(one).every(([name, value]) => Object.hasOwn(other, name) && isSame(value, other[name]))
  : stringify(one) === stringify(other)

/** Whether each text in a value is one: half of a surrogate pair is none. */
const isWellFormed = (value: unknown): boolean =>
  typeof value === "string" ? value.isWellFormed()
  : Array.isArray(value) ? value.every(isWellFormed)
  : isObject(value) ? Object.entries(value).every((member) => member.every(isWellFormed))
  : true

/** The arguments that a model wrote, or null where they are not one JSON object (section 11.2). */
export function parseArguments(text: string): JsonObject | null {
  if (/^[ \t\n\r]*$/.test(text)) return {}
  try {
    const value = parseJson(text)
    return isObject(value) && isWellFormed(value) ? value : null
  } catch {
    return null
  }
}

/** The number that a value is, as a double, or undefined. */
export const asNumber = (value: unknown) =>
  isRawJSON(value) ? Number(value.rawJSON)
  : typeof value === "number" || typeof value === "bigint" ? Number(value)
  : undefined

function mapped(value: unknown, leaf: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => mapped(item, leaf))
  if (!isObject(value)) return leaf(value)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapped(member, leaf)]))
}

/** The value with each number as a double, for a validator. */
export const doubles = (value: unknown) => mapped(value, (leaf) => asNumber(leaf) ?? leaf)

/** The value as an emitter takes it: integers stay, whatever their size. */
export const forDocument = (value: unknown) => mapped(value, (leaf) => (isRawJSON(leaf) ? Number(leaf.rawJSON) : leaf))

/** The same text for values that are equal as JSON. */
export const canonical = (value: unknown): string => {
  const sorted = (item: unknown): unknown =>
    Array.isArray(item) ? item.map(sorted)
    : isObject(item) ? { members: Object.keys(item).sort().map((name) => [name, sorted(item[name])]) }
    : item
  return stringify(sorted(value))
}

/** A text without the white space of XML at its ends. */
export const strip = (text: string) => text.replace(/^[ \t\n\r]+/, "").replace(/[ \t\n\r]+$/, "")
export const isBlank = (text: string) => /^[ \t\n\r]*$/.test(text)

/** How deep JSON in a document can be nested (section 2.6). */
const DEEPEST = 64

/** Whether JSON is nested no deeper than a document can have it. */
export const isWithinDepth = (value: unknown, left = DEEPEST): boolean =>
  typeof value !== "object" || value === null ||
  (left > 0 && Object.values(value).every((member) => isWithinDepth(member, left - 1)))
