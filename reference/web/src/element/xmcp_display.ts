// The custom element <xmcp-display>: draws one display envelope of any origin. It fetches nothing and runs nothing.
import { plan } from "../view/fallback_ladder.ts";
import type { View } from "../view/content.ts";
import { english, inLocale, type Quantity } from "../view/numerals.ts";
import { label } from "../view/untrusted.ts";
import css from "./display.css";
import { html } from "./dom.ts";
import { type Drawing, type Drawn, type Host, pauses } from "./drawing.ts";
import { copy, save } from "./effects.ts";
import { grow } from "./growth.ts";
import { type MoreCharts, PARTS, type Planned } from "./more_charts.ts";
import { type Button, confirm } from "./toolbar.ts";
import { drawView, type ShownView } from "./view.ts";

/** What was drawn: detail of the event `xmcp-rendered`. */
export interface Rendered {
  /** The type that the envelope names. */
  readonly type: string;
  /** The type whose content is shown, or the step of the ladder: `alt`, `text`, `json`. */
  readonly rung: string;
  /** Why the payload is not shown in its own form; null if it is. */
  readonly reason: string | null;
  /** Milliseconds from the beginning of the drawing until it was complete. */
  readonly ms: number;
}

const NOTHING_YET: Rendered = { type: "", rung: "", reason: null, ms: 0 };
const DEFAULT_WIDTH = 640;
/** Space that a card takes beside its content. */
const CARD_EDGES = 34;
/** Contents that gain nothing from the whole screen. */
const SMALL = new Set(["text", "notification", "facts", "metrics", "file"]);
const GROWING = new Set(["text", "markdown"]);

let sheet: CSSStyleSheet | undefined;

function styles(): CSSStyleSheet {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
  }
  return sheet;
}

/**
 * `<xmcp-display>`. Attributes: `theme` (`light`, `dark`; otherwise that of the page), `lang`, `heading-level` (1 to 6),
 * `partial` (more of the envelope is to come), `live` (a screen reader says notifications).
 *
 * Fires `xmcp-rendered` with a `Rendered` as its detail when a drawing is complete.
 */
export class XmcpDisplay extends HTMLElement {
  static readonly observedAttributes = ["lang", "heading-level", "partial", "live"];
  /** What a file that draws more charts sets. */
  static moreCharts: MoreCharts | undefined;

  readonly #root: ShadowRoot;
  readonly #said = html("div", { class: "said", role: "status" });
  readonly #choices = new Map<string, unknown>();
  readonly #observer = new ResizeObserver((entries) => void this.#resized(entries));
  readonly #widths = new Map<Element, { drawn: Drawn; width: number }>();
  #envelope: unknown;
  #host: Host | undefined;
  #shown: ShownView | undefined;
  #showsSource = false;
  #wanted = false;
  #drawing: Promise<Rendered> | undefined;
  #done: Promise<Rendered> = Promise.resolve(NOTHING_YET);

  constructor() {
    super();
    this.#root = this.attachShadow({ mode: "open" });
    this.#root.adoptedStyleSheets = [styles()];
    this.#root.addEventListener("click", (event) => this.#openedByHost(event));
  }

  /** The envelope that is shown, as decoded JSON. Setting it draws it; null shows nothing. */
  get envelope(): unknown {
    return this.#envelope;
  }

  set envelope(envelope: unknown) {
    this.#envelope = envelope;
    this.#request();
  }

  /** What the page does in place of the element where the element itself is not allowed to. Setting it draws anew. */
  get host(): Host | undefined {
    return this.#host;
  }

  set host(host: Host | undefined) {
    this.#host = host;
    this.#again();
  }

  get theme(): "light" | "dark" | "auto" {
    const theme = this.getAttribute("theme");
    return theme === "light" || theme === "dark" ? theme : "auto";
  }

  set theme(theme: "light" | "dark" | "auto") {
    this.setAttribute("theme", theme);
  }

  /** Fulfilled when what was set last is drawn; never rejected. */
  get done(): Promise<Rendered> {
    return this.#done;
  }

  connectedCallback(): void {
    // Properties that were set before the class was known hide those of the class.
    const own = this as unknown as Record<string, unknown>;
    for (const name of ["host", "theme", "envelope"]) {
      if (!Object.hasOwn(own, name)) continue;
      const value = own[name];
      delete own[name];
      own[name] = value;
    }
    window.addEventListener("beforeprint", this.#beforePrint);
    window.addEventListener("afterprint", this.#afterPrint);
  }

  disconnectedCallback(): void {
    window.removeEventListener("beforeprint", this.#beforePrint);
    window.removeEventListener("afterprint", this.#afterPrint);
  }

  attributeChangedCallback(_name: string, before: string | null, after: string | null): void {
    if (before !== after) this.#again();
  }

  #again(): void {
    if (this.#envelope !== undefined) this.#request();
  }

  #request(): void {
    this.#wanted = true;
    this.#done = this.#drawing ??= this.#drawAll();
  }

  /** Draws until nothing new was set meanwhile; several settings in one task are drawn once. */
  async #drawAll(): Promise<Rendered> {
    let rendered = NOTHING_YET;
    await Promise.resolve();
    while (this.#wanted) {
      this.#wanted = false;
      rendered = await this.#draw(this.#envelope);
    }
    this.#drawing = undefined;
    this.dispatchEvent(new CustomEvent("xmcp-rendered", { detail: rendered, bubbles: true, composed: true }));
    return rendered;
  }

  async #draw(envelope: unknown): Promise<Rendered> {
    const started = performance.now();
    if (envelope === undefined || envelope === null) {
      this.#put(undefined);
      return NOTHING_YET;
    }
    let view: View = planned(envelope);
    const begun = (root: HTMLElement): void => {
      if (!this.#shown) this.#root.replaceChildren(root, this.#said);
    };
    const drawing = this.#circumstances();
    const buttonsOf = (drawn: Drawn, kind: string, outermost: boolean): Button[] =>
      this.#buttons(drawn, kind, outermost);
    try {
      const shown = await drawView(this.#showsSource ? sourceOf(envelope) : view, drawing, buttonsOf, begun);
      if (!this.#showsSource) view = shown.view;
      this.#put(shown);
    } catch (error) {
      this.#put(await drawView(failed(envelope, error), drawing, buttonsOf));
    }
    return {
      type: typeOf(envelope),
      rung: view.renderedAs,
      reason: view.notices[0] ?? null,
      ms: performance.now() - started,
    };
  }

  #circumstances(): Drawing {
    const level = Number(this.getAttribute("heading-level"));
    const locale = this.closest<HTMLElement>("[lang]")?.lang || navigator.language;
    return {
      locale,
      quantity: quantityIn(locale),
      headingLevel: level >= 1 && level <= 6 ? Math.floor(level) : undefined,
      partial: this.hasAttribute("partial"),
      live: this.hasAttribute("live"),
      width: (this.clientWidth || DEFAULT_WIDTH) - CARD_EDGES,
      room: { views: 3, characters: 100_000, elements: 3_000 },
      choices: this.#choices,
      pause: pauses(),
    };
  }

  #put(shown: ShownView | undefined): void {
    const old = this.#shown;
    if (!shown) {
      this.#root.replaceChildren();
    } else if (old && GROWING.has(shown.kind) && old.kind === shown.kind) {
      grow(old.body, shown.body);
      old.head.replaceWith(shown.head);
      while (old.body.nextSibling) old.body.nextSibling.remove();
      while (shown.body.nextSibling) old.root.append(shown.body.nextSibling);
      this.#shown = { ...shown, root: old.root, body: old.body };
      return;
    } else if (!shown.root.isConnected) {
      this.#root.replaceChildren(shown.root, this.#said);
    }
    this.#shown = shown;
    this.#observer.disconnect();
    this.#widths.clear();
    for (const drawn of shown?.leaves ?? []) {
      if (!drawn.resize) continue;
      this.#widths.set(drawn.body, { drawn, width: -1 });
      this.#observer.observe(drawn.body);
    }
  }

  async #resized(entries: readonly ResizeObserverEntry[]): Promise<void> {
    const pause = pauses();
    for (const { target, contentRect } of entries) {
      const known = this.#widths.get(target);
      const width = Math.floor(contentRect.width);
      if (!known || known.width === width || width === 0) continue;
      known.width = width;
      await pause();
      if (this.#widths.get(target) === known) known.drawn.resize?.(width);
    }
  }

  readonly #beforePrint = (): void => {
    for (const { print } of this.#shown?.leaves ?? []) print?.(true);
  };

  readonly #afterPrint = (): void => {
    for (const { print } of this.#shown?.leaves ?? []) print?.(false);
  };

  #openedByHost(event: Event): void {
    const open = this.#host?.openLink;
    const link = event
      .composedPath()
      .find((target): target is HTMLAnchorElement => target instanceof HTMLAnchorElement);
    if (!open || !link?.href) return;
    event.preventDefault();
    open(link.href);
  }

  #buttons(drawn: Drawn, kind: string, outermost: boolean): Button[] {
    const { copied } = drawn;
    // Where there is a host, the page cannot save files by itself.
    const downloads = this.#host && !this.#host.download ? [] : (drawn.downloads ?? []);
    const buttons: Button[] = [];
    if (copied) buttons.push({ icon: "copy", label: "Copy", press: (button) => void this.#copy(button, copied()) });
    for (const { label: says, file } of downloads) {
      const icon = says.endsWith("SVG") ? "picture" : "download";
      buttons.push({ icon, label: says, press: () => save(file(), this.#host) });
    }
    if (!outermost) return buttons;
    buttons.push({ icon: "source", label: "Source", pressed: this.#showsSource, press: () => this.#toggleSource() });
    if (SMALL.has(kind)) return buttons;
    if (this.#host ? this.#host.requestFullscreen : document.fullscreenEnabled) {
      buttons.push({ icon: "fullscreen", label: "Full screen", press: () => this.#fillScreen() });
    }
    return buttons;
  }

  async #copy(button: HTMLButtonElement, text: string): Promise<void> {
    const allowed = await copy(text, this.#root);
    this.#said.textContent = allowed ? "Copied" : "The browser does not allow copying";
    if (allowed) confirm(button, "copy");
  }

  #toggleSource(): void {
    this.#showsSource = !this.#showsSource;
    this.#request();
    void this.#done.then(() => this.#root.querySelector<HTMLElement>("[aria-pressed]")?.focus());
  }

  #fillScreen(): void {
    if (this.#host?.requestFullscreen) this.#host.requestFullscreen();
    else if (document.fullscreenElement) void document.exitFullscreen();
    else this.requestFullscreen().catch(() => (this.#said.textContent = "The browser does not allow the full screen"));
  }
}

const quantities = new Map<string, Quantity>();

/** Returns how amounts are written in a locale. English needs no `Intl`, which takes long when it is used first. */
function quantityIn(locale: string): Quantity {
  if (/^en(?:-(?:US|GB))?$/i.test(locale)) return english;
  const known = quantities.get(locale) ?? inLocale(locale);
  quantities.set(locale, known);
  return known;
}

function planned(envelope: unknown): Planned {
  try {
    const view = plan(envelope);
    return XmcpDisplay.moreCharts?.(envelope, view, PARTS) ?? view;
  } catch (error) {
    return failed(envelope, error);
  }
}

function typeOf(envelope: unknown): string {
  const type = typeof envelope === "object" && envelope !== null && "type" in envelope ? envelope.type : undefined;
  return typeof type === "string" ? label(type, 64) : "";
}

function sourceOf(envelope: unknown): View {
  let source: string;
  try {
    source = JSON.stringify(envelope, null, 2);
  } catch {
    return { content: { kind: "json", value: envelope }, renderedAs: "json", title: null, alt: null, notices: [] };
  }
  return {
    content: { kind: "code", source, language: "json", filename: null },
    renderedAs: "code",
    title: null,
    alt: null,
    notices: [],
  };
}

/** Returns the view of an envelope that this renderer failed at: never an empty one. */
function failed(envelope: unknown, error: unknown): View {
  const notices = [`the display cannot be drawn: ${error instanceof Error ? error.message : String(error)}`];
  return { content: { kind: "json", value: envelope }, renderedAs: "json", title: null, alt: null, notices };
}
