// Ribbons: source tokens on the left, target tokens on the right, as wide as the weight between.

import { emphasise, label } from "./matrix.js";
import { draw } from "./paint.js";
import { FONT, widest } from "./tokens.js";

const TALLEST_LINE = 28;
const SHORTEST_LINE = 16;
const LEAST_WEIGHT = 0.01;
const PAD = 10;

// Takes and gives what matrixChart does.
export function ribbonChart(chart, room) {
  const layout = ribbonLayout(chart, room);
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

function ribbonLayout(chart, room) {
  const lines = Math.max(chart.source.length, chart.target.length);
  const line = Math.max(SHORTEST_LINE, Math.min(TALLEST_LINE, Math.floor((room.height - 2 * PAD) / lines)));
  const font = Math.max(11, Math.min(14, Math.round(line * 0.62)));
  const left = Math.ceil(widest(chart.source, font)) + 2 * PAD;
  const side = Math.ceil(widest(chart.target, font)) + 2 * PAD;
  const between = Math.max(120, Math.min(380, room.width - left - side));
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
