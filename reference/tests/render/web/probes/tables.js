// A long table in the hands of a person.
const cells = (display, column) => [...display.shadowRoot.querySelectorAll(`tbody tr > :nth-child(${column})`)].map((one) => one.textContent)

export default async function ({ place, frames }) {
  const rows = Array.from({ length: 1_000 }, (_, i) => [`Row ${(i * 389) % 1000}`, i % 10 ? (i * 389) % 1000 / 4 : null, i % 3 ? "odd" : 7])
  const display = document.createElement("xmcp-display")
  place.replaceChildren(display)
  const envelope = { type: "table", title: "Numbers", payload: { columns: ["name", { key: "n", type: "number" }, "mixed"], rows } }
  display.envelope = envelope
  await display.done
  const root = display.shadowRoot
  const [byName, byNumber, byMixed] = root.querySelectorAll("th button")
  const scroll = root.querySelector(".scroll")
  const seen = { rows: root.querySelectorAll("tbody tr").length, count: root.querySelector("table").getAttribute("aria-rowcount") }
  const sorted = (column) => [cells(display, column)[0], root.querySelectorAll("thead th")[column - 1].getAttribute("aria-sort")]

  byName.click()
  seen.name = cells(display, 1).slice(0, 3)
  byNumber.click()
  seen.up = sorted(2)
  byNumber.click()
  seen.down = sorted(2)
  scroll.scrollTop = scroll.scrollHeight
  await frames(3)
  seen.last = cells(display, 2).at(-1)
  seen.bottom = root.querySelector("tbody tr:last-child").getAttribute("aria-rowindex")
  scroll.scrollTop = 0
  byMixed.click()
  seen.mixed = sorted(3)

  const input = root.querySelector("input")
  input.value = "ROW 99"
  input.dispatchEvent(new Event("input"))
  while (!root.querySelector(".tools [role=status]").textContent.includes(" of ")) await frames(1)
  seen.found = [root.querySelector(".tools [role=status]").textContent, cells(display, 1).length]

  const saved = []
  display.host = { download: (name, mediaType, text) => saved.push({ name, mediaType, lines: text.split("\r\n").length, start: text.slice(0, 30) }) }
  root.querySelector('[aria-label="Download CSV"]').click()
  seen.saved = saved[0]

  // What the person chose holds when the display is drawn again.
  display.envelope = structuredClone(envelope)
  await display.done
  await frames(2)
  while (!root.querySelector(".tools [role=status]").textContent.includes(" of ")) await frames(1)
  seen.kept = [root.querySelector(".tools [role=status]").textContent, root.querySelector("[aria-sort]")?.textContent.trim(), root.querySelector("input").value]

  root.querySelector("input").value = "nowhere"
  root.querySelector("input").dispatchEvent(new Event("input"))
  while (!root.querySelector(".tools [role=status]").textContent.startsWith("0")) await frames(1)
  seen.none = root.querySelector("tbody").textContent
  root.querySelector("input").value = ""
  root.querySelector("input").dispatchEvent(new Event("input"))
  await frames(3)

  dispatchEvent(new Event("beforeprint"))
  seen.printed = root.querySelectorAll("tbody tr").length
  dispatchEvent(new Event("afterprint"))
  seen.after = root.querySelectorAll("tbody tr").length < 100

  // The decimal signs of a column stand below each other.
  display.envelope = { type: "table", payload: [1, 22.5, 333.125, -4].map((n) => ({ n })) }
  await display.done
  const edges = [...root.querySelectorAll("tbody .fraction")].map((one) => Math.round(one.getBoundingClientRect().left * 10) / 10)
  seen.aligned = [edges.length, new Set(edges).size]
  return seen
}
