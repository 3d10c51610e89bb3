/**
 * Does a value have a certain shape, and if not, where not? As xmcp/render/view/shapes.py, which says what each keyword
 * means. The shapes are in tables.generated.ts.
 */

import { compare, lengthOf } from "./code_points.ts";
import { isObject, member, type JsonObject } from "./json.ts";
import { count } from "./numerals.ts";
import { label } from "./untrusted.ts";

export interface Shape {
  readonly shape?: string;
  readonly anyOf?: readonly Shape[];
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly maxItems?: number;
  readonly items?: Shape;
  readonly required?: readonly string[];
  readonly properties?: Shapes;
  readonly scalars?: readonly string[];
  readonly additionalProperties?: Shape | true;
}
export type Shapes = Readonly<Record<string, Shape>>;

const PLACE = 80;
const SCALAR: Shape = { type: ["string", "number", "boolean", "null"] };

/** Where a value differs from a shape, and how; the place is written from its end, only when there is a fault. */
interface Fault {
  readonly place: string;
  readonly words: string;
}

const NOT_DRAWN: Fault = { place: "", words: "is not drawn" };

/** Return where `value` first differs from the shape `name` of `shapes`, in words; null if it has that shape. */
export function fault(shapes: Shapes, name: string, value: unknown): string | null {
  const found = faultOf(shapes, shapes[name]!, value);
  return found && `${label(found.place.replace(/^\./, ""), PLACE) || "the specification"} ${found.words}`;
}

function faultOf(shapes: Shapes, shape: Shape, value: unknown): Fault | null {
  if (shape.shape !== undefined) return faultOf(shapes, shapes[shape.shape]!, value);
  if (shape.anyOf) {
    const followed = shape.anyOf.map((branch) => (branch.shape === undefined ? branch : shapes[branch.shape]!));
    const branches = followed.filter((branch) => isOf(branch, value));
    if (branches.length === 1) return faultOf(shapes, branches[0]!, value);
    return branches.some((branch) => faultOf(shapes, branch, value) === null) ? null : NOT_DRAWN;
  }
  if (!isOf(shape, value) || (shape.enum && !shape.enum.includes(value))) return NOT_DRAWN;
  if (typeof value === "number") return isWithin(shape, value) ? null : NOT_DRAWN;
  if (typeof value === "string") return fits(shape, value) ? null : NOT_DRAWN;
  if (Array.isArray(value)) return faultOfItems(shapes, shape, value);
  return isObject(value) ? faultOfMembers(shapes, shape, value) : null;
}

function faultOfItems(shapes: Shapes, shape: Shape, value: readonly unknown[]): Fault | null {
  if (shape.maxItems !== undefined && value.length > shape.maxItems) {
    return { place: "", words: `has ${count(value.length)} items; at most ${count(shape.maxItems)} are drawn` };
  }
  if (!shape.items || areAll(shape.items, value)) return null;
  for (let at = 0; at < value.length; at++) {
    const found = faultOf(shapes, shape.items, value[at]);
    if (found) return below(`[${at}]`, found);
  }
  return null;
}

function faultOfMembers(shapes: Shapes, shape: Shape, value: JsonObject): Fault | null {
  for (const name of shape.required ?? []) {
    if (member(value, name) === undefined) return { place: `.${name}`, words: "is missing" };
  }
  for (const name in shape.properties) {
    const written = member(value, name);
    const found = written === undefined ? null : faultOf(shapes, shape.properties[name]!, written);
    if (found) return below(`.${name}`, found);
  }
  for (const name of shape.scalars ?? []) {
    const written = member(value, name);
    if (written !== undefined && faultOf(shapes, SCALAR, written)) return below(`.${name}`, NOT_DRAWN);
  }
  const others = shape.additionalProperties;
  if (others === true || (!others && !shape.properties)) return null;
  if (others && haveOnly(others, value)) return null;
  const names = Object.keys(value).sort(compare);
  for (const name of names) {
    const found = isListed(shape, name) ? null : others ? faultOf(shapes, others, value[name]) : NOT_DRAWN;
    if (found) return below(`.${name}`, found);
  }
  return null;
}

/** Tell whether a shape asks for a type only, and all items are of it: the rows of a table can be very many. */
function areAll(shape: Shape, items: readonly unknown[]): boolean {
  if (shape.anyOf) return shape.anyOf.some((branch) => areAll(branch, items));
  for (const keyword in shape) if (keyword !== "type") return false;
  return items.every((item) => isOf(shape, item));
}

/** Tell the same of the members of an object; reading their names and then their values would take twice as long. */
function haveOnly(shape: Shape, value: JsonObject): boolean {
  const values: unknown[] = [];
  for (const name in value) values.push(value[name]);
  return areAll(shape, values);
}

function below(part: string, found: Fault): Fault {
  return { place: part + found.place, words: found.words };
}

function isListed(shape: Shape, name: string): boolean {
  return Object.hasOwn(shape.properties ?? {}, name) || (shape.scalars ?? []).includes(name);
}

function isOf(shape: Shape, value: unknown): boolean {
  if (shape.type === undefined) return true;
  if (typeof shape.type === "string") return isOfType(shape.type, value);
  for (const type of shape.type) if (isOfType(type, value)) return true;
  return false;
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function isWithin(shape: Shape, value: number): boolean {
  return (
    !(value < (shape.minimum ?? -Infinity)) &&
    !(value <= (shape.exclusiveMinimum ?? -Infinity)) &&
    !(Math.abs(value) > (shape.maximum ?? Infinity))
  );
}

function fits(shape: Shape, text: string): boolean {
  if (shape.minLength !== undefined && lengthOf(text) < shape.minLength) return false;
  return shape.pattern === undefined || new RegExp(shape.pattern).test(text);
}
