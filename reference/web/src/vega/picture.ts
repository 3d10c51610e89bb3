// From the elements that the worker gives to nodes of the page: only listed elements and attributes, with listed values.
import { label } from "../view/untrusted.ts";
import { COLOUR, LIMITS } from "./allowed.ts";
import type { Budget } from "./draughtsman.ts";
import type { Tree } from "./tree.ts";

const SVG = "http://www.w3.org/2000/svg";

const ELEMENTS = new Set(
  "g path rect line circle text tspan defs linearGradient radialGradient stop clipPath".split(" "),
);

const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:px|%)?$/i;
const WORD = /^[a-z0-9-]{1,20}$/i;

/** The attributes that are copied, and what their values look like. */
const ATTRIBUTES: Readonly<Record<string, RegExp>> = Object.fromEntries([
  ...of("x y x1 x2 y1 y2 dx dy cx cy r fx fy fr width height offset rx ry", NUMBER),
  ...of("stroke-width stroke-miterlimit stroke-dashoffset opacity fill-opacity stroke-opacity font-size", NUMBER),
  ...of("text-anchor stroke-linecap stroke-linejoin font-weight font-style", WORD),
  ...of("fill stroke stop-color", COLOUR),
  ["stroke-dasharray", /^[\d\s.,e-]{1,200}$/],
  ["d", /^[MLHVCSQTAZ\d\s.,e+-]*$/i],
  ["transform", /^(?:(?:translate|rotate|scale)\([\d\s.,e+-]*\)\s*)*$/],
]);

function of(names: string, values: RegExp): [string, RegExp][] {
  return names.split(" ").map((name) => [name, values]);
}

/** References within the picture: they get names of their own, since several pictures can stand in one tree. */
const REFERENCE = /^url\(#((?:gradient|clip)_?\d+)\)$/;
const REFERRING = new Set(["fill", "stroke", "clip-path"]);
const ID = /^(?:gradient|clip)_?\d+$/;

let pictures = 0;

/**
 * Returns the picture, as wide as it was drawn; a screen reader says `alt` in its place. Throws Error if it is too large.
 * `pause` lets the page answer.
 */
export async function pictureOf(
  tree: Tree,
  alt: string,
  budget: Budget,
  pause: () => Promise<void>,
): Promise<SVGSVGElement> {
  const [name, { width, height }, children] = tree;
  const [wide, high] = [Number(width), Number(height)];
  if (name !== "svg" || !(wide > 0 && wide <= LIMITS.side && high > 0 && high <= LIMITS.side)) {
    throw new Error("the picture is too large");
  }
  const picture = document.createElementNS(SVG, "svg");
  const size = { viewBox: `0 0 ${wide} ${high}`, width: `${wide}`, height: `${high}`, role: "img", "aria-label": alt };
  for (const [key, value] of Object.entries(size)) picture.setAttribute(key, value);
  const prefix = `vega-${++pictures}-`;
  const waiting: [Element, Tree[2]][] = [[picture, children]];
  let elements = 0;
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [around, inside] = next;
    for (const child of inside) {
      if (typeof child === "string") {
        if (/^t/.test(around.localName)) around.append(label(child));
        continue;
      }
      if (!ELEMENTS.has(child[0])) continue;
      if (++elements > budget.elements) throw new Error("the picture has too many parts");
      if (elements % 500 === 0) await pause();
      const element = document.createElementNS(SVG, child[0]);
      for (const [key, value] of Object.entries(child[1])) copy(element, key, value, prefix);
      around.append(element);
      waiting.push([element, child[2]]);
    }
  }
  budget.elements -= elements;
  return picture;
}

function copy(element: Element, name: string, value: string, prefix: string): void {
  const [, reference] = (REFERRING.has(name) && REFERENCE.exec(value)) || [];
  if (reference) element.setAttribute(name, `url(#${prefix}${reference})`);
  else if (name === "id" && ID.test(value)) element.setAttribute("id", prefix + value);
  else if (Object.hasOwn(ATTRIBUTES, name) && ATTRIBUTES[name]!.test(value)) element.setAttribute(name, value);
}
