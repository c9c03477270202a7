// The data: where it comes from, what is inside a record, and figures derived from it.

const SCALE = 65535;

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
    model: (run) => get(`model?${new URLSearchParams({ run })}`),
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
      source: view.sources[frame.source],
      target: view.targets[frame.target],
      links: view.alignments[frame.alignment],
      ...mapsOf(decodeWeights(frame.weights), frame.maps),
    })),
  };
}

// The weights of a frame: of the mean, where there are several maps, which follow it. Those of the
// heads of all layers are [{name, layer, weights}, …].
function mapsOf(all, [layers, heads] = []) {
  if (!layers) return { weights: all, maps: [], map: null };
  const size = all.length / (layers * heads);
  const maps = Array.from({ length: layers * heads }, (_, place) => {
    const [layer, head] = [Math.floor(place / heads), place % heads];
    const parts = [layers > 1 ? `layer ${layer + 1}` : "", heads > 1 || layers === 1 ? `head ${head + 1}` : ""];
    return { name: parts.filter(Boolean).join(" "), layer, weights: all.subarray(place * size, (place + 1) * size) };
  });
  const mean = new Float64Array(size);
  for (const { weights } of maps) weights.forEach((weight, place) => (mean[place] += weight / maps.length));
  return { weights: mean, maps: [{ name: "mean", layer: layers > 1 ? null : 0, weights: mean }, ...maps], map: "mean" };
}

// A frame as one of its maps has it; the mean where it has no such map.
export function frameOfMap(frame, name) {
  const map = frame.maps?.find((each) => each.name === name);
  if (!map || map.weights === frame.weights) return frame;
  map.frame ??= { ...frame, map: name, weights: map.weights, figures: null };
  return map.frame;
}

// Base64 of little-endian 16-bit integers -> weights in 0..1.
function decodeWeights(text) {
  const bytes = atob(text);
  const weights = new Float64Array(bytes.length / 2);
  for (let place = 0; place < weights.length; place += 1) {
    const low = bytes.charCodeAt(2 * place);
    weights[place] = (low + 256 * bytes.charCodeAt(2 * place + 1)) / SCALE;
  }
  return weights;
}

export function rowOf(frame, row) {
  return frame.weights.subarray(row * frame.source.length, (row + 1) * frame.source.length);
}

export function columnOf(frame, column) {
  return Float64Array.from(frame.target, (_, row) => frame.weights[row * frame.source.length + column]);
}

// Entropy of weights as shares of their sum, divided by the greatest there can be: 0 sharp, 1 even.
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
