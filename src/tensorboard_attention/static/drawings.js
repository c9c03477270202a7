// What is drawn of what is shown, and pointing at it.

import { formatNumber } from "./facts.js";
import { differenceOf, sameTokens } from "./frames.js";
import { matrixChart } from "./matrix.js";
import { make } from "./paint.js";
import { ribbonChart } from "./ribbons.js";
import { kindName } from "./state.js";
import { labelOf } from "./tokens.js";

// What is drawn: one chart, or two and their difference.
export function drawings({ shown, state, selection }, theme, room) {
  const drawn = shown.map(({ name, run, frame }) => ({
    title: shown.length > 1 ? `${name}  ${run}` : run,
    note: noteOf(frame, shown.length > 1, selection),
    data: { ...frame, values: frame.weights, signed: false },
  }));
  if (shown.length > 1 && sameTokens(shown[0].frame, shown[1].frame)) {
    const [first, second] = shown.map(({ frame }) => frame);
    drawn.push({ title: "A − B", note: "blue: more in A, orange: more in B", data: { ...first, values: differenceOf(first, second), signed: true } });
  }
  const makeChart = state.view === "matrix" ? matrixChart : ribbonChart;
  const share = { ...room, width: Math.floor((room.width - 28 * (drawn.length - 1)) / drawn.length) };
  return drawn.map(({ title, note, data }) => {
    const { source, target, values, signed } = data;
    const links = state.gold === "on" ? data.links : null;
    return { title, note, data, share: share.width, chart: makeChart({ source, target, values, signed, links, theme }, share) };
  });
}

function noteOf(frame, isOneOfTwo, { sentence, kind, rank, ranks }) {
  const step = frame.step === null ? null : `step ${frame.step.toLocaleString("en")}`;
  const hypothesis = ranks.length > 1 ? ` ${rank + 1}` : "";
  const score = frame.score === null ? null : `log-probability ${formatNumber(frame.score, 2)}`;
  const which = isOneOfTwo ? [] : [sentence, `${kindName(kind)}${hypothesis}`];
  return [...which, frame.map, step, score].filter(Boolean).join(", ");
}

// A drawing that is pointed at.
export function framed({ title, note, data, chart, share }, viewer) {
  const tip = make("div", { class: "tip", hidden: true });
  const pad = make("div", { class: "pad" }, chart.node, tip);
  const at = (event) => {
    const box = chart.node.getBoundingClientRect();
    return chart.place(event.clientX - box.left, event.clientY - box.top);
  };
  chart.node.addEventListener("pointermove", (event) => viewer.pinned || viewer.point(at(event)));
  chart.node.addEventListener("click", (event) => {
    const focus = at(event);
    viewer.pinned = focus !== null && !(viewer.pinned && JSON.stringify(focus) === JSON.stringify(viewer.focus));
    viewer.point(focus);
  });
  chart.tell = (focus) => tell(tip, chart, focus, data);
  const caption = make("figcaption", {}, make("b", {}, title), make("span", {}, note));
  caption.style.maxWidth = `${Math.max(share, chart.width)}px`;
  return make("figure", {}, caption, pad);
}

function tell(tip, chart, focus, { source, target, values, signed }) {
  const isCell = focus && focus.row !== null && focus.column !== null;
  tip.hidden = !isCell || focus.row >= target.length || focus.column >= source.length;
  if (tip.hidden) return;
  const weight = values[focus.row * source.length + focus.column];
  const number = formatNumber(weight, 4);
  tip.replaceChildren(
    make("bdi", {}, labelOf(target[focus.row])),
    " → ",
    make("bdi", {}, labelOf(source[focus.column])),
    make("b", {}, signed && weight > 0 ? `+${number}` : number),
  );
  const { x, y } = chart.anchor(focus);
  const rightmost = tip.parentElement.clientWidth - tip.offsetWidth;
  tip.style.left = `${Math.max(0, Math.min(x + 8, rightmost))}px`;
  tip.style.top = `${y - 8}px`;
}

export function spokenFocus({ row, column }, frame) {
  if (column === null) return `target ${frame.target[row]}`;
  if (row === null) return `source ${frame.source[column]}`;
  const weight = frame.weights[row * frame.source.length + column];
  return `${frame.target[row]} looks at ${frame.source[column]}: ${formatNumber(weight, 4)}`;
}
