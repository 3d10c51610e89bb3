// What a host of MCP Apps says of itself: theme, style, language, room. Pure; a change has some of the members.
import { isObject } from "./json.ts";

export interface HostContext {
  readonly theme: "light" | "dark" | "auto";
  /** BCP 47; empty if the host did not say. */
  readonly locale: string;
  readonly displayMode: string;
  readonly availableDisplayModes: readonly string[];
  /** Custom properties of CSS, name and value, all harmless. */
  readonly variables: ReadonlyMap<string, string>;
  /** CSS pixels at each edge that something else can cover. */
  readonly safeArea: { readonly top: number; readonly right: number; readonly bottom: number; readonly left: number };
}

export const NO_CONTEXT: HostContext = {
  theme: "auto",
  locale: "",
  displayMode: "inline",
  availableDisplayModes: [],
  variables: new Map(),
  safeArea: { top: 0, right: 0, bottom: 0, left: 0 },
};

/** Returns the context after a change; what is not as MCP Apps has it changes nothing. */
export function afterChange(before: HostContext, change: unknown): HostContext {
  if (!isObject(change)) return before;
  const { theme, locale, displayMode, availableDisplayModes, styles, safeAreaInsets } = change;
  return {
    theme: theme === "light" || theme === "dark" ? theme : before.theme,
    locale: typeof locale === "string" && LANGUAGE_TAG.test(locale) ? locale : before.locale,
    displayMode: typeof displayMode === "string" ? displayMode : before.displayMode,
    availableDisplayModes: Array.isArray(availableDisplayModes)
      ? availableDisplayModes.filter((mode) => typeof mode === "string").slice(0, MOST_MODES)
      : before.availableDisplayModes,
    variables: isObject(styles) ? withVariables(before.variables, styles["variables"]) : before.variables,
    safeArea: isObject(safeAreaInsets) ? insets(safeAreaInsets) : before.safeArea,
  };
}

const LANGUAGE_TAG = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,8}$/;
const MOST_MODES = 8;
const MOST_VARIABLES = 300;
const WIDEST_INSET = 200;

/** The families of variables that MCP Apps has. */
const VARIABLE = /^--(?:color|font|border|shadow)-[a-z0-9-]{1,60}$/;
/** Functions that load something, and the characters with which a value could end or hide one. */
const UNSAFE_VALUE = /[;{}@\\<>]|(?:url|src|image|image-set|cross-fade|element|paint)\(|\/\*/i;
const LONGEST_VALUE = 500;

function withVariables(before: ReadonlyMap<string, string>, given: unknown): ReadonlyMap<string, string> {
  if (!isObject(given)) return before;
  const variables = new Map(before);
  for (const [name, value] of Object.entries(given)) {
    if (VARIABLE.test(name) && isSafe(value) && (variables.has(name) || variables.size < MOST_VARIABLES)) {
      variables.set(name, value);
    }
  }
  return variables;
}

function isSafe(value: unknown): value is string {
  return typeof value === "string" && value.length <= LONGEST_VALUE && !UNSAFE_VALUE.test(value);
}

function insets(given: Record<string, unknown>): HostContext["safeArea"] {
  const inset = (side: string) => {
    const pixels = given[side];
    return typeof pixels === "number" && pixels > 0 ? Math.min(pixels, WIDEST_INSET) : 0;
  };
  return { top: inset("top"), right: inset("right"), bottom: inset("bottom"), left: inset("left") };
}
