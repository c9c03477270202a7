
// What is shown: where records come from, the figures of one, the steps of a tag, and the state of the viewer.

// ---- Records and their figures

const SCALE = 65535;
const MIDDLE = 32768;

// From a server: TensorBoard's routes, addressed relative to the page.
export function servedSource(base) {
  const get = async (path) => {
    const answer = await fetch(new URL(path, base), { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    return answer.json();
  };
  return {
    grows: true,
    index: () => get("index"),
    modelAddress: (run) => new URL(`model?${new URLSearchParams({ run })}`, base),
    view: async (run, tag, step) => {
      const wanted = /^-?[0-9]{1,19}$/u.test(step) ? { step } : {};
      return decodeView(await get(`view?${new URLSearchParams({ run, tag, ...wanted })}`));
    },
  };
}

// From the page itself.
export function embeddedSource() {
  const data = JSON.parse(document.getElementById("attention-data").textContent);
  return {
    grows: false,
    index: async () => data.index,
    view: async (run, tag) =>
      decodeView(data.views.find((view) => view.run === run && view.tag === tag)),
  };
}

function decodeView(view) {
  return {
    problems: view.problems,
    steps: view.steps,
    frames: view.frames.map((frame) => ({
      step: frame.step,
      score: frame.score,
      bleu: frame.bleu,
      ...sidesOf(view.sources[frame.source], view.targets[frame.target]),
      links: view.alignments[frame.alignment],
      reference: view.references?.[frame.reference] ?? null,
      marks: frame.marks ?? [],
      effect: frame.effect ? decodeEffect(frame.effect, frame.effect_most) : null,
      ...mapsOf(decodeWeights(frame.weights), frame.maps, view.layers?.[frame.layers], frame.head_effects),
    })),
  };
}

// A side without labels, of frames or patches, has its positions as tokens.
function sidesOf(source, target) {
  const positions = (_, place) => String(place);
  const [isPlainSource, isPlainTarget] = [source, target].map((tokens) => tokens.every((token) => token === ""));
  return {
    source: isPlainSource ? source.map(positions) : source,
    target: isPlainTarget ? target.map(positions) : target,
    plain: { source: isPlainSource, target: isPlainTarget },
  };
}

// The weights of a frame: of the mean, where there are several maps, which follow it: for each layer its mean and its heads,
// as [{name, short, layer, module, weights, effect}, …].
function mapsOf(all, [layers, heads] = [], modules = null, effects = null) {
  if (!layers) return { weights: all, maps: [], map: null };
  const size = all.length / (layers * heads);
  const ofLayer = (layer) => {
    const named = (part) => [layers > 1 ? `layer ${layer + 1}` : "", part].filter(Boolean).join(" ");
    const about = { layer, module: modules?.[layer] ?? null };
    const weights = Array.from({ length: heads }, (_, head) => {
      const place = layer * heads + head;
      return all.subarray(place * size, (place + 1) * size);
    });
    const parts = weights.map((_, head) => (heads > 1 || layers === 1 ? `head ${head + 1}` : ""));
    const own = parts.map((part, head) => ({ ...about, name: named(part), short: part, weights: weights[head], effect: effects?.[layer * heads + head] ?? null }));
    return layers > 1 && heads > 1 ? [{ ...about, name: named("mean"), short: "mean", weights: meanOf(weights) }, ...own] : own;
  };
  const maps = Array.from({ length: layers }, (_, layer) => ofLayer(layer)).flat();
  const heading = layers > 1 ? { layer: null, module: null } : { layer: 0, module: modules?.[0] ?? null };
  const mean = meanOf(maps.filter(({ short }) => short !== "mean").map(({ weights }) => weights));
  return { weights: mean, maps: [{ ...heading, name: "mean", short: "mean", weights: mean }, ...maps], map: "mean" };
}

function meanOf(matrices) {
  const mean = new Float64Array(matrices[0].length);
  for (const weights of matrices) weights.forEach((weight, place) => (mean[place] += weight / matrices.length));
  return mean;
}

// A frame with what is shown of it: the weights of one of its maps, or of their mean; or the effects.
export function frameOfShown(frame, { map, show }) {
  return show === "effect" && frame.effect ? frameOfEffect(frame) : frameOfMap(frame, map);
}

function frameOfEffect(frame) {
  frame.asEffect ??= { ...frame, map: null, weights: frame.effect, isEffect: true, figures: figuresOf(frame) };
  return frame.asEffect;
}

// A frame as one of its maps has it; the mean where it has no such map.
function frameOfMap(frame, name) {
  const map = frame.maps?.find((each) => each.name === name);
  if (!map || map.weights === frame.weights) return frame;
  map.frame ??= { ...frame, map: name, weights: map.weights, figures: null };
  return map.frame;
}

// Base64 of little-endian 16-bit integers.
function decodeIntegers(text) {
  const bytes = atob(text);
  return Float64Array.from({ length: bytes.length / 2 }, (_, place) => bytes.charCodeAt(2 * place) + 256 * bytes.charCodeAt(2 * place + 1));
}

// Weights in 0..1.
function decodeWeights(text) {
  return decodeIntegers(text).map((integer) => integer / SCALE);
}

// Effects, of which the integer 32768 is 0.
function decodeEffect(text, most) {
  return decodeIntegers(text).map((integer) => ((integer - MIDDLE) / (MIDDLE - 1)) * most);
}

export function rowOf(frame, row) {
  return frame.weights.subarray(row * frame.source.length, (row + 1) * frame.source.length);
}

export function columnOf(frame, column) {
  return Float64Array.from(frame.target, (_, row) => frame.weights[row * frame.source.length + column]);
}

// Entropy of weights as shares of their sum, divided by its maximum: 0 sharp, 1 uniform.
export function entropyOf(weights) {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  if (weights.length < 2 || sum <= 0) return 0;
  let nats = 0;
  for (const weight of weights) if (weight > 0) nats -= (weight / sum) * Math.log(weight / sum);
  return nats / Math.log(weights.length);
}

// Figures of one frame; entropy and peak are means over the target tokens.
export function figuresOf(frame) {
  if (frame.figures) return frame.figures;
  const rows = frame.target.map((_, row) => rowOf(frame, row));
  const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  frame.figures = {
    entropy: mean(rows.map(entropyOf)),
    peak: mean(rows.map((row) => Math.max(...row))),
    score: frame.score,
    perToken: frame.score === null ? null : frame.score / frame.target.length,
    bleu: frame.bleu,
  };
  return frame.figures;
}

// Of one map, means over the target tokens: how even it is, its maximum, and how much lies near the diagonal (one position to
// either side), on the first and on the last source token.
export function statisticsOf({ source, target }, { weights }) {
  const columns = source.length;
  const sums = { entropy: 0, peak: 0, diagonal: 0, first: 0, last: 0 };
  target.forEach((_, row) => {
    const own = weights.subarray(row * columns, (row + 1) * columns);
    const middle = target.length > 1 ? (row * (columns - 1)) / (target.length - 1) : 0;
    sums.entropy += entropyOf(own);
    sums.peak += own.reduce((most, weight) => Math.max(most, weight), 0);
    own.forEach((weight, column) => (sums.diagonal += Math.abs(column - middle) <= 1 ? weight : 0));
    sums.first += own[0];
    sums.last += own[columns - 1];
  });
  return Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / target.length]));
}

export function sameTokens(first, second) {
  const same = (one, other) => one.length === other.length && one.every((t, i) => t === other[i]);
  return same(first.source, second.source) && same(first.target, second.target);
}

// What the first has more of than the second, from -1 to 1.
export function differenceOf(first, second) {
  return first.weights.map((weight, place) => weight - second.weights[place]);
}

export function nearestFrame(frames, step) {
  let best = 0;
  frames.forEach((frame, place) => {
    if (Math.abs(frame.step - step) < Math.abs(frames[best].step - step)) best = place;
  });
  return best;
}

// ---- The steps of one tag. Answers are bounded: a frame without weights is requested when it is shown, with those around it.

const MOST_WEIGHTS = 1 << 24; // that are kept

export class Series {
  // ask: step -> {steps, frames, problems}; null: the latest
  constructor(ask) {
    this.ask = ask;
    this.frames = [];
    this.problems = [];
    this.known = new Map(); // step -> frame; those that came last at the end
    this.unreadable = new Set();
  }

  async fetch(step) {
    const { steps, frames, problems } = await this.ask(step);
    const readable = new Set(steps);
    for (const frame of this.frames) if (!readable.has(frame.step)) this.unreadable.add(frame.step);
    for (const frame of frames) {
      this.known.delete(frame.step);
      this.known.set(frame.step, frame);
    }
    this.forget(frames);
    this.problems = [...new Set([...this.problems, ...problems])];
    this.frames = steps.filter((each) => !this.unreadable.has(each)).map((each) => this.known.get(each) ?? { step: each });
  }

  // Of the frames that came first only the figures and the counts of names stay.
  forget(latest) {
    let total = 0;
    for (const frame of this.known.values()) total += sizeOf(frame);
    for (const [step, frame] of this.known) {
      if (total <= MOST_WEIGHTS || latest.includes(frame)) return;
      total -= sizeOf(frame);
      this.known.set(step, { step, marks: frame.marks, figures: figuresOf(frame), counts: frame.counts });
    }
  }

  // The place that `find` names among the frames, with its weights; -1 where there is none.
  async placeOf(find) {
    while (this.frames.length) {
      const place = find(this.frames);
      const { step, weights } = this.frames[place];
      if (weights) return place;
      await this.fetch(step);
      if (!this.known.get(step)?.weights) this.drop(step);
    }
    return -1;
  }

  // A step that is promised and does not come.
  drop(step) {
    this.unreadable.add(step);
    this.frames = this.frames.filter((frame) => frame.step !== step);
  }
}

function sizeOf({ weights, maps = [] }) {
  return (weights?.length ?? 0) * Math.max(1, maps.length); // effects are as few as one map
}

// ---- One view or two, each at a step, requested when it is shown

export class Recorded {
  // source: a servedSource or an embeddedSource
  constructor(source) {
    this.source = source;
    this.series = new Map();
    this.turn = 0;
  }

  // Requests so far are for a view that is no longer wanted.
  overtake() {
    this.turn += 1;
  }

  // The views of a state; null where it has been overtaken.
  async views(index, state, selection) {
    const { turn } = this;
    const shown = await this.inTurn(turn, () => this.shownFrames(index, state, selection));
    return turn === this.turn ? shown : null;
  }

  // One request at a time; one that a later choice has replaced before its turn is not sent.
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
  async shownFrames(index, state, selection) {
    const first = await this.shownOf(index, state, "A", selection, state.step, (frames) => placeOf(frames, state.step));
    if (state.compare !== "on" || !first.frames.length) return [first];
    const other = otherTag(index, state, selection);
    const find = (frames) => otherPlace(frames, state, selection, first.frame.step);
    return [first, await this.shownOf(index, { ...state, map: state.withMap ?? state.map }, "B", other, state.withStep ?? first.frame.step, find)];
  }

  async shownOf(index, state, name, { run, tag, kind }, step, find) {
    const series = tag === null ? new Series() : await this.seriesOf(index, run, tag, step);
    const place = await series.placeOf(find);
    const { frames, problems } = series;
    return { name, run, kind, series, frames, problems, place, frame: frames[place] && frameOfShown(frames[place], state) };
  }

  // Tags that have grown since are requested again.
  async seriesOf(index, run, tag, step) {
    const described = index.runs.find((each) => each.run === run).tags.find((each) => each.tag === tag);
    const key = JSON.stringify([run, tag]);
    const state = `${described.max_step} ${described.wall_time}`;
    if (this.series.get(key)?.state !== state) {
      const series = new Series((at) => this.source.view(run, tag, at));
      await series.fetch(step);
      this.series.set(key, { state, series });
    }
    return this.series.get(key).series;
  }

  // Request the steps before and after, so that the next move of the slider needs no request.
  fetchNeighbors(shown) {
    const { turn } = this;
    for (const { series, frame } of shown) {
      for (const by of [1, -1]) {
        const near = () => series.frames[series.frames.findIndex(({ step }) => step === frame.step) + by];
        const lacks = () => near() && !near().weights;
        if (lacks()) this.inTurn(turn, async () => lacks() && series.fetch(near().step)).catch(() => {});
      }
    }
  }

  // Give evenly spaced frames of a series, at most so many, one after the other; those that are not loaded are requested.
  async walk(series, most, give) {
    const { turn } = this;
    const steps = series.frames.map(({ step }) => step);
    const count = Math.min(most, steps.length);
    for (let number = 0; number < count; number += 1) {
      const step = steps[Math.round((number * (steps.length - 1)) / Math.max(1, count - 1))];
      const isLoaded = () => series.known.get(step)?.weights || series.known.get(step)?.counts;
      await (isLoaded() ? new Promise((resolve) => setTimeout(resolve)) : this.inTurn(turn, () => series.fetch(step)));
      if (turn !== this.turn) return;
      if (isLoaded()) give(series.known.get(step));
    }
  }
}

// ---- Which run, sentence, kind, rank and steps a state means, given what there is

const KIND_NAMES = new Map([["forced", "teacher-forced"]]);

export function kindName(kind) {
  return KIND_NAMES.get(kind) ?? kind;
}

const distinct = (values) => [...new Set(values)];

// Whether the picture of a sentence is easy to read: a statement of a line.
function isPlain(text) {
  const words = (text ?? "").trim().split(/\s+/u).length;
  return words >= 5 && words <= 10 && !/[?？؟]/u.test(text);
}

// The nearest selection to the state that exists, by default in the run that was written last, a plain sentence;
// null where there is nothing at all.
export function selectionOf(index, state) {
  if (!index.runs.length) return null;
  const written = ({ tags }) => Math.max(...tags.map((tag) => tag.wall_time ?? 0));
  const latest = index.runs.reduce((last, each) => (written(each) > written(last) ? each : last));
  const run = index.runs.find((each) => each.run === state.run) ?? latest;
  const sentences = distinct(run.tags.map((tag) => tag.sentence));
  const texts = new Map(run.tags.map((tag) => [tag.sentence, tag.text]));
  const plain = sentences.find((each) => isPlain(texts.get(each))) ?? sentences[0];
  const sentence = sentences.includes(state.sentence) ? state.sentence : plain;
  const tags = run.tags.filter((tag) => tag.sentence === sentence);
  const kinds = distinct(tags.map((tag) => tag.kind));
  const kind = kinds.includes(state.kind) ? state.kind : kinds[0];
  const ranks = tags.filter((tag) => tag.kind === kind).map((tag) => tag.rank);
  const rank = ranks.includes(Number(state.rank)) ? Number(state.rank) : ranks[0];
  const { tag } = tags.find((each) => each.kind === kind && each.rank === rank);
  return { run: run.run, sentence, kind, rank, tag, sentences, texts, kinds, ranks };
}

// The same sentence in the run beside it, of the same kind and rank or the first of another kind; null where that run lacks it.
function otherTag(index, state, selection) {
  const wanted = state.with ?? selection.run;
  const kind = state.withKind ?? selection.kind;
  const run = index.runs.find((each) => each.run === wanted);
  const isIt = (tag) => tag.sentence === selection.sentence && tag.kind === kind;
  const found = run?.tags.find((tag) => isIt(tag) && (kind !== selection.kind || tag.rank === selection.rank));
  return { run: wanted, tag: found?.tag ?? null, kind };
}

// The place of the wanted step among the frames.
function placeOf(frames, step) {
  return step === null ? frames.length - 1 : nearestFrame(frames, Number(step));
}

function otherPlace(frames, state, selection, step) {
  if (state.withStep !== null) return nearestFrame(frames, Number(state.withStep));
  const isOther = (state.with ?? selection.run) !== selection.run || (state.withKind ?? state.withMap ?? null) !== null;
  return isOther ? nearestFrame(frames, step) : 0;
}

// ---- The state of the viewer as text: what a link needs to open the same view again

const DEFAULTS = {
  run: null,
  sentence: null,
  kind: null,
  rank: null,
  step: null, // null: the latest
  map: null, // of several heads; null: their mean
  show: "weight", // or the effect of leaving a source token out
  view: "matrix",
  scale: "fit", // of charts.js
  at: null, // the token or cell that is selected, "row,column"; either may be empty
  gold: "on",
  compare: "off",
  with: null, // run beside it; null: the same run
  withKind: null, // null: the same kind
  withMap: null, // null: the same of several heads
  withStep: null, // null: as near as possible to the step
};

export function initialState(parameters) {
  const state = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS)) state[key] = parameters.get(key) ?? DEFAULTS[key];
  if (!["matrix", "ribbons"].includes(state.view)) state.view = DEFAULTS.view;
  if (state.show !== "effect") state.show = DEFAULTS.show;
  return state;
}

export function addressOf(state) {
  const changed = Object.entries(state).filter(([key, value]) => value !== null && value !== DEFAULTS[key]);
  return new URLSearchParams(changed);
}

// A page of its own: its hash, and the browser's wish for light or dark. A frame has no address.
export function pageHost() {
  const wish = matchMedia("(prefers-color-scheme: dark)");
  return {
    read: () => new URLSearchParams(location.hash.slice(1)),
    // An empty fragment would scroll a page that frames this one to it. The whole address is written: TensorBoard serves the page
    // with a base, to which a fragment alone would be relative.
    write: (parameters) => location.protocol === "about:" || (!`${parameters}` && !location.hash) || history.replaceState(null, "", `${location.href.split("#")[0]}#${parameters}`),
    link: () => location.href,
    isDark: () => wish.matches,
    onTheme: (react) => wish.addEventListener("change", react),
    onReload: () => {},
    onAddress: (react) => addEventListener("hashchange", react),
  };
}
