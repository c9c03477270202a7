// The viewer itself: reads state and data, shows them, and reacts.

import { addressOf, initialState } from "./address.js";
import { picker, stepSlider, switcher, toggle } from "./controls.js";
import { drawings, framed, spokenFocus } from "./drawings.js";
import { filesMenu } from "./exports.js";
import { emptyPart, figuresPart, historyLine, sentencePart, weightsPart } from "./facts.js";
import { sameTokens } from "./frames.js";
import { MapGrid } from "./grid.js";
import { keyHelp, onKey } from "./keys.js";
import { make, themeOf } from "./paint.js";
import { Recorded } from "./recorded.js";
import { kindName, selectionOf } from "./state.js";

const POLL_SECONDS = 10;
const REPLAY_SECONDS = 6;
const NARROW = 820; // as in viewer.css
const ASIDE = 264 + 40 + 32; // with the gap and the edges, as there

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
    this.gold = toggle("gold", "Show the gold alignment (g)", () => this.toggle("gold"));
    this.compare = toggle("compare", "Set another run or step beside (c)", () => this.toggle("compare"));
    this.files = filesMenu(this);
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
    document.addEventListener("keydown", (event) => onKey(this, event));
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
    this.recorded.overtake();
    const { index, state } = this;
    const selection = selectionOf(index, state);
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
      this.recorded.fetchNeighbours(this.shown);
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
    this.grid.show(this.shown[0].frame, this.theme);
    const figures = drawings(this, this.theme, this.room());
    this.charts = figures.map(({ chart }) => chart);
    this.stage.replaceChildren(...figures.map((figure) => framed(figure, this)));
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
}

// What was not recorded at a step has none to choose.
function setSteps(slider, { frames, place }, theme) {
  slider.node.hidden = frames[place].step === null;
  if (!slider.node.hidden) slider.set(frames, place, historyLine(frames, theme));
}

function sentenceName(name, text) {
  return `${name.replace(/^attention\//u, "")}  ${text}`;
}
