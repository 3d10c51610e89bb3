// Charts that the element does not draw itself: another file, which a page can load, draws them (src/vega).
import type { View } from "../view/content.ts";
import { readChart } from "../view/vega_lite_charts.ts";
import { svgFile } from "./charts/svg_file.ts";
import type { Drawing, Drawn } from "./drawing.ts";
import { commaSeparated, tabSeparated } from "./table/saved_table.ts";
import { drawTable } from "./table/table.ts";

/** A step of the ladder that is shown unless a chart can be drawn elsewhere. */
export interface Planned extends View {
  /** Draws the chart; rejected with a sentence that says why it cannot. */
  readonly elsewhere?: (drawing: Drawing, path: string) => Promise<Drawn>;
  /** The chart, once it is drawn. */
  readonly drawn?: Drawn;
}

/** What the other file uses of this one. */
export const PARTS = { readChart, drawTable, svgFile, commaSeparated, tabSeparated };

/** Returns the view of an envelope, with `elsewhere` at each chart that the element refused and the file draws. */
export type MoreCharts = (envelope: unknown, view: View, parts: typeof PARTS) => Planned;

/** Of a view that is drawn already: a card, whose content is not asked for. */
const NOTHING_ELSE = { kind: "json", value: null } as const;

/** Returns the view of a chart: drawn elsewhere, or the step of the ladder with one more reason. */
export async function drawnElsewhere(view: Planned, drawing: Drawing, path: string): Promise<Planned> {
  try {
    const drawn = await view.elsewhere!(drawing, path);
    return { ...view, drawn, content: NOTHING_ELSE, renderedAs: "chart", notices: [] };
  } catch (reason) {
    return { ...view, notices: [...view.notices, String((reason as Error).message)] };
  }
}
