// The same file xmcp.ts on version 2 of MCP's TypeScript SDK.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { level1, shown } from "./xmcp.ts";

serveStdio(() => {
  const server = level1(new McpServer({ name: "shop", version: "1.0.0" }));
  server.registerTool(
    "sales",
    {
      description: "Sales of a region. With `show_user` the person gets a table of them.",
      inputSchema: z.object({ region: z.enum(["EMEA", "APAC"]), show_user: z.boolean().optional() }),
      annotations: { readOnlyHint: true },
      _meta: { "io.github.xmcp-spec/tool": { display: true } },
    },
    ({ region, show_user }) => {
      const text = `${region} sold 42 units in May.`;
      if (!show_user) return { content: [{ type: "text", text }] };
      return shown(text, { type: "table", payload: [{ region, sold: 42 }], alt: `42 units in ${region}` });
    },
  );
  return server;
});
