/** What the calls of one turn hand on to those that depend on them (section 11.3). */
import { isObject, jsonOf, type JsonObject } from "./json.ts"
import type { Outcome } from "./result.ts"
import { fits } from "./schemas.ts"
import { onlyRequired, parameters, predecessorsOf, type Tool } from "./tools.ts"

/** A call of a turn that has ended. */
export interface Ended {
  tool: Tool
  outcome: Outcome
}

export type Handed = { args: JsonObject } | { failed: string }

type Value = { value: unknown } | undefined

/** The structured result of a call, or else its text; a display alone is none. */
function wholeResult({ structured, text, display }: Outcome): Value {
  if (structured !== undefined) return structured
  if (display !== undefined) return text === undefined || text === "" ? undefined : { value: text }
  return { value: text ?? "" }
}

/** A whole result as the value of a parameter: a text that does not fit can be the JSON of one. */
function asParameter(tool: Tool, name: string, outcome: Outcome): Value {
  const whole = wholeResult(outcome)
  if (whole === undefined || outcome.structured !== undefined || fits(tool.input, name, whole.value)) return whole
  const value = jsonOf(whole.value as string)
  return value === undefined ? whole : { value }
}

/** The predecessors of a call, the nearest first, and of equally near ones the one that is declared later. */
function nearest(tool: Tool, tools: Tool[], ended: Ended[]): Ended[] {
  const found: Ended[] = []
  const seen = new Set<Tool>([tool])
  for (let level = [tool]; level.length > 0; ) {
    const next = level.flatMap((one) => predecessorsOf(one, tools).reverse()).filter((one) => !seen.has(one))
    level = [...new Set(next)]
    for (const one of level) {
      seen.add(one)
      const last = ended.findLast(({ tool: its, outcome }) => its === one && outcome.error === undefined)
      if (last !== undefined) found.push(last)
    }
  }
  return found
}

function member({ structured }: Outcome, name: string): Value {
  const value = structured?.value
  return isObject(value) && Object.hasOwn(value, name) ? { value: value[name] } : undefined
}

const first = <From>(items: From[], find: (item: From) => Value): Value => {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}

/** The arguments of a call with what its predecessors hand on. `ended` has the calls of the turn in their order. */
export function handOn(tool: Tool, written: JsonObject, tools: Tool[], ended: Ended[], filledIn: string[]): Handed {
  const direct = predecessorsOf(tool, tools)
  for (const one of direct) {
    const calls = ended.filter((call) => call.tool === one)
    if (calls.length > 0 && calls.every((call) => call.outcome.error !== undefined)) {
      return { failed: `The call of ${one.offered}, on which this one depends, failed.` }
    }
  }
  const predecessors = nearest(tool, tools, ended)
  const values = new Map<string, unknown>()
  for (const name of parameters(tool)) {
    if (filledIn.includes(name)) continue
    const provided = predecessors.filter((one) => one.tool.provides === name)
    const value =
      first(predecessors, (one) => member(one.outcome, name)) ??
      first(provided, (one) => asParameter(tool, name, one.outcome))
    if (value === undefined) continue
    if (!fits(tool.input, name, value.value)) {
      return { failed: `What an earlier call returned does not fit the parameter ${name}.` }
    }
    values.set(name, value.value)
  }
  const only = values.size === 0 && direct.length === 1 ? onlyRequired(tool, filledIn) : undefined
  const giver = predecessors.find((one) => one.tool === direct[0])
  if (only !== undefined && giver !== undefined && !Object.hasOwn(written, only)) {
    const whole = asParameter(tool, only, giver.outcome)
    if (whole !== undefined && fits(tool.input, only, whole.value)) values.set(only, whole.value)
  }
  return { args: { ...written, ...Object.fromEntries(values) } }
}
