// What a person gets of a chart beside its picture.
export default async function ({ place, frames, chart, width }) {
  const display = document.createElement("xmcp-display")
  place.replaceChildren(display)
  place.style.width = `${width}px`
  display.envelope = chart
  await display.done
  await frames(3)
  const root = display.shadowRoot
  const picture = root.querySelector("svg[role=img]")
  const box = picture.getBoundingClientRect()
  const words = (selector) => [...root.querySelectorAll(selector)].map((one) => one.textContent)
  const inside = [...picture.querySelectorAll("text")].every((one) => {
    const { left, right } = one.getBoundingClientRect()
    return left >= box.left - 8 && right <= box.right + 8
  })
  // From left to right, until something is under the pointer.
  const point = (x) => picture.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + box.height / 2, bubbles: true }))
  let tip = null
  for (let x = box.width * 0.3; !tip && x < box.width; x += 8) {
    point(x)
    tip = root.querySelector(".tip")?.textContent
  }
  root.querySelector(".stage").dispatchEvent(new PointerEvent("pointerleave"))
  const gone = root.querySelector(".tip") === null

  const saved = {}
  display.host = { download: (name, type, text) => (saved[type] = text) }
  for (const kind of ["CSV", "SVG"]) root.querySelector(`[aria-label="Download ${kind}"]`).click()
  const copied = []
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => void copied.push(text) }, configurable: true })
  root.querySelector('[aria-label="Copy"]').click()
  await frames(2)

  root.querySelector("details.data").open = true
  while (!root.querySelector("details.data table")) await frames(1)
  const file = saved["image/svg+xml"]
  return {
    alt: picture.getAttribute("aria-label"),
    width: Math.round(box.width),
    inside,
    ticks: words(".tick"),
    values: words(".value"),
    legend: words(".legend li, .scale"),
    tip,
    gone,
    csv: saved["text/csv"],
    copied: copied[0],
    said: root.querySelector(".said").textContent,
    file: { whole: file.startsWith("<svg") && file.endsWith("</svg>"), coloured: / fill="rgb/.test(file), bare: !/class=|var\(/.test(file) },
    rows: root.querySelectorAll("details.data tbody tr").length,
  }
}
