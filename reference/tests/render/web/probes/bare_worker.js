// The worker of Vega without those that decide what it gets: what it does with a specification of any kind.
export default async function ({ specification, longest }) {
  const worker = new Worker("/xmcp_display_vega_worker.js")
  const next = () => new Promise((resolve) => (worker.onmessage = ({ data }) => resolve(data)))
  await next()
  worker.postMessage({ specification, width: 400, font: "sans-serif", locale: "en" })
  const late = new Promise((resolve) => setTimeout(resolve, longest, "late"))
  const answer = await Promise.race([next(), late])
  worker.terminate()
  return answer === "late" ? answer : (answer.failed ?? JSON.stringify(answer.tree))
}
