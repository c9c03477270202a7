// The viewer itself: reads state and data, shows them, and reacts.

import { addressOf, initialState } from "./address.js";
import { menu, picker, stepSlider, switcher, toggle } from "./controls.js";
import { composedPicture, download, jsonText, pngBlob, svgText } from "./exports.js";
import { figuresPart, formatNumber, historyLine, sentencePart, weightsPart } from "./facts.js";
import { differenceOf, frameOfMap, sameTokens } from "./frames.js";
import { MapGrid } from "./grid.js";
import { matrixChart } from "./matrix.js";
import { make, themeOf } from "./paint.js";
import { ribbonChart } from "./ribbons.js";
import { Series } from "./series.js";
import { kindName, otherPlace, otherTag, placeOf, selectionOf } from "./state.js";
import { labelOf } from "./tokens.js";

const POLL_SECONDS = 10;
const REPLAY_SECONDS = 6;
const NARROW = 820; // as in viewer.css
const ASIDE = 264 + 40 + 32; // with the gap and the edges, as there

const NOTHING = [
  "No attention has been recorded in this log folder yet.",
  "Runs of seq2seq record it at every validation; from any other PyTorch model:",
];
const EXAMPLE = `from seq2seq.tensorboard.records import log_attention

log_attention(writer, "attention/0", weights, source_tokens, target_tokens, step)`;

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

export function mount(root, source, host) {
  const viewer = new Viewer(root, source, host);
  viewer.begin();
  return viewer;
}

class Viewer {
  constructor(root, source, host) {
    Object.assign(this, { root, source, host });
    this.state = initialState(host.read());
    this.series = new Map();
    this.focus = null;
    this.pinned = false;
    this.charts = [];
    this.turn = 0;
    this.build();
  }

  build() {
    const set = (changes) => this.change(changes);
    this.run = picker("run", (run) => set({ run, step: null }));
    this.sentence = picker("sentence", (sentence) => set({ sentence, rank: null }));
    this.kind = switcher("kind", (kind) => set({ kind, rank: null }));
    this.rank = picker("hypothesis", (rank) => set({ rank }));
    this.look = switcher("view", (view) => set({ view }));
    this.gold = toggle("gold", "Show the gold alignment (g)", () => this.toggle("gold"));
    this.compare = toggle("compare", "Set another run or step beside (c)", () => this.toggle("compare"));
    this.files = menu("export", [
      ["PNG", () => this.exportPng()],
      ["SVG", () => this.exportSvg()],
      ["JSON", () => this.exportJson()],
      ["copy link", () => this.copyLink()],
    ]);
    this.play = make("button", { type: "button", class: "play", title: "Replay training (space)", "aria-label": "replay", onclick: () => this.replay() }, "▶");
    this.steps = stepSlider("step", (place) => this.goTo(place));
    this.other = picker("beside", (run) => set({ with: run === this.selection.run ? null : run, withStep: null }));
    this.otherSteps = stepSlider("step of the view beside", (place) => set({ withStep: String(this.shown[1].frames[place].step) }));
    this.linked = toggle("same step", "Keep the step beside as near as possible to the first", () => set({ withStep: this.state.withStep === null ? String(this.shown[1].frame.step) : null }));
    this.beside = make("div", { class: "time beside" }, this.other.node, this.otherSteps.node, this.linked.node);
    this.stage = make("div", { class: "stage", tabindex: 0, role: "application", "aria-label": "attention weights; arrow keys move between tokens" });
    this.facts = make("aside", { "aria-label": "figures" });
    this.message = make("p", { class: "message", role: "status" });
    this.voice = make("p", { class: "voice", "aria-live": "polite" });
    this.grid = new MapGrid((map) => set({ map: map === "mean" ? null : map }));
    this.body = make("main", {}, this.stage, this.facts);
    const bar = make("header", {}, this.run.node, this.sentence.node, this.kind.node, this.rank.node, make("span", { class: "space" }), this.look.node, this.gold.node, this.compare.node, this.files.node, keyHelp());
    this.time = make("div", { class: "time" }, this.play, this.steps.node);
    this.tools = make("div", { class: "tools" }, bar, this.time, this.beside);
    this.node = make("div", { class: "attention" }, this.tools, this.message, this.grid.node, this.body, this.voice);
    this.root.replaceChildren(this.node);
    this.stage.addEventListener("pointerleave", () => this.pinned || this.point(null));
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("resize", () => this.shown && this.paint());
  }

  async begin() {
    this.host.onTheme(() => this.index && this.paint());
    this.host.onReload(() => this.load());
    this.host.onAddress(() => {
      this.state = initialState(this.host.read());
      this.load();
    });
    await this.load();
    if (this.source.grows) setInterval(() => document.hidden || this.load(), 1000 * POLL_SECONDS);
  }

  change(changes) {
    Object.assign(this.state, changes);
    if (!this.pinned) this.focus = null;
    return this.show();
  }

  toggle(key) {
    return this.change({ [key]: this.state[key] === "on" ? "off" : "on" });
  }

  // Ask for the index again, and show what is new.
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
    this.turn += 1;
    const { turn, index, state } = this;
    const selection = selectionOf(index, state);
    if (!selection) return this.showNothing();
    try {
      const shown = await this.inTurn(turn, () => this.shownFrames(selection));
      if (turn !== this.turn) return; // a later choice has overtaken this one
      this.selection = selection;
      this.shown = shown.filter(({ frames }) => frames.length);
      this.lacking = shown.length - this.shown.length;
      if (!shown[0].frames.length) return this.say(`${selection.tag} holds no readable record. ${shown[0].problems.join("; ")}`);
      this.host.write(addressOf(state));
      this.paint();
      this.fetchNeighbours(turn);
    } catch (error) {
      this.say(`The data could not be read. ${error.message}`);
    }
  }

  // One question at a time; one that a later choice has overtaken before its turn is not asked.
  inTurn(turn, ask) {
    const before = this.asking;
    const answer = (async () => {
      await before;
      return turn === this.turn ? ask() : null;
    })();
    this.asking = answer.catch(() => {});
    return answer;
  }

  // One or two views: {name, run, series, frames, problems, frame, place}.
  async shownFrames(selection) {
    const { index, state } = this;
    const first = await this.shownOf("A", selection, state.step, (frames) => placeOf(frames, state.step));
    if (state.compare !== "on" || !first.frames.length) return [first];
    const other = otherTag(index, state, selection);
    const find = (frames) => otherPlace(frames, state, selection, first.frame.step);
    return [first, await this.shownOf("B", other, state.withStep ?? first.frame.step, find)];
  }

  async shownOf(name, { run, tag }, step, find) {
    const series = tag === null ? new Series() : await this.seriesOf(run, tag, step);
    const place = await series.placeOf(find);
    const { frames, problems } = series;
    return { name, run, series, frames, problems, place, frame: frames[place] && frameOfMap(frames[place], this.state.map) };
  }

  // Steps that have grown since are asked for again.
  async seriesOf(run, tag, step) {
    const described = this.index.runs.find((each) => each.run === run).tags.find((each) => each.tag === tag);
    const key = JSON.stringify([run, tag]);
    const state = `${described.max_step} ${described.wall_time}`;
    if (this.series.get(key)?.state !== state) {
      const series = new Series((at) => this.source.view(run, tag, at));
      await series.fetch(step);
      this.series.set(key, { state, series });
    }
    return this.series.get(key).series;
  }

  // The steps before and after are here when they are wanted.
  fetchNeighbours(turn) {
    for (const { series, frame } of this.shown) {
      for (const by of [1, -1]) {
        const near = () => series.frames[series.frames.findIndex(({ step }) => step === frame.step) + by];
        const lacks = () => near() && !near().weights;
        if (lacks()) this.inTurn(turn, async () => lacks() && series.fetch(near().step)).catch(() => {});
      }
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
    const problems = this.index.problems.map((problem) => make("li", {}, problem));
    this.stage.replaceChildren(
      make("div", { class: "nothing" }, make("h2", {}, NOTHING[0]), make("p", {}, NOTHING[1]), make("pre", {}, EXAMPLE), problems.length ? make("ul", { class: "problems" }, ...problems) : null),
    );
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
    this.grid.show(this.shown[0].frame, this.theme);
    const figures = this.figures(this.theme, this.room());
    this.charts = figures.map(({ chart }) => chart);
    this.stage.replaceChildren(...figures.map((figure) => this.framed(figure)));
    this.point(this.focus);
  }

  paintControls() {
    const { index, selection, state, shown, theme } = this;
    const offered = (choices) => (this.source.nothing && choices.length < 2 ? [] : choices);
    this.run.set(selection.run, offered(index.runs.map(({ run }) => [run, run])));
    this.sentence.set(selection.sentence, offered(selection.sentences.map((name) => [name, sentenceName(name, selection.texts.get(name))])));
    this.kind.set(selection.kind, selection.kinds.map((kind) => [kind, kindName(kind)]));
    this.rank.set(String(selection.rank), selection.ranks.length > 1 ? selection.ranks.map((rank) => [String(rank), String(rank + 1)]) : []);
    this.look.set(state.view, [["matrix", "matrix"], ["ribbons", "ribbons"]]);
    this.gold.node.hidden = Boolean(this.source.nothing);
    this.gold.set(state.gold === "on", shown.some(({ frame }) => frame.links));
    this.compare.set(state.compare === "on");
    setSteps(this.steps, shown[0], theme);
    this.time.hidden = this.steps.node.hidden;
    this.play.disabled = shown[0].frames.length < 2;
    const comparing = state.compare === "on";
    this.beside.hidden = !comparing;
    if (comparing) this.paintBeside();
    this.say([this.complaint(), ...shown.flatMap(({ problems }) => problems), ...index.problems].filter(Boolean).join(" · "));
  }

  paintBeside() {
    const { index, selection, state, shown, theme } = this;
    const wanted = state.with ?? selection.run;
    this.other.set(wanted, index.runs.map(({ run }) => [run, run === selection.run ? "the same run" : run]));
    const isThere = shown.length > 1;
    this.linked.set(isThere && wanted !== selection.run && state.withStep === null, isThere && wanted !== selection.run);
    if (isThere) setSteps(this.otherSteps, shown[1], theme);
    else this.otherSteps.node.hidden = true;
  }

  complaint() {
    if (this.lacking) return "The run beside has no record of this sentence and kind.";
    const [first, second] = this.shown;
    if (second && !sameTokens(first.frame, second.frame)) return "No difference map: the tokens differ.";
    return "";
  }

  // What is left of the window beside the figures and below the controls.
  room() {
    const isNarrow = innerWidth <= NARROW;
    return {
      width: Math.max(240, this.root.clientWidth - (isNarrow ? 32 : ASIDE)),
      height: Math.max(360, innerHeight - this.tools.offsetHeight - this.grid.node.offsetHeight - 90),
    };
  }

  // What is drawn: one chart, or two and their difference.
  figures(theme, room) {
    const { shown, state } = this;
    const drawn = shown.map(({ name, run, frame }) => ({
      title: shown.length > 1 ? `${name}  ${run}` : run,
      note: this.note(frame),
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

  note(frame) {
    const { sentence, kind, rank, ranks } = this.selection;
    const step = frame.step === null ? null : `step ${frame.step.toLocaleString("en")}`;
    const hypothesis = ranks.length > 1 ? ` ${rank + 1}` : "";
    const score = frame.score === null ? null : `log-probability ${formatNumber(frame.score, 2)}`;
    const which = this.shown.length > 1 ? [] : [sentence, `${kindName(kind)}${hypothesis}`];
    return [...which, frame.map, step, score].filter(Boolean).join(", ");
  }

  framed({ title, note, data, chart, share }) {
    const tip = make("div", { class: "tip", hidden: true });
    const pad = make("div", { class: "pad" }, chart.node, tip);
    const at = (event) => {
      const box = chart.node.getBoundingClientRect();
      return chart.place(event.clientX - box.left, event.clientY - box.top);
    };
    chart.node.addEventListener("pointermove", (event) => this.pinned || this.point(at(event)));
    chart.node.addEventListener("click", (event) => {
      const focus = at(event);
      this.pinned = focus !== null && !(this.pinned && JSON.stringify(focus) === JSON.stringify(this.focus));
      this.point(focus);
    });
    chart.tell = (focus) => tell(tip, chart, focus, data);
    const caption = make("figcaption", {}, make("b", {}, title), make("span", {}, note));
    caption.style.maxWidth = `${Math.max(share, chart.width)}px`;
    return make("figure", {}, caption, pad);
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
    const comparable = this.shown.filter((each) => sameTokens(each.frame, frame));
    this.facts.replaceChildren(sentencePart(this.shown), figuresPart(this.shown), weightsPart(comparable, this.focus, this.theme));
    this.facts.querySelector(".marked")?.scrollIntoView({ block: "nearest" });
    this.voice.textContent = this.pinned && this.focus ? spokenFocus(this.focus, frame) : "";
    this.host.onPoint?.(this);
  }

  key(event) {
    const inField = event.target.closest?.("input, select, textarea, summary, .switch");
    if (event.ctrlKey || event.metaKey || event.altKey || !this.shown?.length || !this.node.isConnected) return;
    const inStage = this.stage.contains(event.target);
    const act = (inStage ? this.moves(event.key) : null) ?? (inField ? null : this.shortcuts(event));
    if (!act) return;
    event.preventDefault();
    act();
  }

  moves(key) {
    const [{ frame }] = this.shown;
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[key];
    if (!by) return null;
    const within = (place, count) => Math.min(count - 1, Math.max(0, place));
    return () => {
      this.pinned = true;
      const { row, column } = this.focus ?? { row: null, column: null };
      const isNew = row === null && column === null;
      this.point({
        row: within((row ?? 0) + (isNew ? 0 : by[0]), frame.target.length),
        column: within((column ?? 0) + (isNew ? 0 : by[1]), frame.source.length),
      });
    };
  }

  shortcuts({ key, target }) {
    const onButton = target.closest?.("button") && [" ", "Enter"].includes(key);
    const { place } = this.shown[0];
    const { selection, state } = this;
    const next = (values, value, by = 1) => values[(values.indexOf(value) + by + values.length) % values.length];
    const acts = {
      ArrowLeft: () => this.goTo(place - 1),
      ArrowRight: () => this.goTo(place + 1),
      ",": () => this.goTo(place - 1),
      ".": () => this.goTo(place + 1),
      " ": () => this.replay(),
      n: () => this.change({ sentence: next(selection.sentences, selection.sentence), rank: null }),
      p: () => this.change({ sentence: next(selection.sentences, selection.sentence, -1), rank: null }),
      k: () => this.change({ kind: next(selection.kinds, selection.kind), rank: null }),
      v: () => this.change({ view: state.view === "matrix" ? "ribbons" : "matrix" }),
      g: () => this.toggle("gold"),
      c: () => this.toggle("compare"),
      h: () => this.grid.next(),
      Escape: () => this.point(null),
    };
    return onButton ? null : acts[key];
  }

  // Files are for paper: always in light colours, and without what is pointed at.
  picture() {
    const theme = themeOf(false, this.index);
    return composedPicture(this.figures(theme, this.room()), theme);
  }

  fileName(ending) {
    const { sentence, kind } = this.selection;
    const steps = this.shown.map(({ frame }) => frame.step).join("-");
    return `${[sentence, kind, this.shown[0].frame.map, steps && `step-${steps}`].filter(Boolean).join("-")}.${ending}`;
  }

  exportSvg() {
    download(this.fileName("svg"), svgText(this.picture()), "image/svg+xml");
  }

  async exportPng() {
    download(this.fileName("png"), await pngBlob(this.picture()), "image/png");
  }

  // Without a clipboard, as on a page that is not served securely, the link itself is shown.
  async copyLink() {
    const link = this.host.link();
    try {
      await navigator.clipboard.writeText(link);
      this.say("The link is copied.");
    } catch {
      this.say(link);
    }
  }

  exportJson() {
    download(this.fileName("json"), jsonText(this.selection, this.shown), "application/json");
  }
}

// What was not recorded at a step has none to choose.
function setSteps(slider, { frames, place }, theme) {
  slider.node.hidden = frames[place].step === null;
  if (!slider.node.hidden) slider.set(frames, place, historyLine(frames, theme));
}

function sentenceName(name, text) {
  return `${name.replace(/^attention\//u, "")}  ${text}`;
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

function spokenFocus({ row, column }, frame) {
  if (column === null) return `target ${frame.target[row]}`;
  if (row === null) return `source ${frame.source[column]}`;
  const weight = frame.weights[row * frame.source.length + column];
  return `${frame.target[row]} looks at ${frame.source[column]}: ${formatNumber(weight, 4)}`;
}

function keyHelp() {
  const rows = KEYS.map(([key, meaning]) => make("tr", {}, make("th", {}, make("kbd", {}, key)), make("td", {}, meaning)));
  return make("details", { class: "menu keys" }, make("summary", { title: "Keys", "aria-label": "keys" }, "?"), make("table", {}, ...rows));
}
