/**
 * From a Vega-Lite specification to a chart: bars, lines, areas, points, a circle or a grid, also in layers, as
 * xmcp/render/view/vega_lite_charts.py.
 *
 * The shapes `CHART` of tables.generated.ts list what is understood; a specification with anything else is refused.
 * Nothing is fetched or evaluated (spec section 3.3).
 */

import { compare } from "./code_points.ts";
import {
  CannotShow,
  type Bars,
  type CategorySeries,
  type Chart,
  type Heat,
  type Mark,
  type Pie,
  type Plot,
  type Rule,
  type Series,
} from "./content.ts";
import { isObject, member, type JsonObject } from "./json.ts";
import { count, english, total } from "./numerals.ts";
import { fault } from "./shapes.ts";
import { BY_VALUE, CHART, LIMITS, MARKS } from "./tables.generated.ts";
import { nameOf, secondsOf } from "./timestamps.ts";

type Kind = "quantitative" | "temporal" | "ordinal" | "nominal";
/** A value that names a category. */
type Key = string | number;

/** One mark with its data and its encoding. */
interface Unit {
  readonly mark: string;
  readonly hole: boolean;
  readonly encoding: JsonObject;
  readonly rows: readonly JsonObject[];
}

interface Channel {
  readonly field: string;
  readonly kind: Kind;
  readonly title: string;
  readonly aggregate: string | null;
  readonly sort: unknown;
  readonly fromZero: boolean;
  readonly stack: unknown;
}

/** A channel of colours, the name of the only series, or neither. */
type Color = Channel | string | null;

interface Cell {
  readonly key: Key;
  readonly name: Key | null;
  readonly value: number;
}

const COMBINED: Readonly<Record<string, (values: readonly number[]) => number>> = {
  sum: total,
  count: total,
  mean,
  average: mean,
  median,
  min: (values) => values.reduce((a, b) => (b < a ? b : a)),
  max: (values) => values.reduce((a, b) => (b > a ? b : a)),
};
const FIRST_OF_MONTH = /^\d{4}-\d\d(-01)?$/;
const LARGEST = 1e300;

/** Return the chart that `payload` describes. Throws CannotShow if it has a part that is not listed or does not fit. */
export function readChart(payload: unknown): Chart {
  if (!isObject(payload)) throw new CannotShow("the specification is not an object");
  const wrong = fault(CHART, "chart", payload);
  if (wrong !== null) throw new CannotShow(wrong);
  const units = unitsOf(payload);
  const charts = units.filter((unit) => unit.mark !== "rule");
  const first = charts[0];
  if (!first) throw new CannotShow("mark is missing");
  const rules = units.filter((unit) => unit.mark === "rule").flatMap((unit) => rulesOf(unit, first));
  if (rules.length > LIMITS.CHART_SERIES) throw tooMany(rules.length, "rules");
  if (charts.every((unit) => ["line", "area", "point"].includes(unit.mark))) return plotOf(charts, rules);
  const over = charts.slice(1);
  if (first.mark === "bar" && over.every((unit) => ["line", "point"].includes(unit.mark))) return barsOf(first, over, rules);
  if (units.length > 1) throw notTogether();
  return first.mark === "arc" ? pieOf(first) : heatOf(first);
}

/** Return the title inside the specification, null if it has none or not as text. */
export function chartTitle(payload: unknown): string | null {
  const written = isObject(payload) ? member(payload, "title") : null;
  const title = isObject(written) ? member(written, "text") : written;
  return typeof title === "string" ? title : null;
}

function notTogether(): CannotShow {
  return new CannotShow("these layers are not drawn together");
}

function tooMany(found: number, what: string): CannotShow {
  return new CannotShow(`${count(found)} ${what} are too many; at most ${LIMITS.CHART_SERIES} are drawn`);
}

/** Return a member of an object whose shape was checked before. */
function part<Value>(value: JsonObject, name: string): Value | undefined {
  return member(value, name) as Value | undefined;
}

function unitsOf(spec: JsonObject): Unit[] {
  const layers = part<JsonObject[]>(spec, "layer");
  if (layers && part(spec, "mark") !== undefined) throw new CannotShow("mark beside layer is not drawn");
  return (layers ?? [spec]).map((layer) => {
    const mark = part<string | JsonObject>(layer, "mark");
    if (mark === undefined) throw new CannotShow("mark is missing");
    const name = typeof mark === "string" ? mark : part<string>(mark, "type")!;
    return {
      mark: MARKS[name]!,
      hole: typeof mark !== "string" && Boolean(numberOf(part(mark, "innerRadius"))),
      encoding: { ...part<JsonObject>(spec, "encoding"), ...part<JsonObject>(layer, "encoding") },
      rows: rowsOf(spec, part<JsonObject>(layer, "data") ?? part<JsonObject>(spec, "data")),
    };
  });
}

function rowsOf(spec: JsonObject, data: JsonObject | undefined): readonly JsonObject[] {
  if (!data) throw new CannotShow("data is missing");
  const datasets = part<JsonObject>(spec, "datasets") ?? {};
  const values = part<JsonObject[]>(data, "values") ?? part<JsonObject[]>(datasets, part<string>(data, "name") ?? "");
  if (!values) throw new CannotShow("data.values is missing");
  return values;
}

function channelOf(unit: Unit, name: string): Channel {
  const channel = part<JsonObject | null>(unit.encoding, name);
  if (!channel) throw new CannotShow(`encoding.${name} is missing`);
  const aggregate = part<string | null>(channel, "aggregate") ?? null;
  const field = aggregate === "count" ? "" : part<string>(channel, "field");
  if (field === undefined) throw new CannotShow(`encoding.${name} names no field`);
  const sort = part(channel, "sort");
  const stack = part(channel, "stack");
  return {
    field,
    kind: part<Kind>(channel, "type") ?? (aggregate ? "quantitative" : guess(unit.rows, field)),
    title: titleOf(channel, defaultTitle(field, aggregate)),
    aggregate,
    sort: sort === undefined ? "ascending" : sort,
    fromZero: part<boolean>(part<JsonObject | null>(channel, "scale") ?? {}, "zero") !== false,
    stack: stack === undefined ? "zero" : stack,
  };
}

/** Return the title of a channel or of its axis or legend, which can be none at all. */
function titleOf(channel: JsonObject, byDefault: string): string {
  const guide = part<JsonObject | null>(channel, "axis") ?? part<JsonObject | null>(channel, "legend") ?? {};
  const titles = [part<string | null>(channel, "title"), part<string | null>(guide, "title"), byDefault];
  return titles.find((title) => title !== undefined) ?? "";
}

function defaultTitle(field: string, aggregate: string | null): string {
  if (aggregate === null) return field;
  return aggregate === "count" ? "Count" : `${aggregate.charAt(0).toUpperCase()}${aggregate.slice(1)} of ${field}`;
}

function guess(rows: readonly JsonObject[], field: string): Kind {
  const present = rows.map((row) => member(row, field) ?? null).filter((value) => value !== null);
  return present.length && present.every((value) => typeof value === "number") ? "quantitative" : "nominal";
}

function colorOf(unit: Unit): Color {
  const color = part<JsonObject | null>(unit.encoding, "color");
  if (!color || !["field", "aggregate", "datum"].some((name) => part(color, name) !== undefined)) return null;
  const datum = part(color, "datum");
  if (datum !== undefined) return keyName(datum);
  const channel = channelOf(unit, "color");
  if (channel.aggregate !== null || channel.kind === "quantitative") {
    throw new CannotShow("a colour scale is drawn only in a grid");
  }
  return channel;
}

function isChannel(color: Color): color is Channel {
  return typeof color === "object" && color !== null;
}

/** Return the category of a row, null if its value names none. */
function keyOf(channel: Channel, row: JsonObject): Key | null {
  const value = member(row, channel.field);
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" ? value : numberOf(value);
}

/** Return the number of a row, null if it has none: then it is left out, as in Vega-Lite. */
function valueOf(channel: Channel, row: JsonObject): number | null {
  return channel.aggregate === "count" ? 1 : numberOf(member(row, channel.field));
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" && Math.abs(value) < LARGEST ? value : null;
}

/** Return the distinct keys in the order of Vega-Lite: ascending by default, or as in `sort`. */
function sorted(channel: Channel, keys: Iterable<Key>): Key[] {
  const distinct = [...new Set(keys)];
  if (channel.sort === null) return distinct;
  if (Array.isArray(channel.sort)) {
    const rank = new Map<string, number>();
    const named = channel.sort.filter((value) => value !== null).map(keyName);
    named.forEach((name, nth) => rank.has(name) || rank.set(name, nth));
    const rankOf = (key: Key): number => rank.get(keyName(key)) ?? rank.size;
    return distinct.sort((a, b) => rankOf(a) - rankOf(b));
  }
  const direction = channel.sort === "descending" ? -1 : 1;
  const order = channel.kind === "temporal" ? inTime : inOrder;
  return distinct.sort((a, b) => direction * order(a, b));
}

/** Return the names of keys: of moments those of timestamps.ts, or months where each is the first of one. */
function namesFor(channel: Channel, keys: readonly Key[]): string[] {
  if (channel.kind !== "temporal") return keys.map(keyName);
  const names = keys.map((key) => {
    const time = secondsOf(key);
    return time === null ? keyName(key) : nameOf(key, time);
  });
  return names.length > 1 && names.every((name) => FIRST_OF_MONTH.test(name)) ? names.map((name) => name.slice(0, 7)) : names;
}

function inTime(a: Key, b: Key): number {
  const [first, second] = [secondsOf(a), secondsOf(b)];
  if (first === null) return second === null ? inOrder(a, b) : 1;
  return second === null ? -1 : first - second;
}

function inOrder(a: Key, b: Key): number {
  if (typeof a === "number") return typeof b === "number" ? a - b : -1;
  return typeof b === "number" ? 1 : compare(a, b);
}

function isByValue(channel: Channel): boolean {
  return typeof channel.sort === "string" && BY_VALUE.includes(channel.sort);
}

/** Return the name of a category, or the text of a value that stands for one. */
function keyName(value: unknown): string {
  return typeof value === "number" && !Number.isInteger(value) ? english(value) : String(value);
}

/** Return one number for each category and colour; without an aggregate, the bars of one place are added up. */
function cellsOf(unit: Unit, category: Channel, value: Channel, color: Channel | null): Cell[] {
  const found = new Map<string, { key: Key; name: Key | null; numbers: number[] }>();
  for (const row of unit.rows) {
    const [key, name, number] = [keyOf(category, row), color && keyOf(color, row), valueOf(value, row)];
    if (key === null || number === null || (color && name === null)) continue;
    const place = placeOf(key, name);
    const cell = found.get(place);
    if (cell) cell.numbers.push(number);
    else found.set(place, { key, name, numbers: [number] });
  }
  if (!found.size) throw new CannotShow("the chart has no data");
  const combine = COMBINED[value.aggregate ?? "sum"]!;
  return Array.from(found.values(), ({ key, name, numbers }) => ({ key, name, value: combine(numbers) }));
}

function placeOf(key: Key, name: Key | null): string {
  return JSON.stringify([key, name]);
}

function valuesByPlace(cells: readonly Cell[]): (key: Key, name: Key | null) => number | null {
  const values = new Map(cells.map((cell) => [placeOf(cell.key, cell.name), cell.value]));
  return (key, name) => values.get(placeOf(key, name)) ?? null;
}

function seriesOf(cells: readonly Cell[], keys: readonly Key[], color: Color): CategorySeries[] {
  const names = isChannel(color) ? sorted(color, namesOf(cells)) : [null];
  if (names.length > LIMITS.CHART_SERIES) throw tooMany(names.length, "series");
  const shown = isChannel(color) ? namesFor(color, names as Key[]) : [color];
  const value = valuesByPlace(cells);
  return names.map((name, nth) => ({
    name: shown[nth]!,
    values: keys.map((key) => value(key, name)),
  }));
}

function namesOf(cells: readonly Cell[]): Key[] {
  return cells.map((cell) => cell.name).filter((name) => name !== null);
}

// ---- bars ----

function barsOf(unit: Unit, over: readonly Unit[], rules: readonly Rule[]): Bars {
  const [x, y, written] = [channelOf(unit, "x"), channelOf(unit, "y"), colorOf(unit)];
  const horizontal = x.kind === "quantitative" && y.kind !== "quantitative";
  const [category, value] = horizontal ? [y, x] : [x, y];
  if (value.kind !== "quantitative" || category.aggregate !== null) {
    throw new CannotShow("a bar chart needs one axis of numbers");
  }
  const side = horizontal ? "yOffset" : "xOffset";
  const offset = part(unit.encoding, side) === undefined ? null : channelOf(unit, side);
  if (offset && isChannel(written) && written.field !== offset.field && written.field !== category.field) {
    throw new CannotShow("an offset and a colour of different fields are not drawn");
  }
  const parted = offset ?? written;
  const color = isChannel(parted) && parted.field === category.field ? null : parted;
  const cells = cellsOf(unit, category, value, isChannel(color) ? color : null);
  const keys = sorted(
    category,
    cells.map((cell) => cell.key),
  );
  if (isByValue(category)) sortByHeight(keys, cells, String(category.sort).startsWith("-") ? -1 : 1);
  const shown = keys.slice(0, LIMITS.CATEGORIES);
  const series = seriesOf(cells, shown, color);
  if (series.length > 1 && !offset && (value.stack === null || value.stack === false)) {
    throw new CannotShow("bars that hide each other are not drawn");
  }
  if (rules.some((rule) => rule.axis !== (horizontal ? "x" : "y")) || (over.length && horizontal)) throw notTogether();
  return {
    kind: "bars",
    categories: namesFor(category, shown),
    series,
    categoryTitle: category.title,
    valueTitle: value.title,
    horizontal,
    grouped: offset !== null,
    lines: over.flatMap((one) => linesOverBars(one, category, shown)),
    rules: rules.map((rule) => ({ ...rule, axis: "y" })),
    totalCategories: keys.length,
  };
}

function sortByHeight(keys: Key[], cells: readonly Cell[], direction: number): void {
  const heights = new Map<Key, number>();
  for (const cell of cells) heights.set(cell.key, (heights.get(cell.key) ?? 0) + cell.value);
  keys.sort((a, b) => direction * (heights.get(a)! - heights.get(b)!));
}

function linesOverBars(unit: Unit, category: Channel, keys: readonly Key[]): CategorySeries[] {
  const [x, y, color] = [channelOf(unit, "x"), channelOf(unit, "y"), colorOf(unit)];
  if (x.field !== category.field || y.kind !== "quantitative") throw notTogether();
  const cells = cellsOf(unit, x, y, isChannel(color) ? color : null);
  return seriesOf(cells, keys, color).map((line) => ({ ...line, name: line.name ?? y.title }));
}

// ---- lines, areas, points ----

/** The points of one unit before they have a place on the x axis. */
interface Layer {
  readonly mark: Mark;
  readonly y: Channel;
  readonly color: Color;
  readonly points: readonly Cell[];
}

function plotOf(units: readonly Unit[], rules: readonly Rule[]): Plot {
  const x = channelOf(units[0]!, "x");
  const layers = units.map((unit) => layerOf(unit, x));
  const [position, xLabels] = positions(
    x,
    layers.flatMap((layer) => layer.points.map((point) => point.key)),
  );
  if (x.kind !== "quantitative" && x.kind !== "temporal" && rules.some((rule) => rule.axis === "x")) {
    throw new CannotShow("a rule across names is not drawn");
  }
  const series: Series[] = [];
  for (const layer of layers) {
    const known = new Set(series.map(identity));
    series.push(...linesOf(layer, position, layers.length > 1).filter((one) => one.mark !== "point" || !known.has(identity(one))));
  }
  if (!series.length) throw new CannotShow("the chart has no data");
  if (series.length > LIMITS.CHART_SERIES) throw tooMany(series.length, "series");
  const areas = layers.filter((layer) => layer.mark === "area");
  const area = areas.length === 1 ? areas[0]! : null;
  return {
    kind: "plot",
    series,
    xLabels,
    xTitle: x.title,
    yTitle: [...new Set(layers.map((layer) => layer.y.title).filter(Boolean))].join(", "),
    fromZero: layers.some((layer) => layer.y.fromZero),
    stacked: area !== null && isChannel(area.color) && area.y.stack !== null && area.y.stack !== false,
    rules,
    temporal: x.kind === "temporal",
  };
}

function identity(series: Series): string {
  return JSON.stringify([series.name, series.points]);
}

function layerOf(unit: Unit, shared: Channel): Layer {
  const [x, y, color] = [channelOf(unit, "x"), channelOf(unit, "y"), colorOf(unit)];
  if (y.kind !== "quantitative" || x.aggregate !== null || isByValue(x)) {
    throw new CannotShow("a line, area or point chart needs numbers on its y axis");
  }
  if (x.kind !== shared.kind) throw notTogether();
  const byColor = isChannel(color) ? color : null;
  const mark = unit.mark as Mark;
  if (y.aggregate !== null || mark === "area") return { mark, y, color, points: cellsOf(unit, x, y, byColor) };
  const points: Cell[] = [];
  for (const row of unit.rows) {
    const [key, name, value] = [keyOf(x, row), byColor && keyOf(byColor, row), valueOf(y, row)];
    if (key !== null && value !== null && (!byColor || name !== null)) points.push({ key, name, value });
  }
  return { mark, y, color, points };
}

function linesOf(layer: Layer, position: ReadonlyMap<Key, number>, several: boolean): Series[] {
  const points = new Map<Key | null, [number, number][]>();
  for (const { key, name, value } of layer.points) {
    const x = position.get(key);
    if (x === undefined) continue;
    const line = points.get(name);
    if (line) line.push([x, value]);
    else points.set(name, [[x, value]]);
  }
  const { color, mark } = layer;
  const names = [...points.keys()];
  const ordered = isChannel(color) ? sorted(color, names.filter((name) => name !== null)) : names;
  const only = typeof color === "string" ? color : several ? layer.y.title : null;
  const shown = isChannel(color) ? namesFor(color, ordered as Key[]) : [only];
  return ordered.map((name, nth) => ({
    name: shown[nth]!,
    points: points.get(name)!.sort(([ax, ay], [bx, by]) => ax - bx || ay - by),
    mark,
  }));
}

/** Return the position of each value on the x axis, and the positions that have a name (none for plain numbers). */
function positions(x: Channel, keys: readonly Key[]): [Map<Key, number>, (readonly [number, string])[]] {
  if (x.kind === "quantitative") {
    return [new Map(keys.filter((key) => typeof key === "number").map((key) => [key, key])), []];
  }
  if (x.kind === "temporal") {
    const times = new Map<Key, number>();
    const written = new Map<number, Key>();
    for (const key of keys) {
      const time = secondsOf(key);
      if (time === null) continue;
      times.set(key, time);
      written.set(time, key);
    }
    const ordered = [...written].sort(([a], [b]) => a - b);
    const names = namesFor(x, ordered.map(([, key]) => key));
    return [times, ordered.map(([time], nth) => [time, names[nth]!])];
  }
  const places = sorted(x, keys);
  return [new Map(places.map((key, nth) => [key, nth])), places.map((key, nth) => [nth, keyName(key)])];
}

// ---- rules, circles, grids ----

/** Return the lines that a unit draws across the chart, which has the other axis or both. */
function rulesOf(unit: Unit, chart: Unit): Rule[] {
  const own = (["x", "y"] as const).filter((name) => {
    const channel = part(unit.encoding, name);
    return channel !== undefined && !isEqual(channel, part(chart.encoding, name));
  });
  const axis = own[0];
  if (!axis || own.length > 1) throw new CannotShow("a rule needs one place, on x or on y");
  const temporal = axis === "x" && channelOf(chart, "x").kind === "temporal";
  const placeOf = temporal ? secondsOf : numberOf;
  const encoding = part<JsonObject>(unit.encoding, axis)!;
  const datum = part(encoding, "datum");
  const channel = datum === undefined ? channelOf(unit, axis) : null;
  const written = channel ? unit.rows.map((row) => member(row, channel.field)) : [datum];
  let places: [number, unknown][] = [];
  for (const value of written) {
    const place = placeOf(value);
    if (place !== null) places.push([place, value]);
  }
  if (channel?.aggregate === "count") places = [[unit.rows.length, null]];
  else if (channel?.aggregate && places.length) {
    places = [[COMBINED[channel.aggregate]!(places.map(([place]) => place)), null]];
  }
  if (!places.length) throw new CannotShow("a rule needs a number or a time");
  const label = channel?.aggregate ? channel.title || null : (part<string | null>(encoding, "title") ?? null);
  return Array.from(new Map(places), ([value, by]) => {
    return { axis, value, label, moment: temporal ? nameOf(by, value) : null };
  });
}

function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((one, nth) => isEqual(one, b[nth]));
  if (!isObject(a)) return a === b;
  const names = Object.keys(a);
  return isObject(b) && Object.keys(b).length === names.length && names.every((name) => isEqual(a[name], member(b, name)));
}

function pieOf(unit: Unit): Pie {
  const [value, color] = [channelOf(unit, "theta"), colorOf(unit)];
  const placed = part(unit.encoding, "x") !== undefined || part(unit.encoding, "y") !== undefined;
  if (placed || value.kind !== "quantitative" || !isChannel(color)) {
    throw new CannotShow("a circle needs numbers in theta and names in color, and nothing else");
  }
  const cells = cellsOf(unit, color, value, null);
  const keys = sorted(
    color,
    cells.map((cell) => cell.key),
  );
  const values = seriesOf(cells, keys, null)[0]!.values.map((number) => number ?? 0);
  if (values.some((number) => number < 0) || !total(values)) throw new CannotShow("a circle needs values above zero");
  if (keys.length > LIMITS.CHART_SERIES) throw tooMany(keys.length, "slices");
  return {
    kind: "pie",
    slices: namesFor(color, keys).map((name, nth) => [name, values[nth]!]),
    categoryTitle: color.title,
    valueTitle: value.title,
    hole: unit.hole,
  };
}

function heatOf(unit: Unit): Heat {
  const [x, y, value] = [channelOf(unit, "x"), channelOf(unit, "y"), channelOf(unit, "color")];
  const named = x.kind !== "quantitative" && y.kind !== "quantitative" && x.aggregate === null && y.aggregate === null;
  if (!named || value.kind !== "quantitative") {
    throw new CannotShow("a grid needs names on both axes and numbers in color");
  }
  const cells = cellsOf(unit, x, value, y);
  const columns = sorted(
    x,
    cells.map((cell) => cell.key),
  );
  const rows = sorted(y, namesOf(cells));
  const most = LIMITS.CATEGORIES;
  if (Math.max(columns.length, rows.length) > most) {
    const size = `${count(columns.length)} × ${count(rows.length)}`;
    throw new CannotShow(`a grid of ${size} cells is too large; at most ${most} × ${most} are drawn`);
  }
  const found = valuesByPlace(cells);
  return {
    kind: "heat",
    columns: namesFor(x, columns),
    rows: namesFor(y, rows),
    values: rows.map((row) => columns.map((column) => found(column, row))),
    xTitle: x.title,
    yTitle: y.title,
    valueTitle: value.title,
  };
}

function mean(values: readonly number[]): number {
  return total(values) / values.length;
}

function median(values: readonly number[]): number {
  const ordered = [...values].sort((a, b) => a - b);
  const middle = ordered.length >> 1;
  return ordered.length % 2 ? ordered[middle]! : (ordered[middle - 1]! + ordered[middle]!) / 2;
}
