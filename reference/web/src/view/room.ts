/**
 * The room that the parts of one display share, so that a group costs no more than one long part, as
 * xmcp/render/view/room.py.
 *
 * Each part takes its room in the order in which they are drawn. Of one that needs more than is left the beginning is
 * shown, with a notice; it has at least the room of `LEAST`. A chart has no beginning: without room for it, the next step
 * of the fallback ladder is shown.
 */

import { first, lengthOf } from "./code_points.ts";
import { CannotShow, type Chart, type Content, type Json, type Table } from "./content.ts";
import { measured } from "./markdown_size.ts";
import { count, total } from "./numerals.ts";
import { nodesOf, outline } from "./outline.ts";
import { LEAST, LIMITS, ROOM, WORDS } from "./tables.generated.ts";
import { firstOf } from "./wording.ts";

/** As much of a content as there is room for, and the notices about what is left out. */
export type Fitted = readonly [content: Content, notices: readonly string[]];
type Words = readonly [words: string, notices: readonly string[]];

/** What is left for the parts that are still to come. */
export class Room {
  #parts: number = LIMITS.PARTS;
  readonly #left = { ...ROOM } as Record<keyof typeof ROOM, number>;

  /** Take the room of one more part; return whether there is any. */
  hasPart(): boolean {
    return this.#parts-- > 0;
  }

  /** Return a text, or its beginning for which there is room, and the notice about the rest. */
  words(text: string): Words {
    const most = first(text, ROOM.characters);
    const wanted = lengthOf(most);
    const given = this.#take("characters", wanted);
    return given === wanted ? [text, []] : beginning(text, first(text, given));
  }

  /** Return as much of a content as there is room for. Throws CannotShow if it is a chart, and there is no room for it. */
  fitted(content: Content): Fitted {
    switch (content.kind) {
      case "text": {
        const [text, notices] = this.words(content.text);
        return [{ ...content, text }, notices];
      }
      case "markdown": {
        const [source, notices] = this.#markdown(content.source);
        return [{ ...content, source }, notices];
      }
      case "code":
      case "html": {
        const [source, notices] = this.words(content.source);
        return [{ ...content, source }, notices];
      }
      case "notification": {
        const [message, notices] = this.words(content.message);
        return [{ ...content, message }, notices];
      }
      case "image": {
        if (content.alt === null) break;
        const [alt, notices] = this.words(content.alt);
        return [{ ...content, alt }, notices];
      }
      case "json":
        return this.#json(content);
      case "table":
        return [this.#table(content), []];
      case "facts": {
        const [items, notices] = this.#items(content.items, 2, "facts");
        return [{ ...content, items }, notices];
      }
      case "metrics": {
        const [items, notices] = this.#items(content.items, 4, "metrics");
        return [{ ...content, items }, notices];
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
    return given === pieces ? words : beginning(source, source.slice(0, measured(words[0], given)[0]));
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

  /** Return the facts or metrics there is room for, each of so many values, and the notice. */
  #items<Item>(items: readonly Item[], values: number, what: string): readonly [readonly Item[], readonly string[]] {
    const wanted = Math.min(items.length, LIMITS.ITEMS);
    const shown = Math.floor(this.#take("values", wanted * values) / values);
    return shown === wanted ? [items, []] : [items.slice(0, shown), [firstOf(shown, items.length, what)]];
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
