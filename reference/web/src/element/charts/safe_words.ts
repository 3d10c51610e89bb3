// A chart with every name in it safe to show, and its rules with the words that stand beside them.
import { ruleLabel } from "../../view/charts.ts";
import type { Chart, Rule } from "../../view/content.ts";
import type { Quantity } from "../../view/numerals.ts";
import { label } from "../../view/untrusted.ts";

const LONGEST_NAME = 80;

function safe(name: string): string {
  return label(name, LONGEST_NAME);
}

function named<T extends { readonly name: string | null }>(series: readonly T[]): T[] {
  return series.map((one) => ({ ...one, name: one.name === null ? null : safe(one.name) }));
}

/** Returns the chart to draw. */
export function withSafeWords(chart: Chart, quantity: Quantity): Chart {
  const ruled = (rules: readonly Rule[]): Rule[] => rules.map((rule) => ({ ...rule, label: ruleLabel(rule, quantity) }));
  switch (chart.kind) {
    case "bars":
      return {
        ...chart,
        categories: chart.categories.map(safe),
        series: named(chart.series),
        lines: named(chart.lines),
        rules: ruled(chart.rules),
        categoryTitle: safe(chart.categoryTitle),
        valueTitle: safe(chart.valueTitle),
      };
    case "plot":
      return {
        ...chart,
        series: named(chart.series),
        xLabels: chart.xLabels.map(([x, name]) => [x, safe(name)] as const),
        rules: ruled(chart.rules),
        xTitle: safe(chart.xTitle),
        yTitle: safe(chart.yTitle),
      };
    case "pie":
      return {
        ...chart,
        slices: chart.slices.map(([name, value]) => [safe(name), value] as const),
        categoryTitle: safe(chart.categoryTitle),
        valueTitle: safe(chart.valueTitle),
      };
    case "heat":
      return {
        ...chart,
        columns: chart.columns.map(safe),
        rows: chart.rows.map(safe),
        xTitle: safe(chart.xTitle),
        yTitle: safe(chart.yTitle),
        valueTitle: safe(chart.valueTitle),
      };
  }
}
