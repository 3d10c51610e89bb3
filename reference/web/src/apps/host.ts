// The conversation of the view with a host of MCP Apps (SEP-1865): JSON-RPC over two functions, no DOM. What the view
// can say is the closed list below: it has no way to call a tool or to speak to the model (XMCP-MCP-066).
import { afterChange, type HostContext, NO_CONTEXT } from "./host_context.ts";
import { isObject } from "./json.ts";

/** The revision of MCP Apps that is spoken here. */
const PROTOCOL_VERSION = "2026-01-26";
/** Of how many requests the answers are waited for: those of a host that answered none of so many do not come. */
const MOST_PENDING = 64;
const METHOD_NOT_FOUND = -32601;

type Request = "ui/initialize" | "ui/open-link" | "ui/download-file" | "ui/request-display-mode";
type Notification = "ui/notifications/initialized" | "ui/notifications/size-changed";
type RequestId = string | number;

/** What the host tells. */
export interface View {
  /** A `CallToolResult`, unchecked. */
  resultArrived(result: unknown): void;
  callCancelled(): void;
  contextChanged(context: HostContext): void;
  /** The frame is about to be removed; nothing follows. */
  closing(): void;
}

export class HostConnection {
  readonly #post: (message: object) => void;
  readonly #view: View;
  readonly #waiting = new Map<RequestId, (result: unknown) => void>();
  #lastId = 0;
  #capabilities: Readonly<Record<string, unknown>> = {};
  #context = NO_CONTEXT;
  #isClosed = false;

  /** `post` sends a message to the host; what the host sends goes into `receive`. */
  constructor(post: (message: object) => void, view: View) {
    this.#post = post;
    this.#view = view;
  }

  /** Shakes hands. The host sends nothing of the call before. */
  open(version: string): void {
    const params = {
      protocolVersion: PROTOCOL_VERSION,
      appInfo: { name: "xmcp-display", version },
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    };
    this.#request("ui/initialize", params, (result) => {
      const answer = isObject(result) ? result : {};
      this.#capabilities = isObject(answer["hostCapabilities"]) ? answer["hostCapabilities"] : {};
      this.#contextChanged(answer["hostContext"]);
      this.#notify("ui/notifications/initialized", {});
    });
  }

  /** Takes what came from the window in which the view is; whatever is not a message of JSON-RPC is ignored. */
  receive(message: unknown): void {
    if (this.#isClosed || !isObject(message) || message["jsonrpc"] !== "2.0") return;
    const { id, method } = message;
    const isAsked = typeof id === "string" || typeof id === "number";
    if (typeof method !== "string") {
      if (isAsked) this.#answered(id, message["result"]);
    } else if (isAsked) {
      this.#answer(id, method);
    } else {
      this.#told(method, message["params"]);
    }
  }

  get canOpenLinks(): boolean {
    return isObject(this.#capabilities["openLinks"]);
  }

  get canSaveFiles(): boolean {
    return isObject(this.#capabilities["downloadFile"]);
  }

  get canFillTheScreen(): boolean {
    return this.#context.availableDisplayModes.includes("fullscreen");
  }

  openLink(url: string): void {
    if (this.canOpenLinks) this.#request("ui/open-link", { url });
  }

  saveFile(name: string, mediaType: string, text: string): void {
    // The host takes the last segment of the URI as the name of the file.
    const resource = { uri: `file:///${encodeURIComponent(name)}`, mimeType: mediaType, text };
    if (this.canSaveFiles) this.#request("ui/download-file", { contents: [{ type: "resource", resource }] });
  }

  /** Asks for the whole screen, or for the place in the chat if the view has the screen. The host says what becomes of it. */
  toggleFullscreen(): void {
    const mode = this.#context.displayMode === "fullscreen" ? "inline" : "fullscreen";
    if (!this.#context.availableDisplayModes.includes(mode)) return;
    this.#request("ui/request-display-mode", { mode }, (result) => {
      if (isObject(result)) this.#contextChanged({ displayMode: result["mode"] });
    });
  }

  /** Says how much room the content takes, in CSS pixels. */
  sizeChanged(width: number, height: number): void {
    this.#notify("ui/notifications/size-changed", { width, height });
  }

  /** Without `answered`, nobody needs the answer. */
  #request(method: Request, params: object, answered?: (result: unknown) => void): void {
    if (this.#isClosed) return;
    const id = ++this.#lastId;
    if (this.#waiting.size >= MOST_PENDING) this.#waiting.clear();
    if (answered) this.#waiting.set(id, answered);
    this.#post({ jsonrpc: "2.0", id, method, params });
  }

  #notify(method: Notification, params: object): void {
    if (!this.#isClosed) this.#post({ jsonrpc: "2.0", method, params });
  }

  /** An error has no result: a host that refuses a link or a file has told the person why. */
  #answered(id: RequestId, result: unknown): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (result !== undefined) waiting?.(result);
  }

  #answer(id: RequestId, method: string): void {
    switch (method) {
      case "ping":
        this.#post({ jsonrpc: "2.0", id, result: {} });
        break;
      case "ui/resource-teardown":
        this.#post({ jsonrpc: "2.0", id, result: {} });
        this.#isClosed = true;
        this.#waiting.clear();
        this.#view.closing();
        break;
      default:
        this.#post({ jsonrpc: "2.0", id, error: { code: METHOD_NOT_FOUND, message: "Method not found" } });
    }
  }

  #told(method: string, params: unknown): void {
    switch (method) {
      case "ui/notifications/tool-result":
        this.#view.resultArrived(params);
        break;
      case "ui/notifications/tool-cancelled":
        this.#view.callCancelled();
        break;
      case "ui/notifications/host-context-changed":
        this.#contextChanged(params);
        break;
    }
  }

  #contextChanged(change: unknown): void {
    this.#context = afterChange(this.#context, change);
    this.#view.contextChanged(this.#context);
  }
}
