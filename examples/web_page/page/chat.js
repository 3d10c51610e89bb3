// Shows the events of a chat. Everything in them is text for the page: `textContent`, never `innerHTML`.
const chat = document.querySelector("#chat")
const question = document.querySelector("#question")

function add(parent, name, text = "") {
  const element = parent.appendChild(document.createElement(name))
  element.textContent = text
  return element
}

const words = (value) => (typeof value === "string" ? value : JSON.stringify(value))

// A table comes as columns and rows, or as a list of objects; each row is a list or an object.
function showTable(payload, title) {
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

function showDisplay({ type, payload, title = "", alt, fallback }) {
  if (type === "table") showTable(payload, title)
  else if (type === "notification") add(chat, "p", payload.message ?? payload).setAttribute("role", "status")
  else if (type === "text" || type === "markdown") add(chat, "pre", payload)
  else if (drawn(fallback)) showDisplay(drawn(fallback))
  else add(chat, "p", `${alt ?? words(payload)} (This page cannot draw "${type}".)`)
}

const known = ["table", "notification", "text", "markdown"]
const drawn = (envelope) => (!envelope || known.includes(envelope.type) ? envelope : drawn(envelope.fallback))

let answer
function show(event) {
  if (event.type === "llm_delta") (answer ??= add(chat, "p")).append(event.text)
  else if (event.type === "retry" && !event.call_id && answer) answer.textContent = "" // the model begins again
  else if (event.type === "tool_display") {
    try { showDisplay(event.envelope) } catch { add(chat, "p", words(event.envelope)) } // its payload is not as it has to be
  }
  else if (event.type === "tool_error") add(chat, "small", `${event.tool_name}: ${event.error.code}`)
  else if (event.type === "failed") add(chat, "p", `The chat cannot go on: ${event.error.message}`)
  if (event.type.startsWith("tool_")) answer = undefined // what the model writes next is a new paragraph
}

document.querySelector("#form").addEventListener("submit", async (submitted) => {
  submitted.preventDefault()
  add(chat, "h2", question.value)
  answer = undefined
  const headers = { "Content-Type": "application/json" }
  const response = await fetch("ask", { method: "POST", headers, body: JSON.stringify(question.value) })
  let rest = ""
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + piece).split("\n\n")
    rest = events.pop()
    for (const event of events) show(JSON.parse(event.slice("data: ".length)))
  }
})
