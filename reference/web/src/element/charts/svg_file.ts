// The picture of a chart as a file of its own, which has no style sheet: its colours and fonts become attributes.

const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "stop-color",
];
const TEXT_STYLES = ["font-family", "font-size", "font-weight"];

/** Returns the SVG document of the picture inside `place`, on the background that it is shown on. */
export function svgFile(place: Element): string {
  const picture = place.querySelector("svg");
  if (!picture) return "";
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const originals = picture.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((element, at) => {
    const original = originals[at];
    if (!original) return;
    const style = getComputedStyle(original);
    for (const name of element.localName === "text" ? [...STYLES, ...TEXT_STYLES] : STYLES) {
      element.setAttribute(name, style.getPropertyValue(name));
    }
    element.removeAttribute("class");
  });
  const background = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  background.setAttribute("width", "100%");
  background.setAttribute("height", "100%");
  background.setAttribute("fill", surfaceBehind(picture));
  copy.prepend(background);
  return new XMLSerializer().serializeToString(copy);
}

function surfaceBehind(element: Element): string {
  for (let at: Element | null = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (colour && !colour.includes("rgba(0, 0, 0, 0)") && colour !== "transparent") return colour;
  }
  return "Canvas";
}
