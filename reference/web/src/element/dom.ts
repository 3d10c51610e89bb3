// The only place that makes elements: by name, with attributes and text. Nothing here, or anywhere else, parses markup.

export type Child = Node | string | null | undefined | false;

type Attributes = Record<string, string | number | boolean | null | undefined>;

/** Returns a new HTML element. An attribute that is `true` is set empty; `false`, `null` and `undefined` are left out. */
export function html<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(name), attributes, children);
}

const SVG = "http://www.w3.org/2000/svg";

/** Returns a new SVG element, like `html`. */
export function svg<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, value === true ? "" : `${value}`);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}
