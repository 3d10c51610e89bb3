// A thousand displays in one page, ten of them with one id.
export default async function ({ place, showDisplay }) {
  const start = performance.now()
  const displays = new Set()
  for (let i = 0; i < 1_000; i++) {
    const payload = [{ type: "text", payload: `text ${i}` }, { type: "table", payload: [{ a: i }] }, { type: "notification", payload: `note ${i}` }][i % 3]
    displays.add(showDisplay(place, { ...payload, ...(i % 100 ? {} : { id: "same" }) }))
  }
  for (const display of displays) await display.done
  const heights = [...displays].map((display) => display.getBoundingClientRect().height)
  return { count: displays.size, flat: heights.filter((height) => height < 5).length, ms: performance.now() - start }
}
