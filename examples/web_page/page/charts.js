// Reads charts: of Vega-Lite's, lines and bars that show their data as they are. Others need its library, vega-embed.
const HUES = ["#4c78a8", "#e45756", "#54a24b", "#b279a2", "#9d755d", "#c9a227"]
const only = (value, ...names) => Object.keys(value).every((name) => names.includes(name))

// What is to be drawn of a specification; nothing if it says something that is not known here.
function chartOf({ mark, data, encoding, ...rest }) {
  const { x = {}, y = {}, color, tooltip, ...more } = encoding ?? {}
  const kind = mark?.type ?? mark
  const [place, size] = kind === "bar" && x.type === "quantitative" ? [y, x] : [x, y]
  const channels = color ? [place, size, color] : [place, size]
  const rows = Array.isArray(data?.values) ? data.values : []
  const known = ["bar", "line"].includes(kind) && (kind === mark || only(mark, "type", "point", "tooltip"))
    && only(rest, "$schema", "title", "description", "width", "height") && only(data ?? {}, "values")
    && only(more) && size.type === "quantitative" && place.type !== "quantitative"
    && channels.every((channel) => only(channel, "field", "type", "title", "sort"))
    && rows.every((row) => row && channels.every(({ field }) => Object.hasOwn(row, field)))
  if (!known || rows.length < 1 || rows.length > 1000) return undefined

  const points = rows.map((row) => ({ at: row[place.field], value: row[size.field], hue: color && row[color.field] }))
  const [places, hues] = ["at", "hue"].map((name) => [...new Set(points.map((point) => point[name]))])
  const position = place.type === "temporal" ? ({ at }) => +new Date(at) : ({ at }) => places.indexOf(at)
  const sound = hues.length <= HUES.length && points.every((point) => !Number.isNaN(position(point)))
    && points.every(({ value }) => typeof value === "number" && Math.abs(value) < 1e15)
    && (kind === "line" || (places.length === points.length && points.every(({ value }) => value >= 0)))
  const bySize = ["-x", "-y"].includes(place.sort)
  points.sort((one, other) => (bySize ? other.value - one.value : position(one) - position(other)))
  const titles = [place, size].map(({ title, field }) => words(title ?? field).slice(0, 40))
  return sound ? { kind, points, hues, position, titles } : undefined
}

function showChart({ payload, title, alt }) {
  const chart = chartOf(payload)
  const figure = add(chat, "figure")
  const svg = figure.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "svg"))
  const shape = (name, attributes, text = "") => {
    const element = svg.appendChild(document.createElementNS(svg.namespaceURI, name))
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
    element.textContent = text
  }
  const wide = Math.min(640, chat.clientWidth)
  const top = chart.hues.length > 1 ? 20 * chart.hues.length + 8 : 0
  for (const [at, hue] of top ? chart.hues.entries() : []) {
    shape("rect", { y: 20 * at, width: 12, height: 12, fill: HUES[at] })
    shape("text", { x: 18, y: 20 * at + 11 }, words(hue).slice(0, 40))
  }
  const tall = (chart.kind === "bar" ? drawBars : drawLines)(chart, shape, wide, top)
  const own = { width: wide, viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": alt ?? title ?? "" }
  for (const [name, value] of Object.entries(own)) svg.setAttribute(name, value)
  add(figure, "figcaption", title ?? alt)
}
