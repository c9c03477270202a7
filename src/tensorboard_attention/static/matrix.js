// The matrix: source tokens across, target tokens down, whole-pixel cells.

import { colourOf, draw, legend } from "./paint.js";
import { FONT, isSpecial, labelOf, widest, widthOf } from "./tokens.js";

const LARGEST_CELL = 40;
const COMFORTABLE_CELL = 22;
const TILTED_CELL = 20;
const OVERHANG = 36;
const SMALLEST_CELL = 13;
const TILT = Math.PI / 3;
const GAP = 9;
const LEGEND_HEIGHT = 42;

// chart = {source, target, values (row by row), signed, links, theme}; room = {width, height} that
// the matrix should keep to, as long as its tokens stay legible.
export function matrixChart(chart, room) {
  const layout = matrixLayout(chart, room);
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

function matrixLayout(chart, room) {
  const columns = chart.source.length;
  const rows = chart.target.length;
  const beside = room.width - widest(chart.target, 13) - 2 * GAP;
  const upright = Math.floor(beside / columns);
  const across = upright < TILTED_CELL ? upright : Math.floor((beside - OVERHANG) / columns);
  const down = Math.floor((room.height - widest(chart.source, 13) - LEGEND_HEIGHT - 20) / rows);
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

export function label(token, theme, place) {
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

export function emphasise(node, focus) {
  for (const text of node.querySelectorAll("text[data-row], text[data-column]")) {
    const { row, column } = text.dataset;
    const isIt = focus && (Number(row) === focus.row || Number(column) === focus.column);
    text.setAttribute("font-weight", isIt ? 700 : 400);
  }
}
