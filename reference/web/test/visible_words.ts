/**
 * Every string that a view shows, in reading order, as reference/tests/support/visible_words.py: so that the words of both
 * view layers can be compared without a terminal and without a page.
 */

import { barTicks, chartTable, isScatter, ruleLabel, seriesLabel, sharesOf, xAxis, yTicks } from "../src/view/charts.ts";
import type { Chart, Content, Table, View } from "../src/view/content.ts";
import { hostOf, link } from "../src/view/links.ts";
import { asSent, english } from "../src/view/numerals.ts";
import { columnsMissing, columnsOf, rowsMissing } from "../src/view/tables.ts";
import { isBlank, label, visible } from "../src/view/untrusted.ts";
import * as wording from "../src/view/wording.ts";

const ROWS = 200;
const NODES = 500;
const { WORDS } = wording;

export function visibleWords(view: View): string[] {
  const title = view.title === null ? [] : [label(view.title)];
  return [...title, ...contentWords(view.content), ...view.notices.map((notice) => label(notice))];
}

function contentWords(content: Content): string[] {
  switch (content.kind) {
    case "text":
      return textWords(content.text);
    case "markdown":
      return textWords(content.source);
    case "code":
      return present(wording.codeHeading(content), ...textWords(content.source));
    case "html":
      return [...textWords(content.source), WORDS.HTML_IS_SOURCE];
    case "json": {
      const [text, notice] = wording.jsonText(content, NODES);
      return present(visible(text), notice);
    }
    case "table":
      return tableWords(content);
    case "image": {
      const description = wording.imageDescription(content) ?? WORDS.NO_DESCRIPTION;
      return present(description, wording.imageFacts(content), ...(wording.isInline(content) ? [] : linkWords(content.src)));
    }
    case "notification": {
      const [text, notice] = wording.message(content);
      return present(wording.LEVELS[content.level], isBlank(text) ? WORDS.NOTHING : text, notice);
    }
    case "facts":
      return present(...content.items.flatMap(([name, value]) => [label(name), wording.scalar(value) ?? WORDS.NO_VALUE]), wording.itemsMissing(content));
    case "metrics": {
      const words = content.items.flatMap((one) => [label(one.label), ...wording.amount(one), ...wording.change(one)]);
      return present(...words, wording.itemsMissing(content));
    }
    case "file":
      return present(wording.fileName(content), wording.fileFacts(content), ...linkWords(content.uri));
    case "group":
      return content.views.flatMap(visibleWords);
    default:
      return chartWords(content);
  }
}

function textWords(text: string): string[] {
  const [start, notice] = wording.beginning(text);
  return present(isBlank(start) ? WORDS.NOTHING : visible(start), notice);
}

function linkWords(uri: string): string[] {
  const address = link(uri);
  return address === null ? [WORDS.NO_LINK] : [address, hostOf(address)];
}

function tableWords(table: Table): string[] {
  const columns = columnsOf(table, ROWS);
  const rows = Math.min(table.rows.length, ROWS);
  const words = columns.flatMap((column) => [
    column.title,
    `${column.align}${column.numeric ? " numeric" : ""}${column.header ? " header" : ""}`,
    ...Array.from({ length: rows }, (_, row) => column.cell(row) ?? WORDS.NO_VALUE),
  ]);
  const caption = table.caption === null ? [] : [visible(table.caption)];
  return present(...words, ...caption, rowsMissing(table, ROWS), columnsMissing(table, table.columns.length));
}

function chartWords(chart: Chart): string[] {
  const words = [wording.chartDescription(chart), ...tableWords(chartTable(chart))];
  if (chart.kind === "bars") {
    words.push(...barTicks(chart).map(english), ...chart.rules.map((rule) => ruleLabel(rule)));
    words.push(wording.categoriesMissing(chart));
  } else if (chart.kind === "plot") {
    const [axis, places] = xAxis(chart);
    words.push(...yTicks(chart).map(english), ...yTicks(chart, true).map(english), asSent(axis.low), asSent(axis.high));
    words.push(...places.map(([, name]) => name), ...chart.series.map((series) => seriesLabel(series)));
    words.push(...chart.rules.map((rule) => ruleLabel(rule)), isScatter(chart) ? "points" : "lines");
  } else if (chart.kind === "pie") {
    words.push(...sharesOf(chart));
  }
  return present(...words);
}

function present(...words: (string | null)[]): string[] {
  return words.filter((word): word is string => Boolean(word));
}
