/**
 * The room that the parts of one display share, so that a group costs no more than one long part, as
 * xmcp/render/view/room.py.
 *
 * Each part takes its room in the order in which they are drawn. Of one that needs more than is left the beginning is
 * shown, with a notice; it has at least the room of `LEAST`. A chart has no beginning: without room for it, the next step
 * of the fallback ladder is shown.
 */

import { first, lengthOf } from "./code_points.ts";
import { CannotShow, type Chart, type Content, type Facts, type Json, type Table } from "./content.ts";
import type { JsonObject } from "./json.ts";
import { measured } from "./markdown_size.ts";
import { count, total } from "./numerals.ts";
import { nodesOf, outline } from "./outline.ts";
import { LEAST, LIMITS, ROOM, WORDS } from "./tables.generated.ts";
import { firstOf } from "./wording.ts";

/** As much of a content as there is room for, and the notices about what is left out. */
export type Fitted = readonly [content: Content, notices: readonly string[]];
type Words = readonly [words: string, notices: readonly string[]];

/** The member that is a text, by kind. */
const TEXTS: Readonly<Record<string, string>> = {
  text: "text",
  markdown: "source",
  code: "source",
  html: "source",
  notification: "message",
  image: "alt",
};

/** What is left for the parts that are still to come. */
export class Room {
  #parts: number = LIMITS.PARTS;
  readonly #left = { ...ROOM } as Record<keyof typeof ROOM, number>;

  /** Take the room of one more part; return whether there is any. */
  hasPart(): boolean {
    return this.#parts-- > 0;
  }

  /**
   * Return a text, or its beginning for which there is room, and the notice about the rest. No more than `most` characters
   * of it are shown in any case.
   */
  words(text: string, most: number = LIMITS.CHARACTERS): Words {
    const wanted = lengthOf(first(text, most));
    const given = this.#take("characters", wanted);
    return given === wanted ? [text, []] : beginning(text, first(text, given));
  }

  /** Return as much of a content as there is room for. Throws CannotShow if it is a chart, and there is no room for it. */
  fitted(content: Content): Fitted {
    const { kind } = content;
    const name = TEXTS[kind];
    if (name) {
      const text = (content as unknown as JsonObject)[name] as string | null;
      if (text === null) return [content, []];
      const most = kind === "notification" || kind === "image" ? LIMITS.MESSAGE : LIMITS.CHARACTERS;
      const [words, notices] = kind === "markdown" ? this.#markdown(text) : this.words(text, most);
      return [{ ...content, [name]: words }, notices];
    }
    switch (kind) {
      case "json":
        return this.#json(content);
      case "table":
        return [this.#table(content), []];
      case "facts":
      case "metrics": {
        const { items } = content;
        const values = kind === "facts" ? 2 : 4;
        const shown = Math.floor(this.#take("values", items.length * values) / values);
        return [{ ...content, items: items.slice(0, shown) } as Facts, []];
      }
      case "bars":
      case "plot":
      case "pie":
      case "heat":
        this.#check(content);
    }
    return [content, []];
  }

  /** Return how much there is of what is wanted, and take it. */
  #take(kind: keyof typeof ROOM, wanted: number): number {
    const given = Math.min(wanted, Math.max(this.#left[kind], LEAST[kind]));
    this.#left[kind] -= given;
    return given;
  }

  #markdown(source: string): Words {
    const words = this.words(source);
    const pieces = measured(words[0], ROOM.pieces)[1];
    const given = this.#take("pieces", pieces);
    return given === pieces ? words : beginning(source, first(source, measured(words[0], given)[0] || given));
  }

  #json(content: Json): Fitted {
    const nodes = nodesOf(content.value, LIMITS.JSON_NODES);
    const given = this.#take("values", nodes);
    if (given === nodes) return [content, []];
    const source = outline(content.value, "  ", given)[0];
    return [{ kind: "code", source, language: "json", filename: null }, [WORDS.JSON_IS_CUT]];
  }

  #table(table: Table): Table {
    const { columns, rows, totalRows } = table;
    const wanted = Math.min(rows.length, LIMITS.TABLE_ROWS) * columns.length;
    const given = this.#take("values", wanted);
    if (given === wanted) return table;
    const shown = rows.slice(0, Math.floor(given / columns.length));
    return { ...table, rows: shown, totalRows: Math.max(totalRows ?? 0, rows.length) };
  }

  #check(chart: Chart): void {
    const values = valuesOf(chart);
    const wanted = Math.min(values * 2, ROOM.values);
    if (wanted > Math.max(this.#left.values, LEAST.values)) {
      throw new CannotShow(`what stands before it leaves no room for its ${count(values)} values`);
    }
    this.#take("values", wanted);
  }
}

function beginning(text: string, start: string): Words {
  return [start, [firstOf(lengthOf(start), lengthOf(text), "characters")]];
}

function valuesOf(chart: Chart): number {
  switch (chart.kind) {
    case "bars":
      return chart.categories.length * chart.series.length;
    case "plot":
      return total(chart.series.map((series) => series.points.length));
    case "pie":
      return chart.slices.length;
    case "heat":
      return chart.rows.length * chart.columns.length;
  }
}
