// The script of the page of display_page.py. Everything it does begins in a task of its own: what the DevTools evaluate is
// free of the Content-Security-Policy.
import { showDisplay } from "/xmcp_display.js"

const noticed = { dialogs: [], violations: [], errors: [] }
for (const name of ["alert", "confirm", "prompt", "open", "print"]) window[name] = () => void noticed.dialogs.push(name)
addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => noticed.violations.push(`${violatedDirective} ${blockedURI.slice(0, 60)}`))
addEventListener("error", ({ message }) => message && noticed.errors.push(message))
addEventListener("unhandledrejection", ({ reason }) => noticed.errors.push(String(reason)))

const place = document.querySelector("main")
const frames = async (count) => { for (let i = 0; i < count; i++) await new Promise(requestAnimationFrame) }

// Measures the longest time in which the page could not answer, while `work` goes on.
async function longestBlock(work) {
  const channel = new MessageChannel()
  let [longest, last, goesOn] = [0, performance.now(), true]
  channel.port1.onmessage = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (goesOn) channel.port2.postMessage(0)
  }
  channel.port2.postMessage(0)
  const result = await work()
  await frames(3)
  goesOn = false
  longest = Math.max(longest, performance.now() - last)
  return [result, longest]
}

// What a drawn display must not have. It sees all elements of the shadow tree.
function forbidden(display) {
  const found = []
  for (const element of display.shadowRoot.querySelectorAll("*")) {
    const { localName } = element
    if (/^(script|iframe|frame|object|embed|form|link|style|meta|base|foreignObject|use|animate|set)$/i.test(localName)) found.push(localName)
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name)) found.push(`${localName} ${name}`)
      if (/^(xlink:)?href$/i.test(name) && !/^(https?:\/\/[^/\\]|mailto:)/i.test(value)) found.push(`${localName} ${name}=${value.slice(0, 60)}`)
      if (/^(src|srcset|action|formaction|poster|data|background)$/i.test(name) && !/^data:image\/(png|jpeg|gif|webp|avif)[;,]/.test(value)) {
        found.push(`${localName} ${name}=${value.slice(0, 60)}`)
      }
      if (name === "href" && element.rel !== "noopener noreferrer nofollow") found.push("a link without rel")
    }
  }
  return found
}

const textsOf = (display, isWanted) => {
  const words = []
  const walker = document.createTreeWalker(display.shadowRoot, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) if (isWanted(walker.currentNode.parentElement)) words.push(walker.currentNode.data)
  return words.join("")
}
const shownText = (display) => textsOf(display, (parent) => !parent?.closest(".toolbar, .said"))
// Returns how much of a display the browser lays out at once: what is far from sight is left for later, where styles allow it.
function laidOut(display) {
  const isLaidOut = (element) => element.checkVisibility({ contentVisibilityAuto: true })
  const elements = [...display.shadowRoot.querySelectorAll("*")].filter(isLaidOut)
  // An element that is left for later is laid out itself, as an empty one. Something in it tells.
  const left = new Set()
  for (const element of elements) {
    if (getComputedStyle(element).contentVisibility !== "auto") continue
    const inside = element.appendChild(document.createElement("i"))
    if (!isLaidOut(inside)) left.add(element)
    inside.remove()
  }
  const shown = new Set(elements)
  return {
    elementsLaidOut: elements.length,
    charactersLaidOut: textsOf(display, (parent) => shown.has(parent) && !left.has(parent)).length,
  }
}

const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

const jobs = {
  // Draws the nth case; `attributes` are those of the element.
  async draw({ number, attributes = {}, keep = false }) {
    const { default: envelope } = await import(`/cases/${number}.js`)
    if (!keep) place.replaceChildren()
    const display = document.createElement("xmcp-display")
    for (const [name, value] of Object.entries(attributes)) display.setAttribute(name, value)
    place.append(display)
    await frames(1)
    const started = performance.now()
    const [rendered, longest] = await longestBlock(async () => {
      display.envelope = envelope
      return Promise.race([display.done, new Promise((resolve) => setTimeout(resolve, 20_000, { timeout: true }))])
    })
    const text = shownText(display)
    return {
      ...rendered,
      longest,
      total: performance.now() - started,
      height: display.getBoundingClientRect().height,
      wider: document.documentElement.scrollWidth - innerWidth,
      text: text.slice(0, 3000),
      empty: text.trim() === "" && !display.shadowRoot.querySelector("img, svg[role=img], hr"),
      invisible: INVISIBLE.test(text),
      elements: display.shadowRoot.querySelectorAll("*").length,
      ...laidOut(display),
      forbidden: forbidden(display),
      ran: window.ran ?? {}.polluted ?? null,
      title: document.title,
      url: location.href,
      ...structuredClone(noticed),
    }
  },
  // Runs another served script: a module whose default export is a function of the page's parts.
  async run({ script, ...options }) {
    const { default: probe } = await import(`/probes/${script}.js`)
    return probe({ place, frames, longestBlock, shownText, showDisplay, noticed, ...options })
  },
}

window.start = (job) => {
  window.result = undefined
  setTimeout(async () => {
    try {
      window.result = await jobs[job.name](job)
    } catch (error) {
      window.result = { failed: `${error.stack ?? error}` }
    }
  })
}
window.ready = true
