// What a person gets of a chart beside its picture.
const channels = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number)
const luminance = (colour) => {
  const [red, green, blue] = colour.map((one) => (one / 255 <= 0.04045 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

// The least contrast (WCAG) of a value that stands in a mark, each in the light and the dark theme.
function leastContrast(root) {
  return ["light", "dark"].map((theme) => {
    root.host.setAttribute("theme", theme)
    const ground = channels(getComputedStyle(root.querySelector(".card")).backgroundColor)
    const contrasts = [...root.querySelectorAll(".heat .value, .value.inside")].map((value) => {
      const { left, top, width, height } = value.getBoundingClientRect()
      const [x, y] = [left + width / 2, top + height / 2]
      const below = [...root.querySelectorAll(".mark")].find((one) => {
        const box = one.getBoundingClientRect()
        return box.left <= x && x <= box.right && box.top <= y && y <= box.bottom
      })
      const { fill, fillOpacity } = getComputedStyle(below)
      const mark = channels(fill).map((one, at) => one * fillOpacity + ground[at] * (1 - fillOpacity))
      const [dark, bright] = [luminance(mark), luminance(channels(getComputedStyle(value).fill))].sort((a, b) => a - b)
      return (bright + 0.05) / (dark + 0.05)
    })
    root.host.removeAttribute("theme")
    return Math.min(21, ...contrasts)
  })
}

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
  const texts = (selector) => [...picture.querySelectorAll(selector)].map((one) => [one.textContent, one.getBoundingClientRect()])
  const touching = texts(".value").flatMap(([words, one]) =>
    texts(".tick").flatMap(([tick, other]) => {
      const apart = other.left > one.right || other.right < one.left || other.top > one.bottom - 1 || other.bottom < one.top + 1
      return apart ? [] : [`${words} on ${tick}`]
    }),
  )
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
    touching,
    contrast: leastContrast(root),
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
