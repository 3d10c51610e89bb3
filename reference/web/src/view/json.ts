/** Values as they come out of JSON: what they are, and their members without those of a prototype. */

export type JsonObject = { readonly [name: string]: unknown };

/** Tell whether `value` is an object of JSON, which an array is not. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Return a member of an object; undefined if it has none of its own by this name. */
export function member(value: JsonObject, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Return a value of a table by its name; undefined for any other name, such as `constructor`. */
export function entry<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
