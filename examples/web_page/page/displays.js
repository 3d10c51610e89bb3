// Draws displays. Everything in them is text for the page: `textContent`, never `innerHTML`.
const chat = document.querySelector("#chat")

function add(parent, name, text = "") {
  const element = parent.appendChild(document.createElement(name))
  element.textContent = text
  return element
}

const words = (value) => (typeof value === "string" ? value : JSON.stringify(value))

// A table comes as columns and rows, or as a list of objects; each row is a list or an object.
function showTable({ payload, title }) {
  const rows = payload.rows ?? payload
  const columns = (payload.columns ?? Object.keys(rows[0] ?? {})).map((one) => (one.key ? one : { key: one }))
  const table = add(chat, "table")
  add(table, "caption", title)
  const head = add(table, "tr")
  for (const column of columns) add(head, "th", column.title ?? column.key)
  for (const row of rows) {
    const line = add(table, "tr")
    columns.forEach(({ key }, at) => add(line, "td", words((Array.isArray(row) ? row[at] : row[key]) ?? "")))
  }
}

// Pixels only: an SVG is a document, and an image from an address would tell its owner who reads this.
const pixels = /^data:image\/(png|jpeg|gif|webp|avif)[;,]/

function showImage({ payload, title, alt }) {
  const { src = payload, alt: own = title } = payload
  if (!pixels.test(src)) return add(chat, "p", `${alt ?? own ?? ""} (This page does not show images of this kind.)`)
  const image = add(chat, "img")
  image.alt = alt ?? own ?? ""
  image.src = src
}

const draw = {
  __proto__: null, // a type may be called "constructor"
  table: showTable,
  chart: showChart,
  image: showImage,
  notification: ({ payload }) => add(chat, "p", payload.message ?? payload).setAttribute("role", "status"),
  text: ({ payload }) => add(chat, "pre", payload),
  markdown: ({ payload }) => add(chat, "pre", payload),
}

// What this page can draw of an envelope: itself, else its fallback, else of a chart the table of its data.
function drawable(envelope) {
  if (!envelope || (envelope.type === "chart" ? chartOf(envelope.payload) : draw[envelope.type])) return envelope
  const title = envelope.title ?? envelope.alt
  const values = envelope.type === "chart" && envelope.payload.data?.values
  return drawable(envelope.fallback && { title, ...envelope.fallback })
    || (Array.isArray(values) && { type: "table", title, payload: values })
}

function showDisplay(envelope) {
  const { type, payload, alt } = envelope
  const shown = drawable(envelope)
  if (shown && shown.type !== type) add(chat, "p", `(This page cannot draw this ${type}; below is its ${shown.type}.)`)
  if (shown) draw[shown.type](shown)
  else add(chat, "p", `${alt ?? words(payload)} (This page cannot draw "${type}".)`)
}
