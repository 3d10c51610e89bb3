/**
 * What a chart shows: the ticks and scale of each axis, the places on the x axis with a name, its numbers as a table, as
 * xmcp/render/view/charts.py.
 *
 * Pure functions over the charts of content.ts. Pixels and colours are the element's.
 */

import type { Bars, Chart, Pie, Plot, Rule, Series, Table } from "./content.ts";
import { english, range, tenths, ticks, total, type Quantity } from "./numerals.ts";
import { label } from "./untrusted.ts";

const TICKS = 5;

/** Return the share of each slice in percent. */
export function sharesOf(pie: Pie, quantity: Quantity = english): string[] {
  const whole = total(pie.slices.map(([, value]) => value));
  return pie.slices.map(([, value]) => `${quantity(tenths((value / whole) * 100))} %`);
}

/** A scale from `low` to `high`. */
export interface Axis {
  readonly low: number;
  readonly high: number;
}

/** Return how far `value` lies from the low end of an axis, from 0 to 1. */
export function shareOf(axis: Axis, value: number): number {
  const span = axis.high - axis.low;
  return span ? Math.min(Math.max((value - axis.low) / span, 0), 1) : 0.5;
}

/**
 * Return the round values on the y axis; the axis goes from the first to the last.
 *
 * `stacked` says whether the areas are drawn on top of each other, if the plot asks for it.
 */
export function yTicks(plot: Plot, stacked = false): number[] {
  const values = plot.series.flatMap((series) => series.points.map(([, y]) => y));
  if (stacked && plot.stacked) {
    const totals = new Map<number, number>();
    for (const series of plot.series) {
      if (series.mark !== "area") continue;
      for (const [x, y] of series.points) totals.set(x, (totals.get(x) ?? 0) + y);
    }
    values.push(...totals.values());
  }
  values.push(...plot.rules.filter((rule) => rule.axis === "y").map((rule) => rule.value));
  if (plot.fromZero || plot.series.some((series) => series.mark === "area")) values.push(0);
  return ticks(...range(values), TICKS);
}

/** Return the round values on the axis of values; the axis goes from the first to the last, and has zero on it. */
export function barTicks(bars: Bars): number[] {
  const values = [0, ...bars.rules.map((rule) => rule.value)];
  bars.categories.forEach((_, at) => values.push(...heaps(bars, at)));
  for (const line of bars.lines) values.push(...line.values.filter((value) => value !== null));
  return ticks(...range(values), TICKS);
}

/** Return how far the bars of a category reach: below and above zero together, or each alone. */
function heaps(bars: Bars, at: number): readonly number[] {
  const values = bars.series.map((one) => one.values[at] ?? null).filter((value) => value !== null);
  return bars.grouped ? values : [total(values.filter((value) => value < 0)), total(values.filter((value) => value > 0))];
}

/** Return the x axis and the places on it that have a name. */
export function xAxis(plot: Plot, quantity: Quantity = english): [Axis, (readonly [x: number, name: string])[]] {
  const values = plot.series.flatMap((series) => series.points.map(([x]) => x));
  values.push(...plot.rules.filter((rule) => rule.axis === "x").map((rule) => rule.value));
  const [low, high] = range(values);
  if (plot.xLabels.length) return [{ low, high }, plot.xLabels.map(([x, name]) => [x, label(name, 24)])];
  const steps = ticks(low, high, TICKS);
  return [{ low: steps[0]!, high: steps.at(-1)! }, steps.map((x) => [x, quantity(x)])];
}

/** Tell whether a plot has nothing but points. */
export function isScatter(plot: Plot): boolean {
  return plot.series.every((series) => series.mark === "point");
}

/** Return the name of a series, followed by its last value if it is a line or an area. */
export function seriesLabel(series: Series, quantity: Quantity = english): string {
  const last = series.mark === "point" ? "" : quantity(series.points.at(-1)![1]);
  return [label(series.name ?? "", 40), last].filter(Boolean).join(" ");
}

/** Return the words of a rule: what it marks and its value. */
export function ruleLabel(rule: Rule, quantity: Quantity = english): string {
  return [label(rule.label ?? "", 40), rule.moment ?? quantity(rule.value)].filter(Boolean).join(" ");
}

/** Return the numbers of a chart as a table, for everyone who cannot see it. */
export function chartTable(chart: Chart): Table {
  switch (chart.kind) {
    case "bars": {
      const series = [...chart.series, ...chart.lines];
      return table(
        chart.categoryTitle,
        series.map((one) => one.name || chart.valueTitle),
        chart.categories.map((name, at) => [name, ...series.map((one) => one.values[at] ?? null)]),
      );
    }
    case "plot": {
      const names = new Map(chart.xLabels);
      const places = new Map<number, (number | null)[][]>();
      chart.series.forEach((one, nth) => {
        const used = new Map<number, number>(); // of the rows of each place
        for (const [x, y] of one.points) {
          const rows = places.get(x) ?? [];
          const at = used.get(x) ?? 0;
          (rows[at] ??= chart.series.map(() => null))[nth] = y;
          used.set(x, at + 1);
          places.set(x, rows);
        }
      });
      return table(
        chart.xTitle,
        chart.series.map((one) => one.name || chart.yTitle),
        [...places]
          .sort(([a], [b]) => a - b)
          .flatMap(([x, rows]) => rows.map((values) => [names.get(x) ?? x, ...values])),
      );
    }
    case "pie": {
      const shares = sharesOf(chart);
      return table(
        chart.categoryTitle,
        [chart.valueTitle, "%"],
        chart.slices.map(([name, value], nth) => [name, value, shares[nth]]),
      );
    }
    case "heat":
      return table(
        chart.yTitle,
        chart.columns,
        chart.rows.map((name, nth) => [name, ...chart.values[nth]!]),
      );
  }
}

function table(first: string, others: readonly string[], rows: readonly (readonly unknown[])[]): Table {
  return {
    kind: "table",
    columns: [
      { title: first, align: "left", grouped: false, header: true },
      ...others.map((title) => ({ title, align: "right", grouped: true, header: false }) as const),
    ],
    rows,
    caption: null,
    totalRows: null,
    truncated: false,
    further: [],
  };
}
