// Which envelope a result is shown by (XMCP-MCP-064 and 065). Pure; nothing of the result is trusted.
import { DISPLAY_META_KEY, ERROR_META_KEY } from "../view/tables.generated.ts";
import { partsOf } from "./document.ts";
import { isObject } from "./json.ts";

const NO_TEXT = "(the tool returned no text)";
const NO_MESSAGE = "The tool failed.";

/** Returns the display of a `CallToolResult`, or one of its text, or of its failure. Whether it is valid, the element finds out. */
export function shownResult(result: unknown): object {
  const members = isObject(result) ? result : {};
  const texts = textsOf(members["content"]);
  const document = texts[0] === undefined ? null : partsOf(texts[0]);
  const meta = isObject(members["_meta"]) ? members["_meta"] : {};
  const data = isObject(members["structuredContent"]) ? members["structuredContent"] : {};
  for (const display of [meta[DISPLAY_META_KEY], data[DISPLAY_META_KEY], parsed(document?.get("display"))]) {
    if (isObject(display)) return display;
  }
  const error = meta[ERROR_META_KEY];
  const message = document?.get("error");
  if (members["isError"] === true || isObject(error) || message !== undefined) {
    const said =
      isObject(error) && typeof error["message"] === "string" ? error["message"] : (message ?? texts.join("\n"));
    return { type: "notification", payload: { level: "error", message: said.trim() === "" ? NO_MESSAGE : said } };
  }
  const text = document?.get("llm_output") ?? texts.join("\n");
  return { type: "text", payload: text.trim() === "" ? NO_TEXT : text };
}

function textsOf(content: unknown): string[] {
  const blocks: unknown[] = Array.isArray(content) ? content : [];
  return blocks.flatMap((block) => (isObject(block) && typeof block["text"] === "string" ? [block["text"]] : []));
}

function parsed(json: string | undefined): unknown {
  if (json === undefined) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
