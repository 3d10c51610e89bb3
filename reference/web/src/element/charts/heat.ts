// A grid of cells, the stronger the colour the larger the value.
import type { Heat } from "../../view/content.ts";
import { range } from "../../view/numerals.ts";
import { svg } from "../dom.ts";
import type { ChartWords, Sketch } from "./chart.ts";
import * as frame from "./frame.ts";

const LOWEST = 0.08;
const CELL_HEIGHT = 26;
/** In a grid of more cells, their numbers are said by the pointer alone. */
const MOST_NUMBERS = 2_000;

/** Returns the chart in `width` pixels. */
export function drawHeat(heat: Heat, width: number, words: ChartWords): Sketch {
  const [low, high] = range(heat.values.flat().filter((value) => value !== null));
  const names = heat.rows.map((name) => frame.shortened(name, Math.max(width * 0.3, 50)));
  const top = heat.yTitle ? 24 : 4;
  const box = { left: frame.leftMargin(names), right: width - 2, top, bottom: top + CELL_HEIGHT * heat.rows.length };
  const cell = (box.right - box.left) / heat.columns.length;
  const strength = frame.scale(low, high, LOWEST, 1);
  const cells = heat.values.flatMap((row, y) =>
    row.flatMap((value, x) => {
      if (value === null) return [];
      const [left, above, opacity] = [box.left + x * cell, box.top + y * CELL_HEIGHT, strength(value)];
      const size = {
        x: frame.rounded(left + 0.5),
        y: above + 0.5,
        width: frame.rounded(Math.max(cell - 1, 0.5)),
        height: CELL_HEIGHT - 1,
      };
      const mark = svg("rect", {
        ...size,
        rx: 2,
        class: "mark series-1",
        "fill-opacity": Math.round(opacity * 100) / 100,
      });
      const label = words.quantity(value);
      if (heat.rows.length * heat.columns.length > MOST_NUMBERS || frame.textWidth(label) > cell - 6) return [mark];
      const tone = opacity > 0.89 ? "value inside" : opacity > 0.65 ? "value between" : "value";
      return [
        mark,
        frame.text(left + cell / 2, above + CELL_HEIGHT / 2 + 4, label, { "text-anchor": "middle", class: tone }),
      ];
    }),
  );
  const columns = heat.columns.map(
    (name, at) => [box.left + cell * (at + 0.5), frame.shortened(name, Math.max(cell * 1.5, 50))] as const,
  );
  const kept = frame.spaced(columns);
  const labels = [
    ...columns.flatMap(([x, name], at) => (kept.has(at) ? [frame.below(box, x, name)] : [])),
    ...names.map((name, at) =>
      frame.text(box.left - 8, box.top + CELL_HEIGHT * (at + 0.5) + 4, name, { "text-anchor": "end", class: "tick" }),
    ),
  ];
  const height = box.bottom + (heat.xTitle ? 42 : 24);
  return {
    picture: frame.picture(
      width,
      height,
      words.alt,
      ...cells,
      ...labels,
      ...frame.axisTitles(box, heat.yTitle, heat.xTitle),
    ),
    tip: (px, py) => {
      const [x, y] = [Math.floor((px - box.left) / cell), Math.floor((py - box.top) / CELL_HEIGHT)];
      const value = heat.values[y]?.[x];
      if (value === null || value === undefined) return undefined;
      return {
        title: `${heat.rows[y] ?? ""} · ${heat.columns[x] ?? ""}`,
        lines: [{ series: 0, words: words.named(heat.valueTitle || null, value) }],
      };
    },
  };
}
