// The package: importing it defines `<xmcp-display>`.
import { XmcpDisplay } from "./xmcp_display.ts";

export type { Host } from "./drawing.ts";
export { showDisplay } from "./show_display.ts";
export type { Rendered } from "./xmcp_display.ts";
export { XmcpDisplay };

declare global {
  interface HTMLElementTagNameMap {
    "xmcp-display": XmcpDisplay;
  }
  interface HTMLElementEventMap {
    "xmcp-rendered": CustomEvent<import("./xmcp_display.ts").Rendered>;
  }
}

if (!customElements.get("xmcp-display")) customElements.define("xmcp-display", XmcpDisplay);
