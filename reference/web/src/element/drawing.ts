// What every drawer gets and gives back.
import type { Quantity } from "../view/numerals.ts";
import type { Pause } from "../view/payloads.ts";

/** What the page does in place of the element where the element itself is not allowed to, as in a sandboxed frame. */
export interface Host {
  openLink?(url: string): void;
  download?(name: string, mediaType: string, text: string): void;
  requestFullscreen?(): void;
}

/** The circumstances of one drawing. */
export interface Drawing {
  /** BCP 47: the language of the reader, by whose rules texts are ordered. */
  readonly locale: string;
  /** Writes amounts in the conventions of the reader. */
  readonly quantity: Quantity;
  /** The `aria-level` of the title; undefined if it is no heading. */
  readonly headingLevel: number | undefined;
  /** True while more of the envelope is to come: nothing in it can be followed or loaded. */
  readonly partial: boolean;
  /** True if the display has just happened, so that a screen reader says its notifications. */
  readonly live: boolean;
  /** CSS pixels that the display can take. */
  readonly width: number;
  /** What all Markdown in the display can still take. */
  readonly room: Room;
  /** What the person chose in an earlier drawing of the same display (an order of rows, a filter), by place. */
  readonly choices: Map<string, unknown>;
  readonly pause: Pause;
}

/** How much of a display is drawn at once: Markdown costs more than any other text. */
export interface Room {
  /** Those after them are laid out when they come into sight. */
  views: number;
  characters: number;
  elements: number;
}

export interface SavedFile {
  readonly name: string;
  readonly mediaType: string;
  readonly text: string;
}

/** A button of the toolbar that gives a file. */
export interface Download {
  /** What the button says, such as `Download CSV`. */
  readonly label: string;
  file(): SavedFile;
}

/** A content that was drawn. */
export interface Drawn {
  readonly body: HTMLElement;
  /** Text for the clipboard. */
  readonly copied?: () => string;
  readonly downloads?: readonly Download[];
  /** Sentences of this renderer about what it left out. */
  readonly notices?: readonly string[];
  /** Draws again in another width. */
  readonly resize?: (width: number) => void;
  /** Shows everything for the printer (true), or what it showed before. */
  readonly print?: (printing: boolean) => void;
}

const LONGEST_BLOCK_MS = 30;
/** Returns a `pause` that lets the page answer whenever about 30 ms of work are done. */
export function pauses(): Pause {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < LONGEST_BLOCK_MS) return;
    await nextTask();
    since = performance.now();
  };
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(undefined);
  });
}
