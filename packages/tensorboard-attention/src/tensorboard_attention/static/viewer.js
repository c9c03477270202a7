import { FONT, SCALES, UNKNOWN, draw, effectScale, imageOf, make, matrixChart, ribbonChart, scaleOf, sentenceOf, themeOf, tokenText, wordOf } from "./charts.js";
import { Recorded, addressOf, columnOf, differenceOf, entropyOf, figuresOf, initialState, kindName, rowOf, sameTokens, selectionOf, statisticsOf } from "./data.js";
import { countsOfNames, namesOfHead } from "./heads.js";

// The viewer of the tab, the page and the notebook: controls, heads, charts, figures, files and keys.

// ---- Beside the charts: the sentence, its figures, and the weights of one token

const FIGURES = [
  ["entropy", "entropy", "Mean over the target tokens, 0 sharp, 1 uniform: nats / log(source length)", 3],
  ["peak", "peak weight", "Mean over the target tokens of their maximum weight", 3],
  ["score", "log-probability", "Of the target tokens given the source, in nats", 2],
  ["perToken", "… per token", "Log-probability divided by the number of target tokens", 3],
  ["bleu", "BLEU", "Of this sentence, 0 to 100", 1],
];

const NOTHING = [
  "No attention has been recorded in this log folder yet.",
  "Write it from a model:",
];
const EXAMPLE = `from tensorboard_attention import add_attention, capture

with capture(model, writer, step):  # every layer and head of a PyTorch model
    model(**probe)
add_attention(writer, "attention/0", weights, source_tokens, target_tokens, step)  # weights that you have`;

export function formatNumber(value, digits) {
  if (value === null || value === undefined) return "–";
  return (Number(value.toFixed(digits)) + 0).toFixed(digits).replace("-", "−"); // + 0: no "−0.00"
}

// shown = [{name, frame}, …], one or two.
function sentencePart(shown) {
  const [first] = shown;
  const lines = [make("dt", {}, "source"), spoken(first.frame, "source")];
  const targets = new Map();
  for (const { name, frame } of shown) {
    const text = sentenceOf(frame.target); // of a plain side its positions
    targets.set(text, [...(targets.get(text) ?? []), { name, frame }]);
  }
  for (const sharing of targets.values()) {
    const names = targets.size > 1 ? ` ${sharing.map(({ name }) => name).join(", ")}` : "";
    lines.push(make("dt", {}, `target${names}`), spoken(sharing[0].frame, "target"));
  }
  if (first.frame.reference) lines.push(make("dt", {}, "reference"), make("dd", { dir: "auto", class: "reference" }, first.frame.reference));
  return make("dl", { class: "sentence" }, ...lines);
}

function spoken(frame, side) {
  const tokens = frame[side];
  if (frame.plain?.[side]) return make("dd", {}, `${tokens.length} position${tokens.length === 1 ? "" : "s"}`);
  const text = sentenceOf(tokens);
  const known = tokens.includes(UNKNOWN) ? text.split(UNKNOWN) : [text];
  const unknown = () => make("mark", { title: "a word that the model does not know" }, UNKNOWN);
  return make("dd", { dir: "auto" }, ...known.flatMap((part, place) => (place ? [unknown(), part] : [part])));
}

function figuresPart(shown) {
  const head = shown.length > 1 ? [make("tr", {}, make("th"), ...shown.map(({ name }) => make("th", { scope: "col" }, name)))] : [];
  const rows = FIGURES.filter(([key]) => shown.some(({ frame }) => figuresOf(frame)[key] !== null));
  const body = rows.map(([key, name, meaning, digits]) => {
    const cells = shown.map(({ frame }) =>
      make("td", { "data-figure": key }, formatNumber(figuresOf(frame)[key], digits)),
    );
    return make("tr", { title: meaning }, make("th", { scope: "row" }, name), ...cells);
  });
  return make("table", { class: "figures" }, ...head, ...body);
}

// The weights of the token under the pointer, in the order of the sentence, with bars.
function weightsPart(shown, focus, theme) {
  const [{ frame }] = shown;
  if (!focus || (focus.row ?? 0) >= frame.target.length || (focus.column ?? 0) >= frame.source.length) {
    return make("p", { class: "hint" }, "Point at a target token for its weights, at a source token for the weights on it.");
  }
  const isRow = focus.row !== null;
  const token = isRow ? frame.target[focus.row] : frame.source[focus.column];
  const others = isRow ? frame.source : frame.target;
  const series = shown.map((each) =>
    isRow ? rowOf(each.frame, focus.row) : columnOf(each.frame, focus.column),
  );
  const marked = isRow ? focus.column : null;
  const { isEffect } = frame;
  const most = isEffect ? Math.max(...series.flatMap((each) => [...each]), 1e-9) : 1;
  const lines = others.map((other, place) => weightLine(other, series, place, place === marked, theme, most));
  const total = series[0].reduce((sum, weight) => sum + weight, 0);
  const note = isEffect
    ? "by how much the log-probability falls without the source token"
    : isRow
    ? `entropy ${formatNumber(entropyOf(series[0]), 3)}, sum ${formatNumber(total, 3)}`
    : `total weight ${formatNumber(total, 3)}`;
  return make(
    "div",
    { class: "weights" },
    make("h3", {}, tokenText(token), partOf(isRow ? frame.target : frame.source, focus.row ?? focus.column), make("small", {}, isEffect ? (isRow ? "depends on" : "matters to") : isRow ? "attends to" : "is attended to by")),
    make("ol", {}, ...lines),
    make("p", { class: "hint" }, note),
  );
}

// The word that a subword belongs to.
function partOf(tokens, place) {
  const word = wordOf(tokens, place);
  return word && make("small", {}, "in ", make("bdi", {}, word));
}

function weightLine(token, series, place, marked, theme, most) {
  const bars = series.map((weights, number) => {
    const color = number ? theme.gray : theme.ribbon;
    const bar = make("i", { class: "bar" });
    bar.style.width = `${Math.max(0, (100 * (weights[place] ?? 0)) / most)}%`;
    bar.style.background = color;
    return bar;
  });
  const numbers = series.map((weights) =>
    make("span", { class: "number" }, formatNumber(weights[place], 4)),
  );
  return make(
    "li",
    { class: marked ? "marked" : null },
    tokenText(token, { title: token }),
    make("span", { class: "bars" }, ...bars),
    ...numbers,
  );
}

const HISTORY_POINTS = 500;

// Entropy over the steps that are loaded, as wide as the slider below it.
function historyLine(frames, theme) {
  const last = Math.max(1, frames.length - 1);
  const loaded = frames.flatMap((frame, place) => (frame.weights || frame.figures ? [place] : []));
  const every = Math.ceil(loaded.length / HISTORY_POINTS);
  const points = loaded.filter((_, number) => number % every === 0).map((place) => [place / last, 1 - figuresOf(frames[place]).entropy]);
  const line = points.map(([x, y]) => `${(1000 * x).toFixed(1)},${(2 + 24 * y).toFixed(2)}`).join(" ");
  return draw(
    "svg",
    { class: "history", viewBox: "0 0 1000 28", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("polygon", { points: `${(1000 * points[0][0]).toFixed(1)},28 ${line} ${(1000 * points.at(-1)[0]).toFixed(1)},28`, fill: theme.ribbon, opacity: 0.16 }),
    draw("polyline", { points: line, fill: "none", stroke: theme.ribbon, "stroke-width": 1.5, "vector-effect": "non-scaling-stroke" }),
  );
}

// Of a log folder without records.
function emptyPart(problems) {
  const lines = problems.map((problem) => make("li", {}, problem));
  return make("div", { class: "nothing" }, make("h2", {}, NOTHING[0]), make("p", {}, NOTHING[1]), make("pre", {}, EXAMPLE), lines.length ? make("ul", { class: "problems" }, ...lines) : null);
}

// ---- Controls: native ones with a label, each with `set`

export function picker(label, onPick) {
  const select = make("select", { "aria-label": label, onchange: () => onPick(select.value) });
  const node = make("label", { class: "field" }, make("span", {}, label), select);
  let offered = null;
  return {
    node,
    set: (value, options) => {
      const wanted = JSON.stringify(options);
      if (wanted !== offered) {
        select.replaceChildren(...options.map(([key, text]) => make("option", { value: key }, text)));
        offered = wanted;
      }
      select.value = value;
      node.hidden = options.length === 0;
    },
  };
}

// Buttons of which one is chosen.
function switcher(label, onPick) {
  const group = make("div", { class: "switch", role: "radiogroup", "aria-label": label });
  const node = make("div", { class: "field" }, make("span", {}, label), group);
  return {
    node,
    set: (value, options) => {
      const buttons = options.map(([key, text]) =>
        make("button", { type: "button", role: "radio", "aria-checked": String(key === value), "data-value": key, onclick: () => onPick(key) }, text),
      );
      const held = group.contains(document.activeElement);
      group.replaceChildren(...buttons);
      if (held) group.querySelector('[aria-checked="true"]')?.focus();
    },
  };
}

function toggle(text, title, onToggle) {
  const node = make("button", { type: "button", class: "toggle", title, "aria-pressed": "false", onclick: onToggle }, text);
  return {
    node,
    set: (on, available = true) => {
      node.setAttribute("aria-pressed", String(on));
      node.disabled = !available;
    },
  };
}

function menu(text, entries) {
  const node = make("details", { class: "menu" }, make("summary", {}, text));
  const close = () => node.removeAttribute("open");
  const buttons = entries.map(([name, act]) =>
    make("button", { type: "button", onclick: () => { close(); act(); } }, name),
  );
  node.append(make("div", {}, ...buttons));
  node.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !node.contains(relatedTarget)) close();
  });
  document.addEventListener("pointerdown", ({ target }) => node.contains(target) || close());
  return { node };
}

// A slider over recorded steps, with a line above it.
function stepSlider(label, onStep) {
  const range = make("input", { type: "range", min: 0, step: 1, "aria-label": label, oninput: () => onStep(Number(range.value)) });
  const above = make("div", { class: "above", title: "entropy over the steps" });
  const said = make("output", { class: "step" });
  const node = make("div", { class: "steps" }, make("div", { class: "track" }, above, range), said);
  return {
    node,
    set: (frames, place, history) => {
      range.max = frames.length - 1;
      range.value = place;
      range.disabled = frames.length < 2;
      range.setAttribute("aria-valuetext", `step ${frames[place].step}`);
      const share = frames.length > 1 ? place / (frames.length - 1) : 0;
      const needle = make("i", { class: "needle" });
      needle.style.left = `${100 * share}%`;
      const marks = frames.flatMap((frame, at) => (frame.marks?.length ? [markAt(frame, at / Math.max(1, frames.length - 1))] : []));
      above.replaceChildren(...(frames.length > 1 ? [history, ...marks, needle] : []));
      said.replaceChildren(
        make("b", {}, `step ${frames[place].step.toLocaleString("en")}`),
        make("small", {}, `${place + 1} of ${frames.length}`),
      );
    },
  };
}

// What is said of a step that is loaded, such as an alarm.
function markAt({ step, marks }, share) {
  const mark = make("i", { class: "alarm", title: `step ${step.toLocaleString("en")}: ${marks.join("; ")}` });
  mark.style.left = `${100 * share}%`;
  return mark;
}

// ---- Several heads as small maps, a row for each layer, means first; the chosen one is the matrix

const SIDE = { least: 14, most: 96 }; // of a map [pixels]
const AROUND = { across: 14, down: 22 }; // a map
const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 };
const STATISTICS = [
  ["entropy", "entropy", "0 sharp, 1 uniform"],
  ["peak", "peak weight", "mean over the target tokens of their maximum weight"],
  ["diagonal", "diagonal", "share of the weight within one position of the diagonal"],
  ["first", "first", "share of the weight on the first source token"],
  ["last", "last", "share of the weight on the last source token"],
];
const EFFECT = ["effect", "effect", "what the loss gains without the largest weight of each row of the head, the others of the row renormalized"];

const CURVE_STEPS = 40; // at most, evenly spaced
const CURVE = { width: 160, height: 16 };

// How many heads have each name over the steps: a line with a curve for each; counts: [[share of the steps, {name: number}], …].
function curvesOfNames(counts, theme) {
  const names = [...new Set(counts.flatMap(([, own]) => Object.keys(own)))].sort();
  const most = Math.max(1, ...counts.flatMap(([, own]) => Object.values(own)));
  return names.map((name) => {
    const numbers = counts.map(([, own]) => own[name] ?? 0);
    const points = counts.map(([x], place) => `${(CURVE.width * x).toFixed(1)},${(1 + (CURVE.height - 2) * (1 - numbers[place] / most)).toFixed(1)}`).join(" ");
    const line = draw("polyline", { points, fill: "none", stroke: theme.ribbon, "stroke-width": 1.5 });
    const curve = draw("svg", { ...CURVE, viewBox: `0 0 ${CURVE.width} ${CURVE.height}`, "aria-hidden": "true" }, line);
    return make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, curve), make("td", {}, `${numbers[0]} → ${numbers.at(-1)} heads`));
  });
}

class MapGrid {
  // onPick: name of the map; onOpen: the statistics are open
  constructor(onPick, onOpen) {
    this.onPick = onPick;
    this.curves = make("table", { class: "curves", "aria-label": "names over the steps" });
    this.maps = make("div", { class: "rows", role: "radiogroup", "aria-label": "heads", onkeydown: (event) => this.key(event) });
    this.table = make("table", { class: "figures" });
    this.filter = picker("show heads", (name) => {
      this.wanted = name;
      this.showStatistics();
    });
    const onOpened = () => {
      this.showStatistics();
      onOpen();
    };
    this.details = make("details", { class: "statistics", ontoggle: onOpened }, make("summary", {}, "statistics of the heads"), this.curves, this.filter.node, this.table);
    this.node = make("section", { class: "maps" }, this.maps, this.details);
    this.wanted = ""; // the name of the heads in the table; "": all
    this.order = null; // of the table: a key of STATISTICS; null: as the maps
  }

  // extent: {width, height} for all maps
  show(frame, kind, theme, extent) {
    const { maps = [], map: chosen, source, target } = frame;
    const isHeld = this.maps.contains(document.activeElement);
    Object.assign(this, { frame, names: maps.map(({ name }) => name), chosen });
    this.node.hidden = !maps.length;
    if (this.node.hidden) return;
    const layers = new Map();
    for (const map of maps) layers.set(map.layer, [...(layers.get(map.layer) ?? []), map]);
    const most = Math.max(...[...layers.values()].map((row) => row.length));
    const available = Math.min(extent.width / most - AROUND.across, extent.height / layers.size - AROUND.down);
    const side = Math.max(SIDE.least, Math.min(SIDE.most, Math.floor(available)));
    const longest = Math.max(source.length, target.length);
    const size = { width: Math.max(6, (side * source.length) / longest), height: Math.max(6, (side * target.length) / longest) };
    const isCaptioned = side > 40 || layers.size < 3;
    const rows = [...layers].map(([layer, own]) => {
      const isOfAll = layer === null;
      const name = isOfAll ? "all" : `layer ${layer + 1}`;
      const title = make("span", { class: "layer", title: own[0].module ?? "" }, layers.size > 1 ? name : "");
      return make("div", {}, title, ...own.map((map) => this.small(map, source.length, size, kind, theme, isCaptioned)));
    });
    this.maps.replaceChildren(...rows);
    this.showStatistics();
    if (isHeld) this.maps.querySelector('[aria-checked="true"]')?.focus();
  }

  small({ name, short, module, weights }, columns, { width, height }, kind, theme, isCaptioned) {
    const isChosen = name === this.chosen;
    const title = [name, module].filter(Boolean).join(", ");
    const attributes = { type: "button", role: "radio", "aria-checked": String(isChosen), "aria-label": name, title, tabindex: isChosen ? 0 : -1 };
    const canvas = imageOf(weights, columns, scaleOf(kind, [{ values: weights, columns }]), theme);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    return make("button", { ...attributes, onclick: () => this.onPick(name) }, canvas, isCaptioned ? make("span", {}, short) : null);
  }

  get isOpen() {
    return this.details.open && !this.node.hidden;
  }

  showCurves(counts, theme) {
    this.curves.replaceChildren(...(counts.length > 1 ? curvesOfNames(counts, theme) : []));
  }

  showStatistics() {
    if (!this.details.open || !this.frame?.maps?.length) return;
    const all = this.frame.maps.map((map) => ({ name: map.name, effect: map.effect ?? null, called: (map.called ??= namesOfHead(this.frame, map)), ...(map.statistics ??= statisticsOf(this.frame, map)) }));
    const counts = new Map();
    for (const { called } of all) for (const { name } of called) counts.set(name, (counts.get(name) ?? 0) + 1);
    if (!counts.has(this.wanted)) this.wanted = "";
    this.filter.set(this.wanted, [["", "all"], ...[...counts].map(([name, count]) => [name, `${name} (${count})`])]);
    const found = all.filter(({ called }) => !this.wanted || called.some(({ name }) => name === this.wanted));
    if (this.order) found.sort((one, other) => other[this.order] - one[this.order]);
    const columns = all.some(({ effect }) => effect !== null) ? [...STATISTICS, EFFECT] : STATISTICS;
    const head = columns.map(([key, text, title]) => {
      const onclick = () => {
        this.order = this.order === key ? null : key;
        this.showStatistics();
      };
      return make("th", { scope: "col", title, "aria-sort": this.order === key ? "descending" : "none" }, make("button", { type: "button", onclick }, text));
    });
    const rows = found.map((each) => {
      const cells = columns.map(([key]) => make("td", {}, each[key] === null ? "" : formatNumber(each[key], 3)));
      const pick = make("button", { type: "button", onclick: () => this.onPick(each.name) }, each.name);
      const called = each.called.map(({ name, share, title }) => make("span", { title: `${title}; here ${formatNumber(share, 2)}` }, name));
      return make("tr", { class: each.name === this.chosen ? "marked" : null }, make("th", { scope: "row" }, pick), make("td", { class: "called" }, ...called), ...cells);
    });
    this.table.replaceChildren(make("tr", {}, make("th"), make("th", { scope: "col", title: "what the weights look like" }, "name"), ...head), ...rows);
  }

  next() {
    const { names, chosen } = this;
    if (names.length) this.onPick(names[(names.indexOf(chosen) + 1) % names.length]);
  }

  // Up and down lead to the same head of another layer.
  key(event) {
    const { names, chosen, maps: { children, lastChild } } = this;
    const place = names.indexOf(chosen);
    const isUpright = ["ArrowUp", "ArrowDown"].includes(event.key) && children.length > 1 && place > 0;
    const by = STEPS[event.key] * (isUpright ? lastChild.querySelectorAll("button").length : 1);
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    this.onPick(names[Math.min(names.length - 1, Math.max(0, place + by))]);
  }
}

// ---- One chart, or two and their difference, and pointing at them

function drawings({ shown, state, selection }, theme, extent) {
  const matrixOf = ({ frame }) => ({ values: frame.weights, columns: frame.source.length });
  const areAlike = shown.length < 2 || (sameTokens(shown[0].frame, shown[1].frame) && shown[0].frame.isEffect === shown[1].frame.isEffect); // then they share a scale
  const scaled = (frame, matrices) => (frame.isEffect ? effectScale(matrices) : scaleOf(state.scale, matrices));
  const drawn = shown.map(({ name, run, kind, frame }) => ({
    title: shown.length > 1 ? `${name}  ${run}` : run,
    note: noteOf(frame, shown.length > 1 && !state.withKind, { ...selection, kind: kind ?? selection.kind }),
    data: { ...frame, values: frame.weights, scale: scaled(frame, (areAlike ? shown : [{ frame }]).map(matrixOf)) },
  }));
  if (shown.length > 1 && areAlike) {
    const [first, second] = shown.map(({ frame }) => frame);
    const values = differenceOf(first, second);
    const scale = scaleOf(state.scale, [{ values, columns: first.source.length }], true, first.isEffect ? "effects" : "weights");
    drawn.push({ title: "A − B", note: "blue: more in A, orange: more in B", data: { ...first, values, scale, signed: true } });
  }
  const makeChart = state.view === "matrix" ? matrixChart : ribbonChart;
  const share = { ...extent, width: Math.floor((extent.width - 28 * (drawn.length - 1)) / drawn.length) };
  return drawn.map(({ title, note, data }) => {
    const links = state.gold === "on" ? data.links : null;
    return { title, note, data, share: share.width, chart: makeChart({ ...data, links, theme }, share) };
  });
}

function noteOf(frame, isOneOfTwo, { sentence, kind, rank, ranks }) {
  const step = frame.step === null ? null : `step ${frame.step.toLocaleString("en")}`;
  const hypothesis = ranks.length > 1 ? ` ${rank + 1}` : "";
  const score = frame.score === null ? null : `log-probability ${formatNumber(frame.score, 2)}`;
  const which = isOneOfTwo ? [] : [sentence, `${kindName(kind)}${hypothesis}`];
  const text = [...which, frame.isEffect ? "effect of leaving a source token out" : frame.map, step, score].filter(Boolean).join(", ");
  return sentence ? text : text.slice(0, 1).toUpperCase() + text.slice(1); // no name, which stays as it is
}

// A chart with its caption, that reacts to the pointer.
function framed({ title, note, data, chart, share }, viewer) {
  const tip = make("div", { class: "tip", hidden: true });
  const pad = make("div", { class: "pad" }, chart.node, tip);
  const at = (event) => {
    const box = chart.node.getBoundingClientRect();
    return chart.place(event.clientX - box.left, event.clientY - box.top);
  };
  chart.node.addEventListener("pointermove", (event) => viewer.pinned || viewer.point(at(event)));
  chart.node.addEventListener("click", (event) => {
    const focus = at(event);
    viewer.pin(viewer.pinned && JSON.stringify(focus) === JSON.stringify(viewer.focus) ? null : focus, focus);
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
  const words = [wordOf(target, focus.row), wordOf(source, focus.column)].filter(Boolean).map((word) => make("bdi", {}, word));
  tip.replaceChildren(
    tokenText(target[focus.row]),
    " → ",
    tokenText(source[focus.column]),
    make("b", {}, signed && weight > 0 ? `+${number}` : number),
    words.length ? make("small", {}, "in ", words[0], words[1] ? ", " : "", words[1]) : "",
  );
  const { x, y } = chart.anchor(focus);
  const rightmost = tip.parentElement.clientWidth - tip.offsetWidth;
  tip.style.left = `${Math.max(0, Math.min(x + 8, rightmost))}px`;
  tip.style.top = `${y - 8}px`;
}

function spokenFocus({ row, column }, frame) {
  if (column === null) return `target ${frame.target[row]}`;
  if (row === null) return `source ${frame.source[column]}`;
  const weight = frame.weights[row * frame.source.length + column];
  const does = frame.isEffect ? "depends on" : "attends to";
  return `${frame.target[row]} ${does} ${frame.source[column]}: ${formatNumber(weight, 4)}`;
}

// ---- The view as a file: PNG, SVG or JSON

const EDGE = 20;
const TITLE = 44;
const SHARPNESS = 2; // pixels of the PNG for one of the chart

function filesMenu(viewer) {
  const name = (ending) => `${nameOf(viewer)}.${ending}`;
  return menu("export", [
    ["PNG", async () => download(name("png"), await pngBlob(pictureOf(viewer)), "image/png")],
    ["SVG", () => download(name("svg"), svgText(pictureOf(viewer)), "image/svg+xml")],
    ["JSON", () => download(name("json"), jsonText(viewer.selection, viewer.shown), "application/json")],
    ["copy link", () => copyLink(viewer)],
  ]);
}

function nameOf({ selection: { sentence, kind }, shown }) {
  const steps = shown.map(({ frame }) => frame.step).filter((step) => step !== null).join("-");
  return [sentence, kind, shown[0].frame.isEffect ? "effect" : shown[0].frame.map, steps && `step-${steps}`].filter(Boolean).join("-") || "attention";
}

// Files have light colors; a selected token or cell is marked in them, too.
function pictureOf(viewer) {
  const theme = themeOf(false, viewer.index);
  const figures = drawings(viewer, theme, viewer.extent());
  if (viewer.pinned) for (const { chart } of figures) chart.point(viewer.focus);
  return composedPicture(figures, theme);
}

// Without a clipboard, as on a page that is not served securely, the link itself is shown.
async function copyLink(viewer) {
  const link = viewer.host.link();
  try {
    await navigator.clipboard.writeText(link);
    viewer.say("The link is copied.");
  } catch {
    viewer.say(link);
  }
}

// figures = [{title, note, chart}, …] side by side.
function composedPicture(figures, theme) {
  let x = EDGE;
  const height = Math.max(...figures.map(({ chart }) => chart.height)) + TITLE + 2 * EDGE;
  const parts = figures.flatMap(({ title, note, chart }) => {
    const node = chart.node.cloneNode(true);
    node.setAttribute("x", x);
    node.setAttribute("y", EDGE + TITLE);
    const line = (text, y, size, fill) => draw("text", { x, y, "font-size": size, fill }, text);
    const heading = [line(title, EDGE + 12, 14, theme.ink), line(note, EDGE + 30, 12, theme.gray)];
    x += Math.max(chart.width, 200) + 2 * EDGE;
    return [...heading, node];
  });
  const width = x - EDGE;
  const paper = draw("rect", { width, height, fill: theme.paper });
  const frame = { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FONT };
  return { node: draw("svg", frame, paper, ...parts), width, height };
}

function svgText({ node }) {
  return new XMLSerializer().serializeToString(node);
}

async function pngBlob(picture) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(picture))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = picture.width * SHARPNESS;
  canvas.height = picture.height * SHARPNESS;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// shown = [{name, run, frame}, …]; weights as rows of the target tokens.
function jsonText(selection, shown) {
  const views = shown.map(({ run, frame }) => {
    const columns = frame.source.length;
    const row = (_, place) => Array.from(frame.weights.subarray(place * columns, (place + 1) * columns), (w) => Number(w.toFixed(5)));
    return {
      run,
      step: frame.step,
      map: frame.map ?? null,
      source: frame.source,
      target: frame.target,
      [frame.isEffect ? "effect" : "weights"]: frame.target.map(row),
      alignment: frame.links ?? null,
      ...figuresOf(frame),
    };
  });
  return JSON.stringify({ sentence: selection.sentence, kind: selection.kind, rank: selection.rank, views }, null, 1);
}

function download(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-");
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}

// ---- Keys

// What keys do, and the control without which they do nothing.
const KEYS = [
  ["← → ↑ ↓", "inside a chart, move"],
  ["← →", "elsewhere, step back and forth", ({ time }) => time],
  [", .", "step back and forth, everywhere", ({ time }) => time],
  ["space", "replay training", ({ time }) => time],
  ["n p", "next, previous sentence", ({ sentence }) => sentence.node],
  ["k", "next kind", ({ kind }) => kind.node],
  ["v", "matrix or ribbons"],
  ["e", "weight or effect", ({ matter }) => matter.node],
  ["s", "next scale of the colors", ({ scale }) => scale.node],
  ["g", "gold alignment", ({ gold }) => gold.node],
  ["h", "next head of several", ({ grid }) => grid.node],
  ["c", "compare", ({ compare }) => compare.node],
  ["Esc", "release the token, close a menu"],
];

// What a key does to a viewer.
function onKey(viewer, event) {
  const inField = event.target.closest?.("input, select, textarea, summary, .switch");
  if (event.key === "Escape" && viewer.closeMenus()) return;
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
    const { row, column } = viewer.focus ?? { row: null, column: null };
    const isNew = row === null && column === null;
    viewer.pin({
      row: within((row ?? 0) + (isNew ? 0 : by[0]), frame.target.length),
      column: within((column ?? 0) + (isNew ? 0 : by[1]), frame.source.length),
    });
  };
}

function shortcuts(viewer, { key, target }) {
  const onButton = target.closest?.("button") && [" ", "Enter"].includes(key);
  const { place } = viewer.shown[0];
  const { selection, state } = viewer;
  if (KEYS.some(([keys, , control]) => keys.split(" ").includes(key) && control?.(viewer).hidden)) return null;
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
    e: () => viewer.change({ show: state.show === "effect" ? "weight" : "effect" }),
    s: () => viewer.change({ scale: next(SCALES.map(([name]) => name), state.scale) }),
    g: () => viewer.toggle("gold"),
    c: () => viewer.toggle("compare"),
    h: () => viewer.grid.next(),
    Escape: () => viewer.pin(null),
  };
  return onButton ? null : acts[key];
}

function keyHelp() {
  const rows = KEYS.map(([key, meaning, control]) => ({ node: make("tr", {}, make("th", {}, make("kbd", {}, key)), make("td", {}, meaning)), control }));
  const node = make("details", { class: "menu keys" }, make("summary", { title: "Keys", "aria-label": "keys" }, "?"), make("table", {}, ...rows.map((row) => row.node)));
  document.addEventListener("pointerdown", ({ target }) => node.contains(target) || node.removeAttribute("open"));
  return { node, set: (viewer) => rows.forEach((row) => (row.node.hidden = Boolean(row.control?.(viewer).hidden))) };
}

// ---- The viewer

const POLL_SECONDS = 10;
const REPLAY_SECONDS = 6;
const NARROW = 820; // as in viewer.css
const ASIDE = 264 + 40 + 32; // with the gap and the edges, as there
const SHARE = 0.42; // of the width, for maps beside the matrix
const LEAST_BESIDE = 380; // less has them above it
const MATRIX = 150; // beside its cells

export function mount(root, source, host) {
  const viewer = new Viewer(root, source, host);
  viewer.begin();
  return viewer;
}

class Viewer {
  constructor(root, source, host) {
    Object.assign(this, { root, source, host });
    this.state = initialState(host.read());
    this.recorded = new Recorded(source);
    this.focus = null;
    this.pinned = false;
    this.charts = [];
    this.build();
  }

  build() {
    const set = (changes) => this.change(changes);
    this.run = picker("run", (run) => set({ run, step: null }));
    this.sentence = picker("sentence", (sentence) => set({ sentence, rank: null }));
    this.kind = switcher("kind", (kind) => set({ kind, rank: null }));
    this.rank = picker("hypothesis", (rank) => set({ rank }));
    this.look = switcher("view", (view) => set({ view }));
    this.matter = switcher("show", (show) => set({ show }));
    this.scale = picker("colors", (scale) => set({ scale }));
    this.gold = toggle("gold", "Show the gold alignment (g)", () => this.toggle("gold"));
    this.compare = toggle("compare", "Compare with another run or step (c)", () => this.toggle("compare"));
    this.files = filesMenu(this);
    this.play = make("button", { type: "button", class: "play", title: "Replay training (space)", "aria-label": "replay", onclick: () => this.replay() }, "▶");
    this.steps = stepSlider("step", (place) => this.goTo(place));
    this.other = picker("beside", (run) => set({ with: run === this.selection.run ? null : run, withStep: null }));
    this.otherKind = picker("kind beside", (kind) => set({ withKind: kind === this.selection.kind ? null : kind }));
    this.otherMap = picker("head beside", (map) => set({ withMap: map || null }));
    this.otherSteps = stepSlider("step of the compared view", (place) => set({ withStep: String(this.shown[1].frames[place].step) }));
    this.linked = toggle("same step", "Keep the compared step as close as possible to the first", () => set({ withStep: this.state.withStep === null ? String(this.shown[1].frame.step) : null }));
    this.beside = make("div", { class: "time beside" }, this.other.node, this.otherKind.node, this.otherMap.node, this.otherSteps.node, this.linked.node);
    this.stage = make("div", { class: "stage", tabindex: 0, role: "application", "aria-label": "attention weights; arrow keys move between tokens" });
    this.facts = make("aside", { "aria-label": "figures" });
    this.message = make("p", { class: "message", role: "status" });
    this.voice = make("p", { class: "voice", "aria-live": "polite" });
    this.grid = new MapGrid((map) => set({ map: map === "mean" ? null : map, show: "weight" }), () => this.showCurves());
    this.body = make("main", {}, this.grid.node, this.stage, this.facts);
    this.keys = keyHelp();
    const bar = make("header", {}, this.run.node, this.sentence.node, this.kind.node, this.rank.node, make("span", { class: "space" }), this.matter.node, this.look.node, this.scale.node, this.gold.node, this.compare.node, this.files.node, this.keys.node);
    this.time = make("div", { class: "time" }, this.play, this.steps.node);
    this.tools = make("div", { class: "tools" }, bar, this.time, this.beside);
    this.node = make("div", { class: "attention" }, this.tools, this.message, this.body, this.voice);
    this.root.replaceChildren(this.node);
    this.stage.addEventListener("pointerleave", () => this.pinned || !this.shown?.length || this.point(null));
    document.addEventListener("keydown", (event) => onKey(this, event));
    addEventListener("resize", () => this.shown && this.paint());
  }

  async begin() {
    this.takeSelection();
    this.host.onTheme(() => this.shown?.length && this.paint());
    this.host.onReload(() => this.load());
    this.host.onAddress(() => {
      this.state = initialState(this.host.read());
      this.takeSelection();
      this.shown = null;
      this.load();
    });
    await this.load();
    if (this.source.grows) setInterval(() => document.hidden || this.load(), 1000 * POLL_SECONDS);
  }

  // As the address has it: "row,column", of which one may be empty.
  takeSelection() {
    const found = /^(\d{0,4}),(\d{0,4})$/u.exec(this.state.at ?? ",");
    const [row, column] = (found ?? ["", "", ""]).slice(1).map((text) => (text === "" ? null : Number(text)));
    this.focus = row === null && column === null ? null : { row, column };
    this.pinned = this.focus !== null;
  }

  // Keep a token or cell selected; null: release it, and point at another.
  pin(focus, pointed = focus) {
    this.pinned = focus !== null;
    this.state.at = focus ? `${focus.row ?? ""},${focus.column ?? ""}` : null;
    this.point(pointed);
    this.host.write(addressOf(this.state));
  }

  closeMenus() {
    const open = this.node.querySelectorAll("details.menu[open]");
    for (const each of open) each.removeAttribute("open");
    return open.length > 0;
  }

  change(changes) {
    Object.assign(this.state, changes);
    if (!this.pinned) this.focus = null;
    return this.show();
  }

  toggle(key) {
    return this.change({ [key]: this.state[key] === "on" ? "off" : "on" });
  }

  // Request the index again, and show what is new.
  async load() {
    try {
      const index = await this.source.index();
      if (JSON.stringify(index) === JSON.stringify(this.index) && this.shown) return;
      this.index = index;
      await this.show();
    } catch (error) {
      this.say(`The data could not be read. ${error.message}`);
    }
  }

  async show() {
    this.recorded.overtake();
    const { index, state } = this;
    // Without a run in the address, the first that showed stays while others are written.
    const run = state.run ?? (this.source.grows ? (this.selection?.run ?? null) : null);
    const selection = selectionOf(index, { ...state, run });
    if (!selection) return this.showNothing();
    try {
      const shown = await this.recorded.views(index, state, selection);
      if (!shown) return;
      this.selection = selection;
      this.shown = shown.filter(({ frames }) => frames.length);
      this.lacking = shown.length - this.shown.length;
      if (!shown[0].frames.length) return this.say(`${selection.tag} holds no readable record. ${shown[0].problems.join("; ")}`);
      this.host.write(addressOf(state));
      this.paint();
      this.recorded.fetchNeighbors(this.shown);
    } catch (error) {
      this.say(`The data could not be read. ${error.message}`);
    }
  }

  goTo(place) {
    const { frames } = this.shown[0];
    if (frames.length < 2) return null;
    const step = place >= frames.length - 1 ? null : String(frames[Math.max(0, place)].step);
    return this.change({ step });
  }

  replay() {
    if (this.timer) return this.stop();
    const { frames, place } = this.shown[0];
    if (place === frames.length - 1) this.goTo(0);
    const pause = Math.min(500, Math.max(50, (1000 * REPLAY_SECONDS) / frames.length));
    this.play.textContent = "❚❚";
    this.timer = setInterval(() => {
      const next = this.shown[0].place + 1;
      if (next >= this.shown[0].frames.length) this.stop();
      else this.goTo(next);
    }, pause);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "▶";
  }

  say(text) {
    this.message.textContent = text;
    this.message.hidden = !text;
  }

  showNothing() {
    this.paintTheme();
    this.tools.hidden = true;
    this.grid.node.hidden = true;
    this.say("");
    if (this.source.nothing) return this.stage.replaceChildren(make("p", { class: "hint" }, this.source.nothing));
    this.stage.replaceChildren(emptyPart(this.index.problems));
    this.facts.replaceChildren();
  }

  paintTheme() {
    this.theme = themeOf(this.host.isDark(), this.index);
    document.documentElement.dataset.theme = this.theme.dark ? "dark" : "light";
  }

  paint() {
    this.paintTheme();
    this.paintControls();
    this.tools.hidden = false;
    const { clientWidth } = this.root;
    this.paintFigures();
    if (this.root.clientWidth < clientWidth) this.paintFigures(); // a scroll bar has come
    this.keys.set(this);
  }

  paintFigures() {
    this.paintMaps();
    const figures = drawings(this, this.theme, this.extent());
    this.charts = figures.map(({ chart }) => chart);
    this.stage.replaceChildren(...figures.map((figure) => framed(figure, this)));
    this.point(this.focus);
  }

  paintMaps() {
    const [width, height] = [this.root.clientWidth, innerHeight - this.tools.offsetHeight];
    this.node.style.setProperty("--tools", `${this.tools.offsetHeight}px`);
    const { maps = [], source, plain } = this.shown[0].frame;
    const left = width - ASIDE - MATRIX - (plain?.source ? 200 : 13 * Math.min(40, source.length));
    const isBeside = left >= LEAST_BESIDE && this.state.compare === "off" && new Set(maps.map(({ layer }) => layer)).size > 2;
    this.body.classList.toggle("wide", isBeside);
    const extent = isBeside ? { width: Math.min(SHARE * width, left) - 62, height: height - 60 } : { width: width - 90, height: 0.4 * height };
    this.grid.show(this.shown[0].frame, this.state.scale, this.theme, extent);
    this.showCurves();
  }

  // Names over the steps, while their table is open, as far as the steps are loaded: once for what is shown.
  async showCurves() {
    const [{ series }] = this.shown;
    const { turn } = this.recorded;
    if (!this.grid.isOpen || this.curved === turn) return;
    this.curved = turn;
    const counts = [];
    const tell = (frame) => {
      const place = series.frames.findIndex(({ step }) => step === frame.step);
      counts.push([place / Math.max(1, series.frames.length - 1), countsOfNames(frame)]);
      this.grid.showCurves(counts, this.theme);
    };
    await this.recorded.walk(series, CURVE_STEPS, tell).catch(() => {}); // a step that does not come
  }

  // What can be changed is offered, and nothing else.
  paintControls() {
    const { index, selection, state, shown, theme } = this;
    const offered = (choices) => (choices.length < 2 ? [] : choices);
    this.run.set(selection.run, offered(index.runs.map(({ run }) => [run, run])));
    this.sentence.set(selection.sentence, offered(selection.sentences.map((name) => [name, sentenceName(name, selection.texts.get(name))])));
    this.kind.set(selection.kind, selection.kinds.map((kind) => [kind, kindName(kind)]));
    this.kind.node.hidden = selection.kinds.length < 2;
    this.rank.set(String(selection.rank), selection.ranks.length > 1 ? selection.ranks.map((rank) => [String(rank), String(rank + 1)]) : []);
    this.look.set(state.view, [["matrix", "matrix"], ["ribbons", "ribbons"]]);
    const isEffect = shown.some(({ frame }) => frame.isEffect);
    this.matter.set(isEffect ? "effect" : "weight", [["weight", "weight"], ["effect", "effect"]]);
    this.matter.node.hidden = !shown.some(({ frame }) => frame.effect);
    this.scale.set(state.scale, isEffect ? [] : SCALES);
    this.gold.node.hidden = !shown.some(({ frame }) => frame.links);
    this.gold.set(state.gold === "on");
    this.compare.set(state.compare === "on");
    const choices = [index.runs, selection.kinds, shown[0].frames, shown[0].frame.maps ?? []];
    this.compare.node.hidden = state.compare !== "on" && choices.every(({ length }) => length < 2);
    setSteps(this.steps, shown[0], theme);
    this.time.hidden = this.steps.node.hidden || shown[0].frames.length < 2;
    const comparing = state.compare === "on";
    this.beside.hidden = !comparing;
    if (comparing) this.paintBeside();
    this.say([this.complaint(), ...(shown[0].frame.marks ?? []), ...shown.flatMap(({ problems }) => problems), ...index.problems].filter(Boolean).join(" · "));
  }

  paintBeside() {
    const { index, selection, state, shown, theme } = this;
    const wanted = state.with ?? selection.run;
    const optional = (choices) => (choices.length < 2 ? [] : choices);
    this.other.set(wanted, optional(index.runs.map(({ run }) => [run, run === selection.run ? "the same run" : run])));
    this.otherKind.set(state.withKind ?? selection.kind, optional(selection.kinds.map((kind) => [kind, kindName(kind)])));
    const maps = shown.at(-1).frame.maps ?? [];
    this.otherMap.set(state.withMap ?? "", optional([["", "the same head"], ...maps.map(({ name }) => [name, name])]));
    const isThere = shown.length > 1;
    this.linked.set(isThere && wanted !== selection.run && state.withStep === null, isThere && wanted !== selection.run);
    if (isThere) setSteps(this.otherSteps, shown[1], theme);
    else this.otherSteps.node.hidden = true;
  }

  complaint() {
    if (this.lacking) return "The compared run has no record of this sentence and kind.";
    const [first, second] = this.shown;
    if (second && !sameTokens(first.frame, second.frame)) return "No difference map: the tokens differ.";
    if (second && first.frame.isEffect !== second.frame.isEffect) return "No difference map: one of both has no effects.";
    if (this.state.show === "effect" && !first.frame.isEffect) return "Weights: this step has no effects.";
    return "";
  }

  // What is left of the window beside the figures and below the controls.
  extent() {
    const isNarrow = innerWidth <= NARROW;
    const { node } = this.grid;
    const [beside, above] = this.body.classList.contains("wide") ? [node.hidden ? 0 : node.offsetWidth + 40, 0] : [0, node.offsetHeight];
    return {
      width: Math.max(240, this.root.clientWidth - (isNarrow ? 32 : ASIDE) - beside),
      height: Math.max(360, innerHeight - this.tools.offsetHeight - above - 90),
    };
  }

  point(focus) {
    const [{ frame }] = this.shown;
    const fits = focus && (focus.row ?? 0) < frame.target.length && (focus.column ?? 0) < frame.source.length;
    this.focus = fits ? focus : null;
    if (!fits) this.pinned = false;
    for (const chart of this.charts) {
      chart.point(this.focus);
      chart.tell(this.focus);
    }
    const comparable = this.shown.filter((each) => sameTokens(each.frame, frame) && each.frame.isEffect === frame.isEffect);
    this.facts.replaceChildren(sentencePart(this.shown), figuresPart(this.shown), weightsPart(comparable, this.focus, this.theme));
    this.facts.querySelector(".marked")?.scrollIntoView({ block: "nearest" });
    this.voice.textContent = this.pinned && this.focus ? spokenFocus(this.focus, frame) : "";
    this.host.onPoint?.(this);
  }
}

// The translating page's views have no step.
function setSteps(slider, { frames, place }, theme) {
  slider.node.hidden = frames[place].step === null;
  if (!slider.node.hidden) slider.set(frames, place, historyLine(frames, theme));
}

function sentenceName(name, text) {
  return `${name.replace(/^attention\//u, "")}  ${text}`;
}
