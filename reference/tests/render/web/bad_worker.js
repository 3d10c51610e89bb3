// A worker that somebody has taken over: the nth of these answers for the chart whose axis is called n.
const EVIL = "https://evil.example/"
const svg = (...children) => ["svg", { width: "300", height: "200" }, children]
const attributes = {
  onclick: "ran=1", onload: "ran=1", style: "position:fixed;inset:0", class: "toolbar", id: "title",
  href: EVIL, "xlink:href": EVIL, fill: `url(${EVIL}#a)`, stroke: "url(#other)", filter: `url(${EVIL}#f)`,
  mask: `url(${EVIL})`, "clip-path": `url(${EVIL})`, "font-family": "x;}*{display:none}",
  d: "M0,0Lurl(x)", transform: "translate(1,1) url(x)", x: "NaN", r: "1e9;",
}
const names = "script foreignObject iframe style use image a animate set object html form G".split(" ")
const inside = ["ran=1", ["rect", attributes, []]]
const bad = [
  svg(...names.map((name) => [name, attributes, inside]), ["g", attributes, [["text", attributes, ["<script>"]]]]),
  [...svg().slice(0, 2), Array.from({ length: 100_000 }, () => ["g", {}, []])],
  Array.from({ length: 5_000 }).reduce((inside) => ["g", {}, [inside]], ["g", {}, []]),
  ["svg", { width: "1e9", height: "1" }, []],
  svg(["g", null, []], ["g", {}, null], null, 7),
  ["html", {}, ["x"]],
  "<script>", 7, [], [[]],
]
self.postMessage({})
onmessage = ({ data }) => self.postMessage({ tree: bad[data.specification.encoding.x.title] })
