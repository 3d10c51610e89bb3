// Draws the marks of a chart, in an SVG so and so wide, below its legend; each function returns how tall it has become.

// Bars lie, whichever way the specification has them: so their names have room, also in a narrow window.
function drawBars({ points, hues, titles }, shape, wide, top) {
  const names = points.map(({ at }) => words(at).slice(0, 20))
  const numbers = points.map(({ value }) => value.toLocaleString("en"))
  const left = 9 * Math.max(...names.map((name) => name.length)) + 8
  const room = wide - left - 8 * Math.max(...numbers.map((number) => number.length)) - 8
  const most = Math.max(...points.map(({ value }) => value)) || 1
  points.forEach(({ value, hue }, at) => {
    const [y, width] = [top + 28 * at, (room * value) / most]
    shape("text", { x: left - 8, y: y + 17, "text-anchor": "end" }, names[at])
    shape("rect", { x: left, y: y + 2, width, height: 22, fill: HUES[hues.indexOf(hue)] })
    shape("text", { x: left + width + 6, y: y + 17 }, numbers[at])
  })
  const bottom = top + 28 * points.length
  shape("text", { x: left, y: bottom + 18 }, titles[1])
  return bottom + 26
}

function drawLines({ points, hues, position, titles }, shape, wide, top) {
  const values = points.map(({ value }) => value)
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)]
  const power = 10 ** Math.floor(Math.log10(high - low || 1))
  const step = high - low < 4 * power ? power / 2 : power
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)] // the lines of the grid, in steps
  const numbers = Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(12)))
  const left = 8 * Math.max(...numbers.map((number) => number.toLocaleString("en").length)) + 8
  const [start, end] = [position(points[0]), position(points.at(-1))]
  const x = (point) => left + (wide - left) * (0.1 + (0.8 * (position(point) - start)) / (end - start || 1))
  const y = (value) => top + 24 + 220 * (1 - (value / step - first) / (last - first || 1))

  shape("text", { y: top + 12 }, titles[1])
  for (const number of numbers) {
    shape("path", { d: `M${left} ${y(number)}H${wide}`, stroke: "#ccc" })
    shape("text", { x: left - 8, y: y(number) + 4, "text-anchor": "end" }, number.toLocaleString("en"))
  }
  let free = 0
  for (const point of points) {
    const half = 4 * words(point.at).length
    if (x(point) - half < free || x(point) + half > wide) continue // there is no room for its name
    shape("text", { x: x(point), y: top + 264, "text-anchor": "middle" }, words(point.at))
    free = x(point) + half
  }
  shape("text", { x: (left + wide) / 2, y: top + 286, "text-anchor": "middle" }, titles[0])
  for (const [at, hue] of hues.entries()) {
    const own = points.filter((point) => point.hue === hue)
    const path = own.map((point) => `${x(point)} ${y(point.value)}`).join("L")
    shape("path", { d: `M${path}`, stroke: HUES[at], fill: "none", "stroke-width": 2 })
    for (const point of own) shape("circle", { cx: x(point), cy: y(point.value), r: 3, fill: HUES[at] })
  }
  return top + 294
}
