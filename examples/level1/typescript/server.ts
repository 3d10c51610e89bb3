// A server at Level 1 of XMCP, on version 1 of MCP's TypeScript SDK.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";
import { Failure, level1, shown } from "./xmcp.ts";

const server = level1(new McpServer({ name: "shop", version: "1.0.0" }));
const annotations = { readOnlyHint: true };
const sold = { EMEA: 42, APAC: 17 };
const says = (text: string) => ({ content: [{ type: "text" as const, text }] });

server.registerTool(
  "price",
  {
    description: "Price of so many pieces of an article.",
    inputSchema: { article: z.string(), pieces: z.number() },
    annotations,
  },
  ({ article, pieces }) => {
    if (article !== "lamp") throw new Failure("NOT_FOUND", "not_found", `There is no article ${article}.`);
    return says(`${pieces} × lamp: ${19 * pieces} €`);
  },
);

server.registerTool(
  "sales",
  {
    description: "Sales of a region. With `show_user` the person gets a table of them.",
    inputSchema: z.strictObject({ region: z.enum(["EMEA", "APAC"]), show_user: z.boolean().optional() }),
    annotations,
    _meta: { "io.github.xmcp-spec/tool": { display: true } },
  },
  ({ region, show_user }) => {
    const text = `${region} sold ${sold[region]} units in May.`;
    if (!show_user) return says(text);
    const payload = [{ region, sold: sold[region] }];
    return shown(text, { type: "table", payload, alt: `${sold[region]} units in ${region}` });
  },
);

server.registerTool("stock", { description: "Everything in stock. It always fails, unforeseen.", annotations }, () => {
  throw new Error("/srv/shop/stock.db is locked"); // for the log; the model gets an id in its place
});

await server.connect(new StdioServerTransport());
