// How the element is used by a page: properties, replacement, growth, the page in place of the element.
const text = (display) => display.shadowRoot.querySelector(".view")?.textContent ?? ""

export default async function ({ place, frames, showDisplay, noticed }) {
  const made = (envelope, attributes = {}) => {
    const display = document.createElement("xmcp-display")
    for (const [name, value] of Object.entries(attributes)) display.setAttribute(name, value)
    display.envelope = envelope
    place.append(display)
    return display
  }
  const seen = {}

  // A property that was set before the class was known.
  const plain = new (customElements.get("xmcp-display"))()
  Object.defineProperty(plain, "envelope", { value: { type: "text", payload: "early" }, configurable: true, writable: true, enumerable: true })
  place.append(plain)
  await plain.done
  seen.early = text(plain)

  // The same id replaces; another one, or none, does not.
  const box = place.appendChild(document.createElement("section"))
  const first = showDisplay(box, { type: "text", id: "a", payload: "one" })
  showDisplay(box, { type: "text", id: "b", payload: "two" })
  showDisplay(box, { type: "text", payload: "three" })
  showDisplay(box, { type: "text", payload: "four" })
  const again = showDisplay(box, { type: "notification", id: "a", payload: "five" })
  for (const display of box.children) await display.done
  seen.replaced = { same: first === again, texts: [...box.children].map(text) }

  // Replacement in mid-render: what was set last is what stands there, and `done` waits for it.
  const busy = made({ type: "group", payload: Array.from({ length: 32 }, (_, i) => ({ type: "markdown", payload: `*${i}*\n\n`.repeat(300) })) })
  await new Promise((resolve) => setTimeout(resolve, 5))
  busy.envelope = { type: "text", payload: "last" }
  const rendered = await busy.done
  seen.middle = { text: text(busy), rung: rendered.rung }

  // Growth keeps the nodes, and what the person selected.
  const growing = made({ type: "markdown", payload: "# Title\n\nFirst *part*.\n\nSec" })
  await growing.done
  const paragraph = growing.shadowRoot.querySelector("p")
  for (const more of ["Second", "Second part.\n\n- one", "Second part.\n\n- one\n- two"]) growing.envelope = { type: "markdown", payload: `# Title\n\nFirst *part*.\n\n${more}` }
  await growing.done
  seen.growth = { kept: growing.shadowRoot.querySelector("p") === paragraph, text: text(growing) }

  // Nothing of a partial envelope can be followed or loaded.
  const link = { type: "markdown", payload: "[a](https://example.com)" }
  const pixel = { type: "image", payload: "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=", alt: "a" }
  const partial = made({ type: "group", payload: [link, pixel] }, { partial: "" })
  await partial.done
  const live = () => partial.shadowRoot.querySelectorAll("a, img").length
  seen.partial = [live()]
  partial.removeAttribute("partial")
  await partial.done
  seen.partial.push(live())

  // The page opens links and saves files, where it said so.
  const told = []
  const hosted = made({ type: "group", payload: [link, { type: "table", title: "T", payload: [{ a: 1, b: "=x" }] }] })
  hosted.host = { openLink: (url) => told.push(url), download: (...file) => told.push(file) }
  await hosted.done
  hosted.shadowRoot.querySelector("a").click()
  hosted.shadowRoot.querySelector('[aria-label="Download CSV"]').click()
  const buttons = () => [...hosted.shadowRoot.querySelectorAll("button")].map((button) => button.ariaLabel)
  seen.host = told
  seen.offered = [buttons().includes("Download CSV")]
  hosted.host = {}
  await hosted.done
  seen.offered.push(buttons().includes("Download CSV"))

  // The event says what was drawn.
  const events = []
  place.addEventListener("xmcp-rendered", ({ detail, target }) => events.push([target.localName, detail.type, detail.rung, detail.reason, typeof detail.ms]), { once: true })
  await made({ type: "x-a-b", payload: {}, alt: "words" }).done
  seen.event = events[0]

  // Nothing, and something again.
  const emptied = made({ type: "text", payload: "a" })
  await emptied.done
  emptied.envelope = null
  await emptied.done
  seen.emptied = [emptied.shadowRoot.textContent, emptied.offsetHeight]

  // The source, by the button and by the keyboard.
  const sourced = made({ type: "text", payload: "shown", later: 1 })
  await sourced.done
  sourced.shadowRoot.querySelector('[aria-label="Source"]').click()
  await sourced.done
  seen.source = text(sourced)
  await frames(1)
  seen.focused = sourced.shadowRoot.activeElement?.getAttribute("aria-label")

  // Headings and languages.
  const german = made({ type: "group", title: "T", payload: [{ type: "metric", title: "M", payload: { label: "a", value: 1234.5 } }, { type: "markdown", payload: "# a\n\n### b" }] }, { lang: "de", "heading-level": "2" })
  await german.done
  seen.german = german.shadowRoot.querySelector(".amount").textContent
  seen.levels = [...german.shadowRoot.querySelectorAll("[aria-level]")].map((one) => one.getAttribute("aria-level"))
  const live_ = made({ type: "notification", payload: { message: "a", level: "error" } }, { live: "" })
  await live_.done
  seen.live = live_.shadowRoot.querySelector("[role=alert]") !== null

  // Markdown that is nested so deep that the parser drops words is shown as it is written.
  const deep = made({ type: "markdown", payload: `above\n\n${"> ".repeat(60)}innermost` })
  await deep.done
  seen.deep = text(deep)

  seen.noticed = structuredClone(noticed)
  return seen
}
