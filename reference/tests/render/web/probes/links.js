// The links of each Markdown source, in order.
export default async function ({ place, shownText, sources }) {
  const displays = []
  for (const payload of sources) {
    const display = place.appendChild(document.createElement("xmcp-display"))
    display.envelope = { type: "markdown", payload }
    await display.done
    displays.push(display)
  }
  return {
    followed: displays.map(({ shadowRoot }) => [...shadowRoot.querySelectorAll("a")].map((link) => link.getAttribute("href"))),
    nested: displays.reduce((sum, { shadowRoot }) => sum + shadowRoot.querySelectorAll("a a").length, 0),
    words: shownText(displays[0]),
  }
}
