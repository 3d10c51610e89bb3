// A server in Node at Level 1 of XMCP: version 2 of MCP's TypeScript SDK, plain JavaScript, no build step.
//
//     npm install && node server.js     (Node 22.18 or newer, which reads xmcp.ts as it is)
//     uv run xmcp check server --strict --stdio "node examples/level1/typescript/server.js"
//
// Copy this file, xmcp.ts and package.json. `level1` marks every result and gives every failure a code.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { Failure, level1, shown } from "./xmcp.ts";

/** @type {Record<string, number>} */
const sold = { EMEA: 42, APAC: 17 };

serveStdio(() => {
  const server = level1(new McpServer({ name: "shop", version: "1.0.0" }));
  server.registerTool(
    "sales",
    {
      description: "Sales of a region. With `show_user` the person gets a table of them.",
      inputSchema: z.object({ region: z.enum(["EMEA", "APAC", "LATAM"]), show_user: z.boolean().optional() }),
      annotations: { readOnlyHint: true },
      _meta: { "io.github.xmcp-spec/tool": { display: true } },
    },
    ({ region, show_user }) => {
      if (!(region in sold)) throw new Failure("NOT_FOUND", "not_found", `There is no report of ${region} yet.`);
      const text = `${region} sold ${sold[region]} units in May.`;
      if (!show_user) return { content: [{ type: "text", text }] };
      const payload = [{ region, sold: sold[region] }];
      return shown(text, { type: "table", payload, alt: `${sold[region]} units in ${region}` });
    },
  );
  return server;
});
