// Everything that comes is text for the page: `textContent` and `append`, never `innerHTML`. Displays go to the element.
import { showDisplay } from "./xmcp_display.js"

const page = crypto.randomUUID() // the conversation of this page; only it knows the name
const [chat, form, question, ask, stop] = ["chat", "form", "question", "ask", "stop"].map((id) => document.getElementById(id))

function add(parent, name, text = "") {
  const element = parent.appendChild(document.createElement(name))
  element.textContent = text
  return element
}

// The messages of a stream: each ends with an empty line. A comment, by which the connection is kept, has no data.
async function* events(body) {
  let rest = ""
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const messages = (rest + piece).split("\n\n")
    rest = messages.pop()
    for (const message of messages) {
      const data = message.split("\n").find((line) => line.startsWith("data: "))
      if (data) yield JSON.parse(data.slice("data: ".length))
    }
  }
}

// What a model thinks, folded: a line that can be opened.
function thoughts() {
  const line = add(chat, "details")
  add(line, "summary", "thinks …")
  return { line, text: add(line, "pre") }
}

// How far a call is, in the numbers and the words of its server; the total can be unknown.
function far({ progress, total, text = "" }) {
  return `${total > 0 ? `${Math.round((100 * progress) / total)} %` : progress} ${text}`
}

// One line for each call, which says how far it is; what the model read can be opened.
function call(lines, { call_id: id, tool_name: name }, state, text = "") {
  const line = (lines[id] ??= add(chat, "details"))
  line.replaceChildren()
  add(line, "summary", `${name}: ${state}`)
  if (text) add(line, "pre", text)
}

async function run(text, signal) {
  const headers = { "Content-Type": "application/json" }
  const body = JSON.stringify({ page, question: text })
  const response = await fetch("ask", { method: "POST", headers, body, signal })
  if (!response.ok) throw new Error(await response.text())
  const lines = {}
  let answer, thought // the paragraph that the model writes, and what it thinks
  for await (const event of events(response.body)) {
    if (event.type === "llm_delta") (answer ??= add(chat, "p")).append(event.text)
    else if (event.type === "llm_reasoning") (thought ??= thoughts()).text.append(event.text)
    else if (event.type === "retry" && !event.call_id) {
      answer?.replaceChildren() // the model begins again
      thought?.text.replaceChildren()
    }
    else if (event.type === "retry") call(lines, event, `once more in ${event.wait_ms} ms`)
    else if (event.type === "tool_call") call(lines, event, "waits")
    else if (event.type === "tool_started") call(lines, event, "runs …")
    else if (event.type === "tool_progress") call(lines, event, far(event))
    else if (event.type === "tool_result") call(lines, event, "done", event.text)
    else if (event.type === "tool_error") call(lines, event, event.error.message)
    else if (event.type === "tool_display") showDisplay(chat, event.envelope) // or in the place of one with the same id
    else if (event.type === "failed") add(chat, "p", `The chat cannot go on: ${event.error.message}`)
    if (event.type.startsWith("tool_")) answer = thought = undefined // what the model writes next is a new paragraph
    if (event.type === "done" || event.type === "failed") return
  }
  throw new Error("the answer broke off")
}

form.addEventListener("submit", async (submitted) => {
  submitted.preventDefault()
  const text = question.value
  add(chat, "h2", text)
  form.reset()
  const leave = new AbortController()
  stop.onclick = () => leave.abort(new Error("stopped")) // the server ends the chat, and the calls under way
  ask.disabled = !(stop.disabled = false)
  try { await run(text, leave.signal) } catch (failure) { add(chat, "p", `(${failure.message})`) }
  ask.disabled = !(stop.disabled = true)
})
