// Shows the events of a chat as they arrive; displays.js draws the displays among them.
const question = document.querySelector("#question")

let answer
function show(event) {
  if (event.type === "llm_delta") (answer ??= add(chat, "p")).append(event.text)
  else if (event.type === "retry" && !event.call_id && answer) answer.textContent = "" // the model begins again
  else if (event.type === "tool_display") {
    try { showDisplay(event.envelope) } catch { add(chat, "p", words(event.envelope)) } // its payload is not as it has to be
  }
  else if (event.type === "tool_error") add(chat, "small", `${event.tool_name}: ${event.error.message} (${event.error.code})`)
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

fetch("begin").then((response) => response.text()).then((text) => text && add(chat, "pre", text))
