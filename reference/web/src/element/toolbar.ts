// The buttons of a display: copy, download, source, the whole screen.
import { html } from "./dom.ts";
import { icon, type Icon } from "./icons.ts";

export interface Button {
  readonly icon: Icon;
  readonly label: string;
  /** Tells whether the button is pressed; undefined for one that only acts. */
  readonly pressed?: boolean;
  press(button: HTMLButtonElement): void;
}

/** Returns the bar of these buttons; null if there are none. */
export function toolbar(buttons: readonly Button[]): HTMLElement | null {
  if (buttons.length === 0) return null;
  const made = buttons.map(({ icon: sign, label, pressed, press }) => {
    const button = html(
      "button",
      { type: "button", title: label, "aria-label": label, "aria-pressed": pressed?.toString() },
      icon(sign),
    );
    button.addEventListener("click", () => press(button));
    return button;
  });
  return html("div", { class: "toolbar", role: "group", "aria-label": "Actions" }, ...made);
}

const CONFIRMED_MS = 1500;

/** Shows for a moment that the button did what it says. */
export function confirm(button: HTMLButtonElement, before: Icon): void {
  button.replaceChildren(icon("done"));
  setTimeout(() => button.replaceChildren(icon(before)), CONFIRMED_MS);
}
