// Shows the events of a chat as they arrive; displays.js draws the displays among them.
const question = document.querySelector("#question")
const form = document.querySelector("#form")
const button = document.querySelector("#ask")

let answer // the paragraph that the model writes
let ended // whether all of the answer has come
function show(event) {
  const page = document.documentElement
  const atEnd = scrollY + innerHeight > page.scrollHeight - 50 // else the reader has scrolled up, and stays there
  if (event.type === "llm_delta") (answer ??= add(chat, "p")).append(event.text)
  else if (event.type === "retry" && !event.call_id && answer) answer.textContent = "" // the model begins again
  else if (event.type === "tool_display") {
    try { showDisplay(event.envelope) } catch { add(chat, "p", words(event.envelope)) } // its payload is not as it has to be
  }
  else if (event.type === "tool_error") add(chat, "small", `${event.tool_name}: ${said(event.error)}`)
  else if (event.type === "failed") add(chat, "p", `The chat cannot go on: ${event.error.message}`)
  else if (event.type === "done" && !["stop", "display", "clarify"].includes(event.result.stop_reason)) {
    add(chat, "p", `(The answer ended early: ${event.result.stop_reason}.)`)
  }
  if (event.type.startsWith("tool_")) answer = undefined // what the model writes next is a new paragraph
  ended ||= event.type === "done" || event.type === "failed"
  if (atEnd) scrollTo(0, page.scrollHeight)
}

// By the id, the log of the server has what an error such as INTERNAL does not tell.
const said = ({ message, code, meta }) => `${message} (${code}${meta?.error_id ? `, error id ${meta.error_id}` : ""})`

form.addEventListener("submit", async (submitted) => {
  submitted.preventDefault()
  add(chat, "h2", question.value)
  const body = JSON.stringify(question.value)
  question.value = ""
  answer = ended = undefined
  button.disabled = true
  chat.setAttribute("aria-busy", "true")
  scrollTo(0, document.documentElement.scrollHeight)
  try {
    const response = await fetch("ask", { method: "POST", headers: { "Content-Type": "application/json" }, body })
    let rest = ""
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const messages = (rest + piece).split("\n\n")
      rest = messages.pop()
      for (const line of messages.flatMap((message) => message.split("\n"))) {
        if (line.startsWith("data: ")) show(JSON.parse(line.slice("data: ".length)))
      }
    }
  } catch (failure) { console.warn(failure) }
  chat.removeAttribute("aria-busy")
  button.disabled = false
  if (!ended) add(chat, "p", "(The answer broke off.)")
})

question.addEventListener("keydown", (key) => {
  if (key.key !== "Enter" || key.shiftKey || key.isComposing) return
  key.preventDefault()
  if (!button.disabled) form.requestSubmit()
})

fetch("begin").then((response) => response.text()).then((text) => text && add(chat, "pre", text))
