
// The charts of one matrix of weights: cells or ribbons, their labels and colors.

// ---- Tokens as labels. They may hold markup, so they are only ever set as text.

const LONGEST_LABEL = 28;
const SPECIAL = /^<[^<>\s]+>$/u;
export const UNKNOWN = "<unk>"; // what is read of a word that the vocabulary lacks

export const FONT =
  'system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "DejaVu Sans", Arial, ' +
  '"Noto Sans CJK SC", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Noto Sans Arabic", ' +
  '"Noto Sans Hebrew", sans-serif';

const pencil = document.createElement("canvas").getContext("2d");

// Make blanks and empty tokens visible; shorten a long token in its middle.
export function labelOf(token) {
  if (token === "") return '""';
  const characters = Array.from(token.replace(/\s/gu, "␣"));
  if (characters.length <= LONGEST_LABEL) return characters.join("");
  const end = (LONGEST_LABEL - 1) >> 1;
  const start = characters.slice(0, LONGEST_LABEL - 1 - end);
  return `${start.join("")}…${characters.slice(-end).join("")}`;
}

// The word that a subword belongs to, by the marks of SentencePiece (▁), GPT-2 (Ġ), BERT (##) and subword-nmt (@@); null if the
// token is the word.
export function wordOf(tokens, place) {
  const begins = tokens.some((token) => /^[▁Ġ]/u.test(token));
  const isJoined = (at) => {
    if (at <= 0 || at >= tokens.length || isSpecial(tokens[at]) || isSpecial(tokens[at - 1])) return false;
    return begins ? !/^[▁Ġ]/u.test(tokens[at]) : tokens[at].startsWith("##") || tokens[at - 1].endsWith("@@");
  };
  let [first, end] = [place, place + 1];
  while (isJoined(first)) first -= 1;
  while (isJoined(end)) end += 1;
  const word = tokens.slice(first, end).map((token) => token.replace(/^[▁Ġ]|^##|@@$/gu, "")).join("");
  return end - first > 1 ? word : null;
}

function isSpecial(token) {
  return SPECIAL.test(token);
}

// The width in bold, as the token under the pointer is drawn.
function widthOf(text, size) {
  pencil.font = `bold ${size}px ${FONT}`;
  return pencil.measureText(text).width;
}

function widest(tokens, size) {
  return tokens.reduce((width, token) => Math.max(width, widthOf(labelOf(token), size)), 0);
}

// The text without special tokens at its ends. Subwords of SentencePiece (▁) are joined to words.
export function sentenceOf(tokens) {
  const isWord = (token) => token === UNKNOWN || !isSpecial(token);
  const kept = tokens.slice(tokens.findIndex(isWord), tokens.findLastIndex(isWord) + 1);
  const subwords = kept.some((token) => token.startsWith("▁"));
  return subwords ? kept.join("").replaceAll("▁", " ").trim() : kept.join(" ");
}

// ---- Elements and colors. Text is set as text, never parsed.

const SVG = "http://www.w3.org/2000/svg";

export function draw(name, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, name), attributes, children);
}

export function make(name, attributes = {}, ...children) {
  return furnish(document.createElement(name), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// The colors of charts, which also stand in exported files. On a dark ground the scale is reversed: large
// weights are light.
export function themeOf(dark, index) {
  return dark
    ? {
        dark,
        paper: "#1d2025",
        ink: "#e8eaed",
        gray: "#9aa0a8",
        rule: "#1d2025",
        accent: "#ffb454",
        gold: "#ff9d2e",
        ribbon: "#7ec8e3",
        negative: "#f0894a",
        nothing: "#343940",
        levels: [...index.colors].reverse(),
        difference: darkened(index.difference),
      }
    : {
        dark,
        paper: "#ffffff",
        ink: "#1a1a1a",
        gray: "#71767d",
        rule: "#ffffff",
        accent: "#d1495b",
        gold: "#e8830c",
        ribbon: "#2468a8",
        negative: "#d55e00",
        nothing: "#e3e5e8",
        levels: index.colors,
        difference: index.difference,
      };
}

// The diverging scale for a dark ground: 0 is dark.
function darkened(colors) {
  const middle = (colors.length - 1) / 2;
  const shade = (color, place) => {
    const strength = Math.abs(place - middle) / middle;
    const side = place < middle ? [255, 157, 92] : [112, 196, 255];
    const mixed = side.map((part) => Math.round(39 + (part - 39) * strength));
    return `rgb(${mixed.join(",")})`;
  };
  return colors.map(shade);
}

// ---- Scales: what share of the colors a weight has

export const SCALES = [
  ["fit", "fitting"],
  ["unit", "0 to 1"],
  ["max", "0 to maximum"],
  ["uniform", "relative to uniform"],
  ["log", "logarithmic"],
];
const SMALL = 0.5; // a maximum up to which the fitting scale does not end at 1
const EVEN = 3; // times an even weight, below which the fitting scale does not end, so that even weights look even
const LEAST = 1e-4; // of the logarithmic scale
const MOST_DOUBLINGS = 6;

function topOf(matrices) {
  return matrices.reduce((most, { values }) => values.reduce((found, value) => Math.max(found, Math.abs(value)), most), 0);
}

const RISES = 0.02; // share of the maximum effect; a word that becomes more probable by more is gray

// Of effects, of which the maximum has the color of a weight of 1; matrices = [{values, columns}, …], which share the scale.
export function effectScale(matrices) {
  const most = matrices.reduce((largest, { values }) => values.reduce((found, value) => Math.max(found, value), largest), 0);
  const top = most || 1;
  const shares = (values) => values.map((value) => (value < 0 && value <= -RISES * most ? -1 : Math.max(0, value / top)));
  return { name: "fall of log-probability", note: "gray: it rises", isTwoSided: false, ticks: [[0, "0"], [1, brief(top)]], shares, top };
}

// kind: of SCALES; matrices = [{values, columns}, …], which share the scale. The result has `shares(values, columns)`, a share of the
// colors for each value, −1 for nothing.
export function scaleOf(kind, matrices, signed = false, what = "weights") {
  const top = topOf(matrices);
  const isWhole = what === "weights" && (kind === "unit" || (kind === "fit" && top > SMALL) || top === 0);
  const even = what === "weights" && kind === "fit" && !signed ? Math.min(1, EVEN / Math.max(...matrices.map(({ columns }) => columns))) : 0;
  const most = isWhole ? 1 : Math.max(top, even) || 1;
  if (signed) {
    const ticks = [[0, `−${brief(most)}`], [0.5, "0"], [1, `+${brief(most)}`]];
    return { name: `difference of ${what}`, isTwoSided: true, ticks, shares: (values) => values.map((value) => (value / most + 1) / 2), top: what === "weights" ? 1 : most };
  }
  if (kind === "uniform") return uniformScale(matrices);
  if (kind === "log") {
    const shares = (values) => values.map((value) => (value <= LEAST ? 0 : 1 - Math.log(value) / Math.log(LEAST)));
    return { name: "weight, logarithmic", isTwoSided: false, ticks: [[0, `≤ ${LEAST}`], [0.5, "0.01"], [1, "1"]], shares };
  }
  const ticks = isWhole ? [[0, "0"], [0.5, "0.5"], [1, "1"]] : [[0, "0"], [1, brief(most)]];
  const name = isWhole || most > top ? "weight" : "weight, up to the maximum";
  return { name, isTwoSided: false, ticks, shares: (values) => values.map((value) => value / most) };
}

// How often a weight is that of an even row, in doublings. Weights of 0, such as masked ones, are no part of the row.
function uniformScale(matrices) {
  const doublings = (values, columns) => {
    const counts = [];
    values.forEach((value, place) => (counts[Math.floor(place / columns)] = (counts[Math.floor(place / columns)] ?? 0) + (value > 0)));
    return values.map((value, place) => (value > 0 ? Math.log2(value * counts[Math.floor(place / columns)]) : NaN));
  };
  let most = 0.1;
  for (const { values, columns } of matrices) for (const each of doublings(values, columns)) if (Math.abs(each) > most) most = Math.abs(each);
  most = Math.min(most, MOST_DOUBLINGS);
  const shares = (values, columns) =>
    doublings(values, columns).map((each) => (Number.isNaN(each) ? -1 : (Math.min(1, Math.max(-1, each / most)) + 1) / 2));
  const factor = brief(2 ** most);
  return { name: "times the weight of an even row", isTwoSided: true, ticks: [[0, `1/${factor}`], [0.5, "1"], [1, factor]], shares };
}

function brief(value) {
  return String(Number(value.toPrecision(2)));
}

// The colors of a scale.
export function colorsOf(scale, theme) {
  return scale.isTwoSided ? theme.difference : theme.levels;
}

// The place of a share among the colors of a scale.
export function levelOf(share, count) {
  return Math.round(Math.min(1, Math.max(0, share)) * (count - 1));
}

// Values as an image of one pixel for each cell, in the colors of a scale.
export function imageOf(values, columns, scale, theme) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, values.length / columns];
  const brush = canvas.getContext("2d");
  const image = brush.createImageData(canvas.width, canvas.height);
  const colors = colorsOf(scale, theme);
  const pixels = (theme.pixels ??= new Map());
  const pixel = (color) => pixels.get(color) ?? pixels.set(color, pixelOf(color)).get(color);
  scale.shares(values, columns).forEach((share, place) => {
    image.data.set(pixel(share < 0 ? theme.nothing : colors[levelOf(share, colors.length)]), 4 * place);
  });
  brush.putImageData(image, 0, 0);
  return canvas;
}

// "#rrggbb" or "rgb(r,g,b)" -> red, green, blue and opacity.
function pixelOf(color) {
  const parts = color.startsWith("#") ? color.slice(1).match(/../gu).map((part) => parseInt(part, 16)) : color.match(/\d+/gu).map(Number);
  return [...parts, 255];
}

// A scale with its ends and its name, as part of a chart.
function legend(x, y, scale, theme, size = 11) {
  const colors = colorsOf(scale, theme);
  const width = 144;
  const stripes = Array.from({ length: width / 2 }, (_, place) =>
    draw("rect", { x: x + 2 * place, y, width: 2, height: 8, fill: colors[levelOf(place / (width / 2 - 1), colors.length)] }),
  );
  const text = (at, anchor, words, below) =>
    draw("text", { x: at, y: y + below + size, "text-anchor": anchor, "font-size": size, fill: theme.gray }, words);
  const labels = scale.ticks.map(([share, words]) => text(x + share * width, ["start", "middle", "end"][Math.round(2 * share)], words, 10));
  return draw("g", { "shape-rendering": "crispEdges" }, ...stripes, ...labels, text(x, "start", scale.name, 24), scale.note ? text(x, "start", scale.note, 38) : null);
}

function goldLegend(x, y, { links, theme }, size = 11) {
  if (!links) return null;
  const mark = draw("rect", { x: x + 1, y, width: 9, height: 9, rx: 2, fill: "none", stroke: theme.gold, "stroke-width": 2 });
  return draw("g", { class: "gold-legend" }, mark, draw("text", { x: x + 16, y: y + 9, "font-size": size, fill: theme.gray }, "gold alignment"));
}

// ---- The matrix: source tokens across, target tokens down, whole-pixel cells, which may be wider than high

const TALLEST_CELL = 52;
const WIDEST_CELL = 116;
const COMFORTABLE_CELL = 22;
const TILTED_CELL = 20;
const LARGEST_FONT = 14;
const SMALLEST_CELL = 13;
const TILT = Math.PI / 3;
const GAP = 9;
const LEGEND_HEIGHT = 56;
const NOTE_HEIGHT = 14; // of a further line below it
const MOST_SQUARES = 50_000; // more cells are drawn as one image
const TICK_DISTANCE = 30;

// chart = {source, target, plain, values (row by row), scale, links, theme}; extent = {width, height} that the matrix should keep to, as
// long as its tokens stay legible. A plain side has positions as labels, of which only some are drawn.
export function matrixChart(chart, extent) {
  const layout = matrixLayout(chart, extent);
  const { down, left, top, width, height, font } = layout;
  const overlay = draw("g", { "pointer-events": "none" });
  const node = draw(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FONT, "font-size": font },
    matrixCells(chart, layout),
    matrixGold(chart, layout),
    ...shownPlaces(chart.target, layout.plain.target, down).map((row) => rowLabel(chart.target[row], row, chart, layout)),
    ...shownPlaces(chart.source, layout.plain.source, layout.across).map((column) => columnLabel(chart.source[column], column, chart, layout)),
    overlay,
    legend(left, top + down * chart.target.length + 14, chart.scale, chart.theme),
    goldLegend(left, top + down * chart.target.length + 14 + (chart.scale.note ? 53 : 39), chart),
  );
  return {
    node,
    width,
    height,
    place: (x, y) => matrixPlace(x, y, chart, layout),
    point: (focus) => {
      overlay.replaceChildren(...highlight(focus, chart, layout));
      emphasize(node, focus);
    },
    anchor: ({ row, column }) => ({
      x: left + ((column ?? chart.source.length - 1) + 1) * layout.across,
      y: top + (row ?? 0) * down,
    }),
  };
}

// Places whose label is drawn: all; on a plain side, too narrow for all, each second, fifth, tenth, …
function shownPlaces(tokens, isPlain, cell) {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
  const by = isPlain ? steps.find((step) => step * cell >= TICK_DISTANCE) : 1;
  return tokens.map((_, place) => place).filter((place) => place % by === 0);
}

function matrixLayout(chart, extent) {
  const plain = chart.plain ?? { source: false, target: false };
  const [columns, rows] = [chart.source.length, chart.target.length];
  const labels = chart.source.map((token) => widthOf(labelOf(token), LARGEST_FONT));
  const beside = extent.width - Math.ceil(widest(chart.target, LARGEST_FONT)) - GAP - 4;
  const rest = Math.floor((extent.height - largest(labels) - LEGEND_HEIGHT - 20) / rows);
  const comfortable = plain.target ? 1 : COMFORTABLE_CELL;
  const least = { across: plain.source ? 1 : SMALLEST_CELL, down: plain.target ? 1 : SMALLEST_CELL };
  const tall = Math.min(TALLEST_CELL, Math.max(comfortable, rest));
  const most = Math.min(WIDEST_CELL, plain.target ? (plain.source ? tall : WIDEST_CELL) : 2.2 * tall);
  let across = Math.max(least.across, Math.floor(Math.min(most, beside / columns)));
  while (across > least.across && columns * across + overhang(labels, LARGEST_FONT, across, plain.source) > beside) across -= 1;
  const down = Math.max(least.down, plain.source && !plain.target ? tall : Math.min(tall, across));
  const font = Math.max(10, Math.min(LARGEST_FONT, Math.round(Math.min(plain.target ? 22 : down, plain.source ? 22 : across) * 0.62)));
  const drawn = chart.source.map((token) => widthOf(labelOf(token), font));
  const longest = largest(drawn);
  const tilt = tiltOf(longest, across, plain.source);
  const left = Math.ceil(widest(chart.target, font)) + GAP + 4;
  const top = Math.ceil(longest * Math.sin(tilt)) + font + GAP;
  const width = Math.max(left + columns * across + overhang(drawn, font, across, plain.source), left + 190);
  const below = LEGEND_HEIGHT + NOTE_HEIGHT * (Boolean(chart.scale.note) + Boolean(chart.links));
  return { across, down, plain, font, tilt, left, top, width, height: top + rows * down + below };
}

// Of many numbers, which are no arguments of one call.
function largest(numbers) {
  return numbers.reduce((most, each) => Math.max(most, each), 0);
}

// The angle of labels, of which the longest is as long, above columns.
function tiltOf(longest, across, isPlain) {
  return isPlain || longest + 4 <= across ? 0 : across >= TILTED_CELL ? TILT : Math.PI / 2;
}

// What is to the right of the last column: the end of a label, or a margin.
function overhang(labels, font, across, isPlain) {
  const tilt = tiltOf(largest(labels), across, isPlain);
  const end = (length, column) => (column - labels.length + 0.5) * across + length * (tilt ? Math.cos(tilt) : 0.5) + (tilt ? font : 2);
  return Math.ceil(labels.reduce((reach, length, column) => Math.max(reach, end(length, column)), 4));
}

// One path for each color: few elements, however many cells; one image of very many.
function matrixCells(chart, { across, down, left, top }) {
  const columns = chart.source.length;
  if (chart.values.length > MOST_SQUARES) {
    const href = imageOf(chart.values, columns, chart.scale, chart.theme).toDataURL();
    const size = { x: left, y: top, width: columns * across, height: chart.target.length * down };
    return draw("g", { class: "cells" }, draw("image", { ...size, href, preserveAspectRatio: "none", style: "image-rendering: pixelated" }));
  }
  const gap = Math.min(across, down) > 4 ? 1 : 0;
  const colors = colorsOf(chart.scale, chart.theme);
  const paths = new Map();
  chart.scale.shares(chart.values, columns).forEach((share, place) => {
    const x = left + (place % columns) * across;
    const y = top + Math.floor(place / columns) * down;
    const color = share < 0 ? chart.theme.nothing : colors[levelOf(share, colors.length)];
    paths.set(color, `${paths.get(color) ?? ""}M${x} ${y}h${across - gap}v${down - gap}h-${across - gap}z`);
  });
  const squares = [...paths].map(([fill, d]) => draw("path", { fill, d }));
  return draw("g", { "shape-rendering": "crispEdges", class: "cells" }, ...squares);
}

function matrixGold(chart, { across, down, left, top }) {
  const inset = Math.min(across, down) > 20 ? 3 : 2;
  const rings = (chart.links ?? []).map(([source, target]) =>
    draw("rect", {
      x: left + source * across + inset,
      y: top + target * down + inset,
      width: Math.max(1, across - 1 - 2 * inset),
      height: Math.max(1, down - 1 - 2 * inset),
      rx: 3,
    }),
  );
  const stroke = { fill: "none", stroke: chart.theme.gold, "stroke-width": 2 };
  return draw("g", { ...stroke, class: "gold", "pointer-events": "none" }, ...rings);
}

function rowLabel(token, row, { theme }, { down, left, top }) {
  const place = { x: left - GAP, y: top + row * down + down / 2, "text-anchor": "end" };
  return label(token, theme, { ...place, "data-row": row });
}

function columnLabel(token, column, { theme }, { across, left, top, tilt }) {
  const x = left + column * across + across / 2;
  const y = top - GAP + 1;
  const degrees = (-tilt * 180) / Math.PI;
  const place = tilt ? { x, y, transform: `rotate(${degrees} ${x} ${y})` } : { x, y: y - 2, "text-anchor": "middle" };
  return label(token, theme, { ...place, "data-column": column });
}

const WORD_MARK = "▁"; // of SentencePiece, at the beginning of a word:
const DRAWN_MARK = "·"; // drawn so, and gray, as it is no part of it

// A token as text in a page.
export function tokenText(token, attributes = {}) {
  const text = labelOf(token);
  const isMarked = text.startsWith(WORD_MARK) && text.length > 1;
  return make("bdi", attributes, isMarked ? make("span", { class: "mark" }, DRAWN_MARK) : null, isMarked ? text.slice(1) : text);
}

function label(token, theme, place) {
  const fill = isSpecial(token) ? theme.gray : theme.ink;
  const style = { fill, "dominant-baseline": "central", "unicode-bidi": "isolate" };
  const text = labelOf(token);
  const mark = text.startsWith(WORD_MARK) && text.length > 1 ? draw("tspan", { fill: theme.gray }, DRAWN_MARK) : null;
  return draw("text", { ...style, ...place }, mark, mark ? text.slice(1) : text);
}

// The cell, or the token beside or above the cells, at a place of the chart.
function matrixPlace(x, y, chart, { across, down, left, top, tilt }) {
  const row = Math.floor((y - top) / down);
  const isRow = row >= 0 && row < chart.target.length;
  if (isRow && x < left) return { row, column: null };
  // above the cells, labels lean to the right
  const lean = y < top && tilt ? (top - y) / Math.tan(tilt) : 0;
  const column = Math.floor((x - left - lean) / across);
  const isColumn = column >= 0 && column < chart.source.length;
  if (isColumn && y < top) return { row: null, column };
  return isRow && isColumn ? { row, column } : null;
}

function highlight(focus, chart, layout) {
  if (!focus) return [];
  const { row, column } = focus;
  const { left, top } = layout;
  const across = chart.source.length * layout.across - 1;
  const down = chart.target.length * layout.down - 1;
  const veil = (x, y, width, height) =>
    draw("rect", { x, y, width, height, fill: chart.theme.paper, opacity: 0.72 });
  const frame = (x, y, width, height) =>
    draw("rect", { x, y, width, height, fill: "none", stroke: chart.theme.accent, "stroke-width": 2 });
  const y = top + (row ?? 0) * layout.down;
  const x = left + (column ?? 0) * layout.across;
  if (column === null) {
    const below = y + layout.down;
    return [
      veil(left, top, across, Math.max(0, y - top - 1)),
      veil(left, below, across, Math.max(0, top + down - below)),
      frame(left - 1, y - 1, across + 2, layout.down + 1),
    ];
  }
  if (row === null) {
    const right = x + layout.across;
    return [
      veil(left, top, Math.max(0, x - left - 1), down),
      veil(right, top, Math.max(0, left + across - right), down),
      frame(x - 1, top - 1, layout.across + 1, down + 2),
    ];
  }
  return [frame(x - 1, y - 1, layout.across + 1, layout.down + 1)];
}

function emphasize(node, focus) {
  for (const text of node.querySelectorAll("text[data-row], text[data-column]")) {
    const { row, column } = text.dataset;
    const isIt = focus && (Number(row) === focus.row || Number(column) === focus.column);
    text.setAttribute("font-weight", isIt ? 700 : 400);
  }
}

// ---- Ribbons: source tokens on the left, target tokens on the right, as wide as the weight between.

const TALLEST_LINE = 28;
const SHORTEST_LINE = 16;
const LEAST_WEIGHT = 0.01;
const PAD = 10;

// Arguments and result are those of matrixChart.
export function ribbonChart(chart, extent) {
  const layout = ribbonLayout(chart, extent);
  const { width, height, font } = layout;
  const ribbons = ribbonPaths(chart, layout);
  const gold = goldLines(chart, layout);
  const sides = [
    ...chart.source.map((token, column) => sideLabel(token, "column", column, chart, layout)),
    ...chart.target.map((token, row) => sideLabel(token, "row", row, chart, layout)),
  ];
  const node = draw(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FONT, "font-size": font },
    draw("g", { class: "ribbons" }, ...ribbons.map(({ path }) => path)),
    gold,
    ...sides,
  );
  return {
    node,
    width,
    height,
    place: (x, y) => ribbonPlace(x, y, chart, layout),
    point: (focus) => {
      for (const { path, row, column, opacity } of ribbons) {
        const within = (wanted, found) => wanted === null || wanted === found;
        const isIt = !focus || (within(focus.row, row) && within(focus.column, column));
        path.setAttribute("opacity", isIt ? (focus ? Math.min(1, opacity + 0.2) : opacity) : 0.05);
      }
      gold.setAttribute("opacity", focus ? 0.35 : 1);
      emphasize(node, focus);
    },
    anchor: ({ row, column }) => ({
      x: row === null ? layout.left + PAD : layout.right - PAD,
      y: row === null ? layout.sourceY(column) : layout.targetY(row),
    }),
  };
}

function ribbonLayout(chart, extent) {
  const lines = Math.max(chart.source.length, chart.target.length);
  const line = Math.max(SHORTEST_LINE, Math.min(TALLEST_LINE, Math.floor((extent.height - 2 * PAD) / lines)));
  const font = Math.max(11, Math.min(14, Math.round(line * 0.62)));
  const left = Math.ceil(widest(chart.source, font)) + 2 * PAD;
  const side = Math.ceil(widest(chart.target, font)) + 2 * PAD;
  const between = Math.max(120, Math.min(380, extent.width - left - side));
  const start = (count) => PAD + ((lines - count) * line) / 2 + line / 2;
  return {
    line,
    font,
    left,
    right: left + between,
    width: left + between + side,
    height: lines * line + 2 * PAD,
    sourceY: (column) => start(chart.source.length) + column * line,
    targetY: (row) => start(chart.target.length) + row * line,
  };
}

// On the target's side the ribbons of a token lie one above the other and share its height.
function ribbonPaths(chart, { line, left, right, sourceY, targetY }) {
  const columns = chart.source.length;
  const full = line - 4;
  const middle = (left + right) / 2;
  return chart.target.flatMap((_, row) => {
    const whole = chart.scale.top ?? 1; // of effects, the maximum is as wide as a weight of 1
    const weights = Array.from({ length: columns }, (_, column) => chart.values[row * columns + column] / whole);
    const total = weights.reduce((sum, weight) => sum + Math.abs(weight), 0);
    let y = targetY(row) - (Math.min(total, 1) * full) / 2;
    return weights.flatMap((weight, column) => {
      const thick = Math.abs(weight) * full * (total > 1 ? 1 / total : 1);
      const end = y;
      y += thick;
      if (Math.abs(weight) < LEAST_WEIGHT) return [];
      const begin = sourceY(column) - thick / 2;
      const d =
        `M${left} ${begin}C${middle} ${begin} ${middle} ${end} ${right} ${end}v${thick}` +
        `C${middle} ${end + thick} ${middle} ${begin + thick} ${left} ${begin + thick}z`;
      const fill = weight < 0 ? chart.theme.negative : chart.theme.ribbon;
      const opacity = 0.22 + 0.63 * Math.abs(weight);
      return [{ row, column, opacity, path: draw("path", { d, fill, opacity }) }];
    });
  });
}

function goldLines(chart, { left, right, sourceY, targetY }) {
  const middle = (left + right) / 2;
  const lines = (chart.links ?? []).map(([source, target]) => {
    const [begin, end] = [sourceY(source), targetY(target)];
    return draw("path", { d: `M${left} ${begin}C${middle} ${begin} ${middle} ${end} ${right} ${end}` });
  });
  const stroke = { fill: "none", stroke: chart.theme.gold, "stroke-width": 1.5 };
  const rest = { "stroke-dasharray": "5 4", class: "gold", "pointer-events": "none" };
  return draw("g", { ...stroke, ...rest }, ...lines);
}

function sideLabel(token, side, number, { theme }, layout) {
  const isRow = side === "row";
  return label(token, theme, {
    x: isRow ? layout.right + PAD : layout.left - PAD,
    y: isRow ? layout.targetY(number) : layout.sourceY(number),
    "text-anchor": isRow ? "start" : "end",
    [`data-${side}`]: number,
  });
}

function ribbonPlace(x, y, chart, { line, left, right, sourceY, targetY }) {
  const row = Math.round((y - targetY(0)) / line);
  const column = Math.round((y - sourceY(0)) / line);
  const third = (right - left) / 3;
  if (x < left + third && column >= 0 && column < chart.source.length) return { row: null, column };
  if (x > right - third && row >= 0 && row < chart.target.length) return { row, column: null };
  return null;
}
