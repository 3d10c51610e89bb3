/**
 * Does a value have a certain shape, and if not, where not? As xmcp/render/view/shapes.py, which says what each keyword
 * means. The shapes are in tables.generated.ts.
 */

import { compare, lengthOf } from "./code_points.ts";
import { isObject, member, type JsonObject } from "./json.ts";
import { label } from "./untrusted.ts";
import { english } from "./numerals.ts";

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

/** Return where `value` first differs from the shape `name` of `shapes`, in words; null if it has that shape. */
export function fault(shapes: Shapes, name: string, value: unknown): string | null {
  return faultOf(shapes, shapes[name]!, value, "");
}

function faultOf(shapes: Shapes, shape: Shape, value: unknown, place: string): string | null {
  if (shape.shape !== undefined) return faultOf(shapes, shapes[shape.shape]!, value, place);
  if (shape.anyOf) {
    const followed = shape.anyOf.map((branch) => (branch.shape === undefined ? branch : shapes[branch.shape]!));
    const branches = followed.filter((branch) => isOf(branch, value));
    if (branches.length === 1) return faultOf(shapes, branches[0]!, value, place);
    return branches.some((branch) => faultOf(shapes, branch, value, place) === null) ? null : notDrawn(place);
  }
  if (!isOf(shape, value) || (shape.enum && !shape.enum.includes(value))) return notDrawn(place);
  if (Array.isArray(value)) return faultOfItems(shapes, shape, value, place);
  if (isObject(value)) return faultOfMembers(shapes, shape, value, place && `${place}.`);
  if (typeof value === "number" ? isWithin(shape, value) : typeof value !== "string" || fits(shape, value)) return null;
  return notDrawn(place);
}

function faultOfItems(shapes: Shapes, shape: Shape, value: readonly unknown[], place: string): string | null {
  if (shape.maxItems !== undefined && value.length > shape.maxItems) {
    const [is, most] = [english(value.length), english(shape.maxItems)];
    return `${label(place, PLACE)} has ${is} items; at most ${most} are drawn`;
  }
  if (!shape.items) return null;
  for (let at = 0; at < value.length; at++) {
    const found = faultOf(shapes, shape.items, value[at], `${place}[${at}]`);
    if (found !== null) return found;
  }
  return null;
}

function faultOfMembers(shapes: Shapes, shape: Shape, value: JsonObject, place: string): string | null {
  for (const name of shape.required ?? []) {
    if (member(value, name) === undefined) return `${label(place + name, PLACE)} is missing`;
  }
  const known = shape.properties ?? {};
  const scalars = shape.scalars ?? [];
  const listed: [string, Shape][] = [...Object.entries(known), ...scalars.map((name): [string, Shape] => [name, SCALAR])];
  for (const [name, one] of listed) {
    const written = member(value, name);
    const found = written === undefined ? null : faultOf(shapes, one, written, place + name);
    if (found !== null) return found;
  }
  const others = shape.additionalProperties;
  if (others === true || (!others && !shape.properties)) return null;
  const names = Object.keys(value).filter((name) => !Object.hasOwn(known, name) && !scalars.includes(name));
  names.sort(compare);
  if (!others) return names.length ? notDrawn(place + names[0]) : null;
  for (const name of names) {
    const found = faultOf(shapes, others, value[name], place + name);
    if (found !== null) return found;
  }
  return null;
}

function notDrawn(place: string): string {
  return `${label(place, PLACE) || "the specification"} is not drawn`;
}

function isOf(shape: Shape, value: unknown): boolean {
  if (shape.type === undefined) return true;
  const types = typeof shape.type === "string" ? [shape.type] : shape.type;
  return types.some((type) => isOfType(type, value));
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
