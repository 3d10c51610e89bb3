/** The tools of the sample server: of many shapes, so that a client and the suite have something to meet. */
import { emit } from "./emit.ts"
import { Failure } from "./failure.ts"
import { forUser } from "./xmcp.ts"
import type { Tool } from "./xmcp.ts"

const readOnly = { readOnlyHint: true, destructiveHint: false, openWorldHint: false }

const show_user = { type: "boolean", description: "Whether the person is shown the result too." }

/** The schema of an object that has these members and no others. */
const object = (properties: Record<string, object>, required: string[] = Object.keys(properties)): any => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
})

// ---- Sales: data that other tools use ---------------------------------------------------------------------------

const SOLD: Record<string, number[]> = { EMEA: [42, 45, 39, 51], APAC: [17, 23, 28, 30], AMER: [60, 58, 66] }
const region = { enum: Object.keys(SOLD) }
const quarter = { type: "integer", minimum: 1, maximum: 4 }

const salesSummary: Tool = {
  name: "sales_summary",
  description: "How much a region sold in a quarter. The person can be shown a table of the region's year.",
  inputSchema: object({ region, quarter, show_user }, ["region", "quarter"]),
  outputSchema: object({ region, quarter, units: { type: "integer" } }),
  annotations: readOnly,
  metadata: { display: true, cacheable: true },
  run({ region, quarter }: { region: string; quarter: number }) {
    const units = SOLD[region]![quarter - 1]
    if (units === undefined) {
      const meta = { params: { region, quarter } }
      throw new Failure("NOT_FOUND", `There is no report of ${region} for quarter ${quarter} yet.`, { meta })
    }
    const columns = ["quarter", { key: "units", title: "Units", type: "number", align: "right" }]
    const rows = SOLD[region]!.map((units, at) => [`Q${at + 1}`, units])
    return {
      text: `${region} sold ${units} units in quarter ${quarter}.`,
      data: { region, quarter, units },
      display: {
        type: "table",
        title: `Sales of ${region}`,
        payload: { columns, rows, row_header: "quarter" },
        alt: `${region} by quarter: ${SOLD[region]!.join(", ")} units.`,
      },
    }
  },
}

const salesRows: Tool = {
  name: "sales_rows",
  description: "The sales of a region as rows, for sales_chart.",
  inputSchema: object({ region }),
  annotations: readOnly,
  metadata: { cacheable: true, provides: "rows", wrapped_in: "result" },
  run: ({ region }: { region: string }) => ({
    data: SOLD[region]!.map((units, at) => ({ quarter: `Q${at + 1}`, units })),
  }),
}

const row = object({ quarter: { type: "string", maxLength: 40 }, units: { type: "integer", minimum: 0, maximum: 1e6 } })

const salesChart: Tool = {
  name: "sales_chart",
  description: "The total of the rows that sales_rows returned. The person can be shown a chart of them.",
  inputSchema: object({ rows: { type: "array", items: row, minItems: 1, maxItems: 50 }, show_user }, ["rows"]),
  annotations: readOnly,
  metadata: { display: true, depends_on: ["sales_rows"] },
  run({ rows }: { rows: { quarter: string; units: number }[] }) {
    const total = rows.reduce((sum, { units }) => sum + units, 0)
    const encoding = { x: { field: "quarter", type: "ordinal" }, y: { field: "units", type: "quantitative" } }
    return {
      text: `${rows.length} rows, ${total} units in all.`,
      display: {
        type: "chart",
        title: "Units sold",
        payload: { mark: "bar", data: { values: rows }, encoding },
        alt: `A bar for each of ${rows.length} rows; together ${total} units.`,
        fallback: { type: "table", payload: rows },
        id: "sales-chart",
      },
    }
  },
}

// ---- Texts ------------------------------------------------------------------------------------------------------

const readSource: Tool = {
  name: "read_source",
  description: "Returns a text as it is. The person can be shown it as source code.",
  inputSchema: object({ text: { type: "string" }, language: { type: "string" }, show_user }, ["text"]),
  annotations: readOnly,
  metadata: { display: true },
  run: ({ text, language }: { text: string; language?: string }) => ({
    text,
    display: { type: "code", payload: { code: text, ...(language !== undefined && { language }) } },
  }),
}

const MOST = 5000

const repeatText: Tool = {
  name: "repeat_text",
  description: `Repeats a text, and cuts the result after ${MOST} characters.`,
  inputSchema: object({
    text: { type: "string", minLength: 1, maxLength: 200 },
    times: { type: "integer", minimum: 1, maximum: 2000 },
  }),
  annotations: readOnly,
  run({ text, times }: { text: string; times: number }) {
    const characters = [...text.repeat(times)]
    return { text: characters.slice(0, MOST).join(""), truncated: characters.length > MOST }
  },
}

const describeRecord: Tool = {
  name: "describe_record",
  description: "Writes a record as nested tags. The person can be shown it as JSON.",
  inputSchema: object({ record: { type: "object", additionalProperties: true }, show_user }, ["record"]),
  annotations: readOnly,
  metadata: { display: true, xml_formatter: "tags" },
  run: ({ record }: { record: object }) => ({ text: tags(record), display: { type: "json", payload: record } }),
}

/** A formatter: data as nested tags (XMCP-RSP-090). For the document it is text like any other. */
function tags(value: unknown): string {
  if (typeof value !== "object" || value === null) return escaped(String(value))
  const items = Array.isArray(value) ? value.map((item) => ["item", item]) : Object.entries(value)
  return items.map(([name, item]) => tag(name, tags(item))).join("")
}

function tag(name: string, content: string): string {
  if (/^(?!xml)[a-z_][a-z0-9_.-]*$/i.test(name)) return `<${name}>${content}</${name}>`
  return `<item key="${escaped(name)}">${content}</item>`
}

const REFERENCES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }
const escaped = (text: string) => text.replace(/[&<>"]/g, (c) => REFERENCES[c]!)

// ---- Numbers ----------------------------------------------------------------------------------------------------

const divide: Tool = {
  name: "divide",
  description: "Divides two numbers. The result can be NaN or an infinity.",
  inputSchema: object({ dividend: { type: "number" }, divisor: { type: "number" } }),
  annotations: readOnly,
  metadata: { cacheable: true, wrapped_in: "result" },
  run: ({ dividend, divisor }: { dividend: number; divisor: number }) => ({ data: dividend / divisor }),
}

const scale = { enum: ["celsius", "fahrenheit"] }

const convertTemperature: Tool = {
  name: "convert_temperature",
  description: "Converts a temperature. The person can be shown the result as a number.",
  inputSchema: object(
    { value: { type: "number", minimum: -1000, maximum: 1e6 }, from: scale, decimals: { enum: [0, 1, 2] }, show_user },
    ["value", "from"],
  ),
  annotations: readOnly,
  metadata: { display: true, cacheable: true },
  run({ value, from, decimals = 1 }: { value: number; from: string; decimals?: number }) {
    if (value < (from === "celsius" ? -273.15 : -459.67)) {
      const meta = { params: { value }, side_effects: "none" }
      throw new Failure("INVALID_ARGUMENT", `${value} is below absolute zero.`, { meta })
    }
    const converted = from === "celsius" ? (value * 9) / 5 + 32 : ((value - 32) * 5) / 9
    const unit = from === "celsius" ? "°F" : "°C"
    const said = converted.toFixed(decimals)
    const text = `${said} ${unit}`
    return { text, display: { type: "metric", payload: { label: "Temperature", value: Number(said), unit } } }
  },
}

// ---- Lists, pictures, and parameters that the server fills in -----------------------------------------------------

const ARTICLES = [
  { id: 1, title: "Bolts & nuts", tags: ["metal", "small"], price: 0.12 },
  { id: 2, title: "Lamp <60 W>", tags: ["light"], price: 19 },
  { id: 3, title: "Shelf", tags: ["wood", "large"], price: 49.5 },
]

const findArticles: Tool = {
  name: "find_articles",
  description: "Articles whose title contains a text and that have all of the tags.",
  inputSchema: object(
    {
      title: { type: "string", maxLength: 100 },
      tags: { type: "array", items: { enum: ["metal", "small", "light", "wood", "large"] }, uniqueItems: true },
      limit: { type: "integer", minimum: 1, maximum: 20 },
      show_user,
    },
    [],
  ),
  outputSchema: object({ articles: { type: "array", items: { type: "object" } }, total: { type: "integer" } }),
  annotations: readOnly,
  metadata: { display: true },
  run({ title = "", tags = [], limit = 20 }: { title?: string; tags?: string[]; limit?: number }) {
    const found = ARTICLES.filter((row) => row.title.includes(title) && tags.every((tag) => row.tags.includes(tag)))
    const articles = found.slice(0, limit)
    const table = { type: "table", payload: articles.map(({ id, title, price }) => ({ id, title, price })) }
    const count = { type: "notification", payload: { message: `${found.length} found`, level: "info" } }
    return {
      data: { articles, total: found.length },
      display: { type: "group", title: "Articles", payload: [count, table], alt: `${found.length} articles found.` },
    }
  },
}

const drawDot: Tool = {
  name: "draw_dot",
  description: "Draws a dot of a colour, as a picture.",
  inputSchema: object(
    {
      colour: { type: "string", pattern: "^#[0-9a-f]{6}$" },
      size: { type: "integer", minimum: 1, maximum: 64 },
      show_user,
    },
    ["colour"],
  ),
  annotations: readOnly,
  metadata: { display: true },
  run({ colour, size = 8 }: { colour: string; size?: number }) {
    // A GIF of one pixel, with a palette of this colour and white.
    const gif = `47494638396101000100800000${colour.slice(1)}ffffff2c00000000010001000002024401003b`
    const data = Buffer.from(gif, "hex").toString("base64")
    const src = `data:image/gif;base64,${data}`
    return {
      text: `A dot of the colour ${colour}.`,
      display: { type: "image", payload: { src, width: size, height: size }, alt: `A dot of the colour ${colour}.` },
      blocks: [{ type: "image", data, mimeType: "image/gif" }],
    }
  },
}

const myOrders: Tool = {
  name: "my_orders",
  description: "The orders of the person who asks. The server knows who that is.",
  inputSchema: object({ status: { enum: ["open", "closed"] }, show_user }, []),
  annotations: readOnly,
  metadata: { display: true },
  filled: {
    user_id: { value: process.env["SAMPLE_USER_ID"] ?? "u-17" },
    api_key: { value: process.env["SAMPLE_API_KEY"] ?? "sample-key-5f2c81", secret: true },
  },
  run({ status }: { status?: string }, { user_id }) {
    const counts = { open: 3, closed: 12 }
    const facts = status === undefined ? counts : { [status]: counts[status as "open" | "closed"] }
    const text = Object.entries(facts).map(([state, count]) => `${count} ${state} orders`).join(", ")
    return { text: `${user_id} has ${text}.`, display: { type: "facts", title: "Your orders", payload: facts } }
  },
}

// ---- Failures, and a tool that writes -------------------------------------------------------------------------------

const printer: Tool = {
  name: "printer_status",
  description: "The status of a printer. Each other state of it is a failure of another kind.",
  inputSchema: object({ state: { enum: ["ready", "busy", "jammed", "offline", "broken"] }, show_user }, ["state"]),
  annotations: readOnly,
  metadata: { display: true },
  run({ state }: { state: string }) {
    const warning = { type: "notification", payload: { message: "Please open the printer.", level: "warning" } }
    switch (state) {
      case "busy":
        throw new Failure("RATE_LIMIT", "The printer has too many jobs.", {
          retry_after_ms: 20,
          meta: { limit: { scope: "server", dimension: "jobs", max: 8 }, side_effects: "none" },
        })
      case "jammed":
        throw new Failure("X_SAMPLE_PRINTER_JAM", "There is paper in the printer.", {
          category: "conflict",
          meta: { recovery: "ask_user", "sample.example/tray": 2 },
          display: warning,
        })
      case "offline":
        throw new Failure("UPSTREAM_UNAVAILABLE", "The printer does not answer.", { meta: { upstream_status: 503 } })
      case "broken":
        throw new Error("/dev/usb/lp0: Input/output error") // nobody foresaw it: the caller gets an id
    }
    return { text: "The printer is ready.", display: { type: "notification", payload: "The printer is ready." } }
  },
}

const notes = new Map<string, string>()

const saveNote: Tool = {
  name: "save_note",
  description: "Saves a note under a title, in the place of an earlier one.",
  inputSchema: object(
    { title: { type: "string", minLength: 1, maxLength: 80 }, body: { type: "string", maxLength: 2000 }, show_user },
    ["title", "body"],
  ),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  metadata: { display: true },
  run({ title, body }: { title: string; body: string }) {
    if (notes.size >= 100 && !notes.has(title)) notes.clear()
    notes.set(title, body)
    return {
      text: `Saved: ${title}`,
      display: { type: "x-sample-note", title, payload: { body }, fallback: { type: "markdown", payload: body } },
      blocks: [forUser(`You have ${notes.size} of 100 notes.`)],
    }
  },
}

export const tools: Tool[] = [
  salesSummary,
  salesRows,
  salesChart,
  readSource,
  repeatText,
  describeRecord,
  divide,
  convertTemperature,
  findArticles,
  drawDot,
  myOrders,
  printer,
  saveNote,
  emit,
]
