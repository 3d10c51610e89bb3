// The page that a host of MCP Apps puts into a frame: the element, and a host behind it. It loads nothing.
import "../element/index.ts";
import type { XmcpDisplay } from "../element/index.ts";
import { HostConnection, type View } from "./host.ts";
import type { HostContext } from "./host_context.ts";
import { shownResult } from "./shown_result.ts";

declare const XMCP_VERSION: string;

const CANCELLED = { type: "notification", payload: { level: "info", message: "The call was cancelled." } };

class Page implements View {
  readonly #display: XmcpDisplay = document.createElement("xmcp-display");
  readonly #host = new HostConnection((message) => window.parent.postMessage(message, "*"), this);
  readonly #sizes = new ResizeObserver(() => requestAnimationFrame(() => this.#tellSize()));
  #told = "";
  #offered = "";

  open(): void {
    window.addEventListener("message", ({ source, data }) => {
      if (source === window.parent) this.#host.receive(data); // XMCP-MCP-067
    });
    // Whatever the element makes of a link, this frame goes nowhere (XMCP-MCP-068).
    document.addEventListener("click", (click) => this.#followed(click), { capture: true });
    document.addEventListener("auxclick", (click) => this.#followed(click), { capture: true });
    this.#display.host = {}; // until this one says what it offers, and for good if it refuses (XMCP-MCP-068)
    document.body.append(this.#display);
    this.#sizes.observe(document.body);
    this.#host.open(XMCP_VERSION);
  }

  resultArrived(result: unknown): void {
    this.#display.envelope = shownResult(result);
  }

  callCancelled(): void {
    this.#display.envelope = CANCELLED;
  }

  contextChanged({ theme, locale, variables, safeArea }: HostContext): void {
    const root = document.documentElement;
    root.style.colorScheme = theme === "auto" ? "light dark" : theme;
    for (const [name, value] of variables) root.style.setProperty(name, value);
    for (const [side, pixels] of Object.entries(safeArea)) {
      document.body.style.setProperty(`padding-${side}`, pixels > 0 ? `${pixels}px` : "");
    }
    if (locale !== "") this.#display.lang = root.lang = locale;
    this.#display.theme = theme;
    this.#offer();
  }

  /** Gives the display what the host offers, if that is news: the display is drawn anew, and closes what was opened. */
  #offer(): void {
    const { canOpenLinks, canSaveFiles, canFillTheScreen } = this.#host;
    const offered = `${canOpenLinks} ${canSaveFiles} ${canFillTheScreen}`;
    if (offered === this.#offered) return;
    this.#offered = offered;
    this.#display.host = {
      ...(canOpenLinks ? { openLink: (url: string) => this.#host.openLink(url) } : {}),
      ...(canSaveFiles
        ? { download: (name: string, type: string, text: string) => this.#host.saveFile(name, type, text) }
        : {}),
      ...(canFillTheScreen ? { requestFullscreen: () => this.#host.toggleFullscreen() } : {}),
    };
  }

  closing(): void {
    this.#sizes.disconnect();
  }

  #followed(click: MouseEvent): void {
    const link = click.composedPath().find((node) => node instanceof HTMLAnchorElement || node instanceof SVGAElement);
    if (link === undefined) return;
    click.preventDefault();
  }

  /** Hosts that give a view no room need its height; one of 0, before anything is drawn, would make it vanish. */
  #tellSize(): void {
    const height = Math.max(Math.ceil(document.body.getBoundingClientRect().height), document.body.scrollHeight);
    const size = `${window.innerWidth} × ${height}`;
    if (height === 0 || size === this.#told) return;
    this.#told = size;
    this.#host.sizeChanged(window.innerWidth, height);
  }
}

new Page().open();
