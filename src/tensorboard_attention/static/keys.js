// The keys of the viewer, and the list of them.

import { make } from "./paint.js";

const KEYS = [
  ["← →", "step back and forth; inside a chart, move"],
  ["↑ ↓", "inside a chart, move"],
  [", .", "step back and forth, everywhere"],
  ["space", "replay training"],
  ["n p", "next, previous sentence"],
  ["k", "next kind"],
  ["v", "matrix or ribbons"],
  ["g", "gold alignment"],
  ["h", "next head of several"],
  ["c", "compare"],
  ["Esc", "release the token"],
];

// What a key does to a viewer.
export function onKey(viewer, event) {
  const inField = event.target.closest?.("input, select, textarea, summary, .switch");
  if (event.ctrlKey || event.metaKey || event.altKey || !viewer.shown?.length || !viewer.node.isConnected) return;
  const inStage = viewer.stage.contains(event.target);
  const act = (inStage ? moves(viewer, event.key) : null) ?? (inField ? null : shortcuts(viewer, event));
  if (!act) return;
  event.preventDefault();
  act();
}

function moves(viewer, key) {
  const [{ frame }] = viewer.shown;
  const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[key];
  if (!by) return null;
  const within = (place, count) => Math.min(count - 1, Math.max(0, place));
  return () => {
    viewer.pinned = true;
    const { row, column } = viewer.focus ?? { row: null, column: null };
    const isNew = row === null && column === null;
    viewer.point({
      row: within((row ?? 0) + (isNew ? 0 : by[0]), frame.target.length),
      column: within((column ?? 0) + (isNew ? 0 : by[1]), frame.source.length),
    });
  };
}

function shortcuts(viewer, { key, target }) {
  const onButton = target.closest?.("button") && [" ", "Enter"].includes(key);
  const { place } = viewer.shown[0];
  const { selection, state } = viewer;
  const next = (values, value, by = 1) => values[(values.indexOf(value) + by + values.length) % values.length];
  const acts = {
    ArrowLeft: () => viewer.goTo(place - 1),
    ArrowRight: () => viewer.goTo(place + 1),
    ",": () => viewer.goTo(place - 1),
    ".": () => viewer.goTo(place + 1),
    " ": () => viewer.replay(),
    n: () => viewer.change({ sentence: next(selection.sentences, selection.sentence), rank: null }),
    p: () => viewer.change({ sentence: next(selection.sentences, selection.sentence, -1), rank: null }),
    k: () => viewer.change({ kind: next(selection.kinds, selection.kind), rank: null }),
    v: () => viewer.change({ view: state.view === "matrix" ? "ribbons" : "matrix" }),
    g: () => viewer.toggle("gold"),
    c: () => viewer.toggle("compare"),
    h: () => viewer.grid.next(),
    Escape: () => viewer.point(null),
  };
  return onButton ? null : acts[key];
}

export function keyHelp() {
  const rows = KEYS.map(([key, meaning]) => make("tr", {}, make("th", {}, make("kbd", {}, key)), make("td", {}, meaning)));
  return make("details", { class: "menu keys" }, make("summary", { title: "Keys", "aria-label": "keys" }, "?"), make("table", {}, ...rows));
}
