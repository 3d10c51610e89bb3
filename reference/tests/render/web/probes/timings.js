// How long the element takes for what has to be quick. Milliseconds until the next frame was drawn.
const rows = (count) => Array.from({ length: count }, (_, i) => [`row ${(i * 7919) % count}`, (i * 7919) % 1000 / 8, i, `c-${i % 100}`, i % 2 === 0, `2026-${i % 12}`, i * 1.25, `text ${i % 977}`])
const columns = ["name", "share", "n", "code", "even", "month", "value", "text"]

export default async function ({ place, frames, longestBlock }) {
  const result = {}
  const timed = async (name, work) => {
    await frames(3)
    performance.mark(`begin ${name}`)
    const start = performance.now()
    await work()
    await frames(1)
    await new Promise((resolve) => setTimeout(resolve))
    result[name] = Math.round(performance.now() - start)
    performance.mark(`end ${name}`)
  }
  const shown = async (envelope) => {
    const display = document.createElement("xmcp-display")
    place.replaceChildren(display)
    display.envelope = envelope
    await display.done
    return display
  }
  const chart = { type: "chart", payload: { mark: "bar", data: { values: ["a", "b", "c"].map((x, y) => ({ x, y })) }, encoding: { x: { field: "x", type: "nominal" }, y: { field: "y", type: "quantitative" } } } }
  await timed("first chart", () => shown(chart))
  await timed("second chart", () => shown(chart))
  const payload = { columns, rows: rows(100_000) }
  let table
  await timed("table of 100,000 rows", async () => { table = await shown({ type: "table", payload }) })
  const buttons = table.shadowRoot.querySelectorAll("th button")
  for (const [at, name] of columns.entries()) await timed(`sort by ${name}`, () => buttons[at].click())
  await timed("sort back", () => buttons[7].click())
  const input = table.shadowRoot.querySelector("input")
  input.value = "977"
  await timed("filter", () => { input.dispatchEvent(new Event("input")); return new Promise((resolve) => setTimeout(resolve, 200)) })
  await timed("table again", () => shown({ type: "table", payload }))
  const big = {
    "table of 5 MB": { type: "table", payload },
    "objects of 5 MB": { type: "table", payload: rows(50_000).map((row) => Object.fromEntries(row.map((cell, at) => [columns[at], cell]))) },
    "markdown of 5 MB": { type: "markdown", payload: "Some *words* and `code`.\n\n".repeat(190_000) },
    "markdown of 5 MB in one line": { type: "markdown", payload: "word *a* [b](https://c.example) ".repeat(160_000) },
    "text of 5 MB": { type: "text", payload: "line of text\n".repeat(400_000) },
    "text of 5 MB in one line": { type: "text", payload: "x".repeat(5_000_000) },
    "notification of 5 MB": { type: "notification", payload: "x".repeat(5_000_000) },
    "code of 5 MB in one line": { type: "code", payload: { code: "var a = 1;".repeat(500_000), language: "javascript" } },
    "code of 5 MB": { type: "code", payload: { code: "var a = 1;\n".repeat(500_000), language: "javascript" } },
    "json of 5 MB": { type: "json", payload: rows(50_000) },
    "facts of 5 MB": { type: "facts", payload: Object.fromEntries(rows(100_000).map((row, at) => [`${at} ${row[0]}`, row[7]])) },
    "metrics of 5 MB": { type: "metric", payload: rows(50_000).map((row) => ({ label: row[0], value: row[1], unit: "km", delta: row[2] })) },
    "chart of 5,000 rows": { ...chart, payload: { ...chart.payload, mark: "line", data: { values: rows(5_000).map(([, y, x]) => ({ x, y })) }, encoding: { x: { field: "x", type: "quantitative" }, y: { field: "y", type: "quantitative" } } } },
    "chart of 5 MB": { ...chart, alt: "a", payload: { ...chart.payload, data: { values: rows(100_000).map(([x, y]) => ({ x, y })) } } },
    "group of 5 MB": { type: "group", payload: Array.from({ length: 32 }, () => ({ type: "markdown", payload: "Some *words* and `code`.\n\n".repeat(6_000) })) },
    "unknown type of 5 MB": { type: "x-a-b", payload: rows(50_000) },
  }
  for (const [name, envelope] of Object.entries(big)) await timed(name, () => longestBlock(() => shown(envelope)))
  return result
}
