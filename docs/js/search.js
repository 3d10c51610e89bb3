// How the theme's search asks its index, and in which order it shows what is found.
//
// The theme looks for every word of a query as the beginning of a word, so that "a" finds "api" and "arguments": small
// words are left out, unless there are no others. A sign such as the minus of `--require` would be a command to it; here
// signs only end words, as they do in the index.
const small = /^(a|an|and|are|as|at|be|by|can|do|does|for|from|how|i|if|in|is|it|its|my|no|not|of|on|or|that|the|this|to|what|when|where|which|who|why|with)$/
const [SETUP, QUERY, RESULT] = [0, 2, 3] // types of the theme's messages (SearchMessageType)
const send = Worker.prototype.postMessage
let separator
let texts // what each section says, by its location: each word between two spaces
let typed = []
let asked = []

const split = (text) => text.toLowerCase().split(separator).filter(Boolean)
const spaced = (words) => ` ${words.join(" ")} `

Worker.prototype.postMessage = function (message, ...rest) {
  if (message?.type === SETUP) {
    const { config, docs } = message.data
    separator = new RegExp(config.separator)
    const said = ({ title, text }) => spaced(split(`${title} ${text}`.replace(/<[^>]*>/g, "")))
    texts = new Map(docs.map((section) => [section.location, said(section)]))
    // The theme listens already: what it has shown in its order, it is given again in ours before the screen is drawn.
    this.addEventListener("message", ({ data, isTrusted }) => {
      if (!isTrusted || data.type !== RESULT) return
      rank(data.data.items)
      this.dispatchEvent(new MessageEvent("message", { data }))
    })
  } else if (message?.type === QUERY) {
    typed = split(message.data)
    asked = typed.filter((word) => !small.test(word))
    if (!asked.length) asked = typed
    message = { ...message, data: asked.join(" ") }
  }
  return send.call(this, message, ...rest)
}

// The items are the pages, each a list of its sections. First come the sections that have more of the words, and of those
// the ones that have the query as it was typed; the theme's score decides between equals, less where a text is long.
// The theme hides the sections below the best of a page; here up to three that have all words like the best are as good.
function rank(pages) {
  for (const sections of pages) {
    for (const section of sections) {
      const text = texts.get(section.location)
      section.found = asked.filter((word) => text.includes(` ${word}`)).length + text.includes(spaced(typed))
      section.score = section.score / Math.max(1000, text.length) + 1e6 * section.found
    }
    sections.sort((one, other) => other.score - one.score)
    const [best] = sections
    for (const section of sections.slice(1, 3)) {
      if (section.found === best.found && best.found >= asked.length) section.score = best.score
    }
  }
  pages.sort(([one], [other]) => other.score - one.score)
}
