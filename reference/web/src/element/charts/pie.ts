// A circle cut into slices. The names and shares stand in the legend, which chart.ts draws.
import type { Pie } from "../../view/content.ts";
import { svg } from "../dom.ts";
import type { ChartWords, Sketch } from "./chart.ts";
import * as frame from "./frame.ts";

const SIZE = 220;

/** Returns the chart, at most `width` pixels wide. */
export function drawPie(pie: Pie, width: number, words: ChartWords): Sketch {
  const size = Math.min(SIZE, width);
  const [middle, radius] = [size / 2, size / 2 - 2];
  const inner = pie.hole ? radius * 0.58 : 0;
  const total = pie.slices.reduce((sum, [, value]) => sum + value, 0);
  let angle = -Math.PI / 2;
  const slices: { from: number; to: number; at: number }[] = [];
  const marks: SVGElement[] = [];
  pie.slices.forEach(([name, value], at) => {
    const turn = (value / total) * 2 * Math.PI;
    if (turn <= 0) return;
    const shape = svg("path", {
      d: sector(middle, radius, inner, angle, turn),
      class: `mark slice ${frame.colour(at)}`,
    });
    shape.append(svg("title", {}, words.named(name, value)));
    marks.push(shape);
    const share = words.shares[at] ?? "";
    if (turn * radius * 0.72 > frame.textWidth(share) + 6 && turn > 0.3) {
      const [reach, direction] = [pie.hole ? (radius + inner) / 2 : radius * 0.66, angle + turn / 2];
      const [x, y] = [middle + reach * Math.cos(direction), middle + reach * Math.sin(direction) + 4];
      marks.push(frame.text(x, y, share, { "text-anchor": "middle", class: "value inside" }));
    }
    slices.push({ from: angle, to: angle + turn, at });
    angle += turn;
  });
  return {
    picture: frame.picture(size, size, words.alt, ...marks),
    tip: (x, y) => {
      let direction = Math.atan2(y - middle, x - middle);
      if (direction < -Math.PI / 2) direction += 2 * Math.PI;
      const distance = Math.hypot(x - middle, y - middle);
      const slice = slices.find(({ from, to }) => direction >= from && direction < to);
      if (!slice || distance > radius || distance < inner) return undefined;
      const [name, value] = pie.slices[slice.at] ?? ["", 0];
      return {
        title: name,
        lines: [{ series: slice.at, words: `${words.quantity(value)} (${words.shares[slice.at]})` }],
      };
    },
  };
}

function sector(middle: number, radius: number, inner: number, angle: number, turn: number): string {
  const at = (distance: number, direction: number): string =>
    `${frame.rounded(middle + distance * Math.cos(direction))} ${frame.rounded(middle + distance * Math.sin(direction))}`;
  const ring = (distance: number, from: number, to: number, sweep: 0 | 1): string =>
    // Two arcs: one cannot go all the way round.
    [(from + to) / 2, to]
      .map((direction) => `A${distance} ${distance} 0 0 ${sweep} ${at(distance, direction)}`)
      .join("");
  const outside = `M${at(radius, angle)}${ring(radius, angle, angle + turn, 1)}`;
  if (!inner) return turn > 6.28 ? `${outside}Z` : `${outside}L${middle} ${middle}Z`;
  return `${outside}L${at(inner, angle + turn)}${ring(inner, angle + turn, angle, 0)}Z`;
}
