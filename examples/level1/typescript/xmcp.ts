// Level 1 of XMCP for the McpServer of MCP's TypeScript SDK, version 1 or 2. A file to copy: it imports nothing.
type Json = Record<string, any>;

const PREFIX = "io.github.xmcp-spec/";
const ANNOUNCED = { [`${PREFIX}tool-response`]: { versions: ["1.0"], wire: "plain" } };
const VISIT_NEEDED = -32042; // MCP's URLElicitationRequired: the SDK hands this exception on as a JSON-RPC error

/** A failure that a tool foresees. `more` is further members of the error, such as `retry_after_ms`. */
export class Failure extends Error {
  error: Json;
  constructor(code: string, category: string, message: string, more: Json = {}) {
    super(message);
    this.error = { code, category, message, retryable: false, ...more };
  }
}

/** A result with a text for the model and a display for the person. */
export function shown(text: string, envelope: Json): any {
  const said = `${text}\nThis was also sent as a display, which not every client shows.`;
  const alt = [...(envelope.alt ?? "")].slice(0, 500).join("");
  const forTheUser = { type: "text", text: alt, annotations: { audience: ["user"] } };
  const content = [{ type: "text", text: said }, ...(text.includes(alt) ? [] : [forTheUser])];
  return { content, _meta: { [`${PREFIX}display`]: envelope } };
}

function marked(result: Json): Json {
  return { ...result, _meta: { ...result._meta, [`${PREFIX}result`]: { version: "1.0", form: "plain" } } };
}

function failed(cause: any): Json {
  if (cause?.code === VISIT_NEEDED) throw cause;
  if (cause instanceof Failure) {
    const content = [{ type: "text", text: `${cause.error.code}: ${cause.message}` }];
    return marked({ content, isError: true, _meta: { [`${PREFIX}error`]: cause.error } });
  }
  const error_id = crypto.randomUUID();
  console.error(error_id, cause);
  return failed(new Failure("INTERNAL", "internal", `The log has the reason: ${error_id}`, { meta: { error_id } }));
}

/** The failure of arguments that do not fit, from a validator's issues. `keys` is how zod names unknown arguments. */
function refused(issues: Json[]): Failure {
  const step = (at: any) => `/${`${at.key ?? at}`.replace(/~/g, "~0").replace(/\//g, "~1")}`;
  const fields = issues.flatMap(({ path = [], keys = [[]], message }) =>
    keys.map((key: any) => ({ pointer: path.concat(key).map(step).join(""), message })),
  );
  const said = fields.map(({ pointer, message }) => `${pointer}: ${message}`).join("; ");
  return new Failure("VALIDATION_FAIL", "invalid_input", said, { meta: { fields, side_effects: "none" } });
}

const unexplained = (result: Json) => result.isError && !result._meta?.[`${PREFIX}error`];

/**
 * Make each answer to a call a plain result of XMCP. To be called before the first tool is registered.
 * It knows the tools of `registerTool`, by the names that they have then.
 */
export function level1<Mcp extends { registerTool: any; server: any }>(mcp: Mcp): Mcp {
  const tools = new Map<string, Json>();
  const [register, handle] = [mcp.registerTool.bind(mcp), mcp.server.setRequestHandler.bind(mcp.server)];
  mcp.server.assertCanSetRequestHandler("tools/call");
  mcp.server.registerCapabilities({ experimental: ANNOUNCED, extensions: ANNOUNCED });

  mcp.registerTool = (name: string, config: Json, tool: any) => {
    const run = async (...given: any[]) => {
      const result = await tool(...given);
      if (!unexplained(result)) return result;
      throw new Failure("TOOL_ERROR", "internal", result.content[0]?.text || "The tool failed.");
    };
    tools.set(
      name,
      register(name, config, (...given: any[]) => run(...given).catch(failed)),
    );
    return tools.get(name);
  };

  // The SDK sets this handler itself when the first tool is registered. Its own failures have only a text.
  mcp.server.setRequestHandler = (what: any, answer: any) => {
    const call = async (request: Json, extra: object) => {
      const { name, arguments: given = {} } = request.params;
      const tool = tools.get(name);
      if (!tool?.enabled) return failed(new Failure("UNKNOWN_TOOL", "not_found", `There is no tool ${name}.`));
      if (given.show_user === null) delete given.show_user; // models write it for "not set"
      const { issues } = (await tool.inputSchema?.["~standard"].validate(given)) ?? {};
      if (issues) return failed(refused(issues));
      const result = await answer(request, extra);
      return unexplained(result) ? failed(result.content) : marked(result);
    };
    const isCall = (what.shape?.method.value ?? what) === "tools/call"; // version 1 gives a schema, version 2 the name
    return handle(what, isCall ? (request: Json, extra: object) => call(request, extra).catch(failed) : answer);
  };
  return mcp;
}
