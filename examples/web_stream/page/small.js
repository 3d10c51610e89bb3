import { showDisplay } from "./xmcp_display.js"

const [page, chat, form] = [crypto.randomUUID(), document.querySelector("main"), document.querySelector("form")]
const add = (name, text) => Object.assign(chat.appendChild(document.createElement(name)), { textContent: text })

form.addEventListener("submit", async (submitted) => {
  submitted.preventDefault()
  const question = form.elements.question.value
  add("h2", question)
  const body = JSON.stringify({ page, question })
  const response = await fetch("ask", { method: "POST", headers: { "Content-Type": "application/json" }, body })
  if (!response.ok) return add("p", await response.text())
  let [lines, rest, answer] = [{}, "", null] // one line for each call of a tool
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const messages = (rest + piece).split("\n\n")
    rest = messages.pop()
    for (const message of messages) {
      const [, data] = /^data: (.*)$/m.exec(message) ?? []
      const event = data ? JSON.parse(data) : {}
      const { type, call_id: id, tool_name: name } = event
      const say = (words) => ((lines[id] ??= add("p", "")).textContent = `${name} ${words}`)
      if (type === "llm_delta") (answer ??= add("p", "")).append(event.text)
      else if (type === "retry" && !id) answer?.replaceChildren() // the model begins again
      else if (type === "tool_started") say("is called …")
      else if (type === "tool_progress") say(`is at ${event.progress} of ${event.total ?? "?"}`)
      else if (type === "tool_result") say("has answered")
      else if (type === "tool_error" || type === "failed") add("p", event.error.message)
      else if (type === "tool_display") showDisplay(chat, event.envelope)
      if (type?.startsWith("tool_")) answer = null // what the model writes next is a new paragraph
    }
  }
})
