// What a specification for Vega may contain: data for allowed_chart.ts, which is the only one that decides.
//
// Whatever is not listed is refused, so nothing that loads, links, computes or grows beyond its data can be said at all:
// no expression (`expr`, `signal`, `test`, `calculate`, `filter`, `labelExpr`), no address (`url`, `href`, `usermeta`,
// `projection`), no parameter, no `transform`, no generator (`sequence`, `graticule`, `keyvals`, `count`, steps of bins,
// intervals of ticks, bases of logarithms), no style sheet (`config`, `style`, `font`, `cursor`).
// Spec section 3.3 asks for the first half of it (XMCP-DSP-014).

const words = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/));

/** The members of a specification outside its data. */
export const MEMBERS = words(`
  $schema name description title subtitle text data datasets values mark encoding layer facet spec concat hconcat vconcat
  repeat columns resolve scale axis legend header spacing align bounds center width height step padding autosize contains
  resize view background type point line tooltip content
  x y x2 y2 xOffset yOffset xError yError xError2 yError2 theta theta2 radius radius2 color fill stroke opacity fillOpacity
  strokeOpacity strokeWidth strokeDash size angle shape detail order row column
  field aggregate argmin argmax bin maxbins extent nice binned timeUnit unit utc sort op encoding stack datum value
  bandPosition band impute method
  year quarter month week date day dayofyear hours minutes seconds milliseconds
  domain domainMin domainMax domainMid range rangeMin rangeMax scheme reverse zero round clamp exponent constant
  interpolate paddingInner paddingOuter
  orient offset position format formatType grid labels ticks tickCount tickSize tickWidth tickColor tickOpacity
  tickMinStep tickBand tickOffset tickRound tickDash tickCap labelAngle labelAlign labelBaseline labelBound labelColor
  labelFlush labelFontSize labelFontStyle labelFontWeight labelLimit labelLineHeight labelOffset labelOpacity labelOverlap
  labelPadding labelSeparation labelOrient labelAnchor titleAlign titleAnchor titleAngle titleBaseline titleColor
  titleFontSize titleFontStyle titleFontWeight titleLimit titleLineHeight titleOpacity titleOrient titlePadding titleX
  titleY subtitleColor subtitleFontSize subtitleFontStyle subtitleFontWeight subtitleLineHeight subtitlePadding
  domainCap domainColor domainDash domainOpacity domainWidth gridCap gridColor gridDash gridOpacity gridWidth
  minExtent maxExtent translate zindex direction columnPadding rowPadding clipHeight gradientLength gradientOpacity
  gradientStrokeColor gradientStrokeWidth gradientThickness gridAlign symbolDash symbolFillColor symbolLimit symbolOffset
  symbolOpacity symbolSize symbolStrokeColor symbolStrokeWidth symbolType fillColor strokeColor legendX legendY
  filled clip invalid align baseline dx dy ellipsis limit lineHeight fontSize fontStyle fontWeight frame anchor
  cornerRadius cornerRadiusEnd cornerRadiusTopLeft cornerRadiusTopRight cornerRadiusBottomLeft cornerRadiusBottomRight
  strokeCap strokeJoin strokeMiterLimit strokeOffset tension innerRadius outerRadius padAngle startAngle endAngle
  binSpacing continuousBandSize discreteBandSize minBandSize bandSize thickness
  box median rule outliers borders ticks
`);

/** The values of the members that choose what is made. */
export const CHOICES: Readonly<Record<string, ReadonlySet<string>>> = {
  mark: words("arc area bar boxplot circle errorband errorbar line point rect rule square text tick trail"),
  type: words(`
    arc area bar boxplot circle errorband errorbar line point rect rule square text tick trail
    quantitative temporal ordinal nominal linear pow sqrt symlog log time utc band point bin-ordinal quantile quantize
    threshold pad fit fit-x fit-y none gradient symbol
  `),
  formatType: words("number time"),
};

/** The largest values of members whose numbers are amounts of work or of room; a text instead of them is refused. */
export const LARGEST: Readonly<Record<string, number>> = {
  maxbins: 200,
  tickCount: 100,
  columns: 100,
  width: 4_000,
  height: 4_000,
  step: 400,
  symbolLimit: 100,
  clipHeight: 4_000,
  // Of a moment: Vega-Lite writes them into an expression as they are.
  year: 9_999,
  quarter: 4,
  month: 12,
  date: 31,
  dayofyear: 366,
  week: 53,
  day: 7,
  hours: 24,
  minutes: 60,
  seconds: 60,
  milliseconds: 1_000,
};

export const LIMITS = {
  /** Members and items outside the data. */
  parts: 2_000,
  depth: 12,
  /** Charts in one display, as `repeat` and the names of facets make them. */
  charts: 64,
  rows: 5_000,
  cells: 64_000,
  /** Characters of one text, in the data or outside. */
  text: 2_000,
  number: 1e15,
  /** Elements and CSS pixels of a picture. */
  elements: 20_000,
  side: 8_000,
};

/** Members whose texts Vega takes as they are: words and values. */
export const FREE = words("$schema description title subtitle text datum value values domain");
/** Members whose texts are colours, or can be. */
export const COLOURS = words(`
  color fill stroke background range scheme fillColor strokeColor labelColor titleColor subtitleColor tickColor domainColor
  gridColor gradientStrokeColor symbolFillColor symbolStrokeColor
`);
export const COLOUR = /^(?!.*url)[\w#(),.%/\s-]{0,120}$/i;
/** Members whose texts are, or can be, names of fields. Vega-Lite writes these between quotes into its expressions. */
export const FIELDS = words("field sort repeat row column layer facet argmin argmax name");
/** In the name of a field: what ends those quotes, or makes the name a path; and what a prototype has. */
export const NOT_IN_FIELDS = /["'`\\[\]{}\n\r\u2028\u2029]|(?:^|\.)(?:__proto__|prototype|constructor)(?:$|\.)/;
/** Every other text: names of Vega-Lite, formats. Vega-Lite writes some of them into its expressions without care. */
export const PLAIN = /^[\w #%.,+$~^<>=:;-]{0,40}$/;
/** A number of three digits in a format is a width to which numbers are filled up. */
export const LONG_NUMBER = /\d{3}/;
