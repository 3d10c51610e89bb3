// What a person gets of a chart that Vega draws.
export default async function ({ place, frames, noticed, chart, facets }) {
  const display = document.createElement("xmcp-display")
  place.replaceChildren(display)
  display.envelope = chart
  await display.done
  await frames(3)
  const root = display.shadowRoot
  const picture = () => root.querySelector("svg[role=img]")
  const shown = picture()
  const role = [shown.getAttribute("role"), shown.getAttribute("aria-label")]
  const buttons = [...root.querySelectorAll(".toolbar button")].map((button) => button.getAttribute("aria-label"))
  const family = getComputedStyle(shown.querySelector("text")).fontFamily.split(",")[0]
  const colours = ["light", "dark"].map((theme) => {
    display.setAttribute("theme", theme)
    return getComputedStyle(shown.querySelector("text")).fill
  })
  display.removeAttribute("theme")

  const saved = {}
  display.host = { download: (name, type, text) => (saved[type] = text), requestFullscreen() {} }
  await display.done
  for (const kind of ["CSV", "SVG"]) root.querySelector(`[aria-label="Download ${kind}"]`).click()
  const file = new Blob([saved["image/svg+xml"]], { type: "image/svg+xml" })
  const image = new Image()
  const whole = await new Promise((resolve) => {
    image.onload = () => resolve(image.naturalWidth > 100)
    image.onerror = () => resolve(false)
    image.src = `data:image/svg+xml,${encodeURIComponent(saved["image/svg+xml"])}`
  })
  const svg = {
    whole: whole && file.size > 1000,
    bare: !/<script|<style|foreignObject|\son\w+=|href|url\((?!["']?#|&quot;#)/.test(saved["image/svg+xml"]),
    variables: /var\(|color\(|color-mix/.test(saved["image/svg+xml"]),
  }

  root.querySelector("details.data").open = true
  await frames(5)
  const rows = root.querySelectorAll("details.data tbody tr").length

  // In another width it is drawn anew, and the last width wins.
  const widths = [picture().getBoundingClientRect().width]
  for (const width of [600, 500, 400]) {
    place.style.width = `${width}px`
    await frames(2)
  }
  const before = performance.now()
  while (picture().viewBox.baseVal.width > 370 && performance.now() - before < 10_000) await frames(1)
  widths.push(picture().getBoundingClientRect().width)
  place.style.width = ""

  display.lang = "de"
  const numbers = structuredClone(facets)
  for (const row of numbers.payload.data.values) row.ms *= 100
  display.envelope = numbers
  await display.done
  const german = [...picture().querySelectorAll("text")].map((text) => text.textContent).filter((text) => /\d[.,]\d{3}/.test(text))
  display.lang = "not a locale"
  const unknown = (await display.done).rung
  return { unknown, role, buttons, family, colours, csv: saved["text/csv"], svg, rows, widths, german, noticed }
}
