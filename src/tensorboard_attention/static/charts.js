
// The charts of one matrix of weights: cells or ribbons, their labels and colours.

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

// ---- Elements and colours. Text is set as text, never parsed.

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

// The colours of charts, which also stand in exported files. On a dark ground the scale is reversed: large
// weights are light.
export function themeOf(dark, index) {
  return dark
    ? {
        dark,
        paper: "#1d2025",
        ink: "#e8eaed",
        grey: "#9aa0a8",
        rule: "#1d2025",
        accent: "#ffb454",
        gold: "#ff9d2e",
        ribbon: "#7ec8e3",
        negative: "#f0894a",
        levels: [...index.colours].reverse(),
        difference: darkened(index.difference),
      }
    : {
        dark,
        paper: "#ffffff",
        ink: "#1a1a1a",
        grey: "#71767d",
        rule: "#ffffff",
        accent: "#d1495b",
        gold: "#e8830c",
        ribbon: "#2468a8",
        negative: "#d55e00",
        levels: index.colours,
        difference: index.difference,
      };
}

// The diverging scale for a dark ground: 0 is dark.
function darkened(colours) {
  const middle = (colours.length - 1) / 2;
  const shade = (colour, place) => {
    const strength = Math.abs(place - middle) / middle;
    const side = place < middle ? [255, 157, 92] : [112, 196, 255];
    const mixed = side.map((part) => Math.round(39 + (part - 39) * strength));
    return `rgb(${mixed.join(",")})`;
  };
  return colours.map(shade);
}

export function colourOf(value, signed, theme) {
  const colours = signed ? theme.difference : theme.levels;
  const share = signed ? (value + 1) / 2 : value;
  return colours[Math.round(Math.min(1, Math.max(0, share)) * (colours.length - 1))];
}

// A scale with its ends, as part of a chart.
function legend(x, y, signed, theme, size = 11) {
  const colours = signed ? theme.difference : theme.levels;
  const width = 144;
  const ticks = signed ? ["−1", "0", "+1"] : ["0", "0.5", "1"];
  const stripes = Array.from({ length: width / 2 }, (_, place) =>
    draw("rect", {
      x: x + 2 * place,
      y,
      width: 2,
      height: 8,
      fill: colours[Math.round((place / (width / 2 - 1)) * (colours.length - 1))],
    }),
  );
  const labels = ticks.map((text, place) =>
    draw(
      "text",
      {
        x: x + (place * width) / 2,
        y: y + 10 + size,
        "text-anchor": ["start", "middle", "end"][place],
        "font-size": size,
        fill: theme.grey,
      },
      text,
    ),
  );
  return draw("g", { "shape-rendering": "crispEdges" }, ...stripes, ...labels);
}

// ---- The matrix: source tokens across, target tokens down, whole-pixel cells.

const LARGEST_CELL = 40;
const COMFORTABLE_CELL = 22;
const TILTED_CELL = 20;
const OVERHANG = 36;
const SMALLEST_CELL = 13;
const TILT = Math.PI / 3;
const GAP = 9;
const LEGEND_HEIGHT = 42;

// chart = {source, target, values (row by row), signed, links, theme}; extent = {width, height} that
// the matrix should keep to, as long as its tokens stay legible.
export function matrixChart(chart, extent) {
  const layout = matrixLayout(chart, extent);
  const { cell, left, top, width, height, font } = layout;
  const overlay = draw("g", { "pointer-events": "none" });
  const node = draw(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FONT, "font-size": font },
    matrixCells(chart, layout),
    matrixGold(chart, layout),
    ...chart.target.map((token, row) => rowLabel(token, row, chart, layout)),
    ...chart.source.map((token, column) => columnLabel(token, column, chart, layout)),
    overlay,
    legend(left, top + cell * chart.target.length + 14, chart.signed, chart.theme),
  );
  return {
    node,
    width,
    height,
    place: (x, y) => matrixPlace(x, y, chart, layout),
    point: (focus) => {
      overlay.replaceChildren(...highlight(focus, chart, layout));
      emphasise(node, focus);
    },
    anchor: ({ row, column }) => ({
      x: left + ((column ?? chart.source.length - 1) + 1) * cell,
      y: top + (row ?? 0) * cell,
    }),
  };
}

function matrixLayout(chart, extent) {
  const columns = chart.source.length;
  const rows = chart.target.length;
  const beside = extent.width - widest(chart.target, 13) - 2 * GAP;
  const upright = Math.floor(beside / columns);
  const across = upright < TILTED_CELL ? upright : Math.floor((beside - OVERHANG) / columns);
  const down = Math.floor((extent.height - widest(chart.source, 13) - LEGEND_HEIGHT - 20) / rows);
  const wanted = Math.min(across, Math.max(COMFORTABLE_CELL, down));
  const cell = Math.max(SMALLEST_CELL, Math.min(LARGEST_CELL, wanted));
  const font = Math.max(10, Math.min(14, Math.round(cell * 0.62)));
  const tilt = cell >= TILTED_CELL ? TILT : Math.PI / 2;
  const left = Math.ceil(widest(chart.target, font)) + GAP + 4;
  const longest = widest(chart.source, font);
  const top = Math.ceil(longest * Math.sin(tilt)) + font + GAP;
  const overhang = chart.source.reduce((reach, token, column) => {
    const end = (column - columns + 0.5) * cell + widthOf(labelOf(token), font) * Math.cos(tilt);
    return Math.max(reach, end + font);
  }, 4);
  const width = Math.max(left + columns * cell + Math.ceil(overhang), left + 160);
  return { cell, font, tilt, left, top, width, height: top + rows * cell + LEGEND_HEIGHT };
}

// One path for each colour: few elements, however many cells.
function matrixCells(chart, { cell, left, top }) {
  const columns = chart.source.length;
  const side = cell - 1;
  const paths = new Map();
  chart.values.forEach((value, place) => {
    const x = left + (place % columns) * cell;
    const y = top + Math.floor(place / columns) * cell;
    const colour = colourOf(value, chart.signed, chart.theme);
    paths.set(colour, `${paths.get(colour) ?? ""}M${x} ${y}h${side}v${side}h-${side}z`);
  });
  const squares = [...paths].map(([fill, d]) => draw("path", { fill, d }));
  return draw("g", { "shape-rendering": "crispEdges", class: "cells" }, ...squares);
}

function matrixGold(chart, { cell, left, top }) {
  const inset = cell > 20 ? 3 : 2;
  const side = cell - 1 - 2 * inset;
  const rings = (chart.links ?? []).map(([source, target]) =>
    draw("rect", {
      x: left + source * cell + inset,
      y: top + target * cell + inset,
      width: side,
      height: side,
      rx: 3,
    }),
  );
  const stroke = { fill: "none", stroke: chart.theme.gold, "stroke-width": 2 };
  return draw("g", { ...stroke, class: "gold", "pointer-events": "none" }, ...rings);
}

function rowLabel(token, row, { theme }, { cell, left, top }) {
  const place = { x: left - GAP, y: top + row * cell + cell / 2, "text-anchor": "end" };
  return label(token, theme, { ...place, "data-row": row });
}

function columnLabel(token, column, { theme }, { cell, left, top, tilt }) {
  const x = left + column * cell + cell / 2;
  const y = top - GAP + 1;
  const degrees = (-tilt * 180) / Math.PI;
  const place = { x, y, transform: `rotate(${degrees} ${x} ${y})` };
  return label(token, theme, { ...place, "data-column": column });
}

function label(token, theme, place) {
  const fill = isSpecial(token) ? theme.grey : theme.ink;
  const style = { fill, "dominant-baseline": "central", "unicode-bidi": "isolate" };
  return draw("text", { ...style, ...place }, labelOf(token));
}

// The cell, or the token beside or above the cells, at a place of the chart.
function matrixPlace(x, y, chart, { cell, left, top, tilt }) {
  const row = Math.floor((y - top) / cell);
  const isRow = row >= 0 && row < chart.target.length;
  if (isRow && x < left) return { row, column: null };
  // above the cells, labels lean to the right
  const lean = y < top ? (top - y) / Math.tan(tilt) : 0;
  const column = Math.floor((x - left - lean) / cell);
  const isColumn = column >= 0 && column < chart.source.length;
  if (isColumn && y < top) return { row: null, column };
  return isRow && isColumn ? { row, column } : null;
}

function highlight(focus, chart, { cell, left, top }) {
  if (!focus) return [];
  const { row, column } = focus;
  const across = chart.source.length * cell - 1;
  const down = chart.target.length * cell - 1;
  const veil = (x, y, width, height) =>
    draw("rect", { x, y, width, height, fill: chart.theme.paper, opacity: 0.72 });
  const frame = (x, y, width, height) =>
    draw("rect", { x, y, width, height, fill: "none", stroke: chart.theme.accent, "stroke-width": 2 });
  const y = top + (row ?? 0) * cell;
  const x = left + (column ?? 0) * cell;
  if (column === null) {
    const below = y + cell;
    return [
      veil(left, top, across, Math.max(0, y - top - 1)),
      veil(left, below, across, Math.max(0, top + down - below)),
      frame(left - 1, y - 1, across + 2, cell + 1),
    ];
  }
  if (row === null) {
    const right = x + cell;
    return [
      veil(left, top, Math.max(0, x - left - 1), down),
      veil(right, top, Math.max(0, left + across - right), down),
      frame(x - 1, top - 1, cell + 1, down + 2),
    ];
  }
  return [frame(x - 1, y - 1, cell + 1, cell + 1)];
}

function emphasise(node, focus) {
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
      emphasise(node, focus);
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
    const weights = Array.from({ length: columns }, (_, column) => chart.values[row * columns + column]);
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
