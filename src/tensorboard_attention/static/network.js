// The network: a GRU encoder, and the Bahdanau decoder of seq2seq.models.bahdanau step by step.

import { arrayOf, inner, joined, logSoftmax, plus, product, rowAt, sigmoid, weightedMean } from "./arrays.js";

// a(q, k) of seq2seq.attention.scores, of a query and the key as `project` made it.
const SCORES = {
  additive: (query, key, { scoreWeight }) => query.reduce((sum, number, place) => sum + scoreWeight[place] * Math.tanh(number + key[place]), 0),
  average: () => 0,
  bilinear: inner,
  dot: inner,
  gaussian: (query, key, { inverseWidth }) => -0.5 * inverseWidth ** 2 * query.reduce((sum, number, place) => sum + (number - key[place]) ** 2, 0),
  scaled_dot: (query, key) => inner(query, key) / Math.sqrt(query.length),
};

const MOST_GATES = 2000; // of tokens, that are kept

export class Network {
  constructor({ spec, parameters, ties }) {
    this.spec = spec;
    this.arrays = new Map(Object.entries(parameters).map(([name, array]) => [name, arrayOf(array)]));
    for (const [name, owner] of Object.entries(ties)) this.arrays.set(name, this.arrays.get(owner));
    this.numParameters = [...new Set(this.arrays.values())].reduce((sum, array) => sum + (array.rows ? array.rows * array.columns : array.length), 0);
    this.scoreWeight = this.arrays.get("decoder.attention.score.score_weight");
    this.inverseWidth = this.arrays.get("decoder.attention.score.inverse_width")?.[0];
    this.tokenGates = new Map();
    this.layers = Array.from({ length: spec.num_layers }, (_, layer) => `decoder.stack.cells.${layer}`);
  }

  // W x + b; x itself where the model has no such matrix.
  linear(name, vector) {
    return this.affine(`${name}.weight`, `${name}.bias`, vector);
  }

  affine(weight, bias, vector) {
    const matrix = this.arrays.get(weight);
    if (!matrix) return vector;
    const found = product(matrix, vector);
    return this.arrays.has(bias) ? plus(found, this.arrays.get(bias)) : found;
  }

  // {states, keys, projected, gates, finals}: a vector for each source token; the last states of the
  // layers. W c = sum over j of w_j (W m_j): so what a token gives the gates is the same for all steps
  // and hypotheses.
  encode(ids) {
    let states = ids.map((id) => rowAt(this.arrays.get("source_embedding.weight"), id));
    const finals = this.layers.map((_, layer) => {
      const ways = [this.read(layer, "", states)];
      if (this.spec.bidirectional) ways.push(this.read(layer, "_reverse", [...states].reverse()).reverse());
      states = states.map((_, place) => joined(...ways.map((way) => way[place])));
      return joined(...ways.map((way, number) => way.at(number ? 0 : -1)));
    });
    const keys = states.map((state) => this.linear("decoder.attention.key_projection", state));
    const gates = states.map((state) => this.linear("decoder.context_gates", state));
    return { states, keys, projected: keys.map((key) => this.linear("decoder.attention.score.key_projection", key)), gates, finals };
  }

  // The states of one direction of an encoder's layer, in the order in which it reads.
  read(layer, direction, inputs) {
    const name = (part, kind) => `encoder.layers.${layer}.${part}_${kind}_l0${direction}`;
    const gates = (kind, vector) => this.affine(name("weight", kind), name("bias", kind), vector);
    let state = new Float64Array(this.spec.encoder_hidden_size);
    return inputs.map((input) => (state = gruCell(gates("ih", input), gates("hh", state), state).state));
  }

  // The decoder's state before its first step: a vector for each layer.
  start({ finals }) {
    const size = this.spec.decoder_hidden_size;
    if (this.spec.initial_state === "zeros") return this.layers.map(() => new Float64Array(size));
    const summary = joined(...finals);
    const isLinear = this.arrays.has("decoder.bridge.projection.weight");
    const states = isLinear ? this.linear("decoder.bridge.projection", summary).map(Math.tanh) : summary;
    return this.layers.map((_, layer) => states.slice(layer * size, (layer + 1) * size));
  }

  // One step with everything that it computes; `given` stands in the place of the softmax.
  step(memory, before, token, given = null) {
    const embedded = rowAt(this.arrays.get("decoder.embedding.weight"), token);
    const query = this.spec.query === "state_and_token" ? joined(before.at(-1), embedded) : before.at(-1);
    const projectedQuery = this.linear("decoder.attention.score.query_projection", query);
    const scores = Float64Array.from(memory.projected, (key) => SCORES[this.spec.score](projectedQuery, key, this));
    const weights = given ?? logSoftmax(scores).map(Math.exp);
    const context = weightedMean(memory.states, weights);
    const cells = this.advance(before, plus(this.gatesOf(token, embedded), weightedMean(memory.gates, weights)));
    const states = cells.map(({ state }) => state);
    const features = this.features(states.at(-1), context, embedded);
    const logProbabilities = logSoftmax(this.linear("decoder.output", features));
    return { embedded, query, projectedQuery, scores, weights, context, cells, states, features, logProbabilities };
  }

  // What a token gives the gates: what is said is said again, by other hypotheses and while one types.
  gatesOf(token, embedded) {
    if (this.tokenGates.size === MOST_GATES) this.tokenGates.clear();
    if (!this.tokenGates.has(token)) this.tokenGates.set(token, this.linear("decoder.stack.cells.0.input_gates", embedded));
    return this.tokenGates.get(token);
  }

  advance(before, gates) {
    const cells = [];
    this.layers.forEach((name, layer) => {
      const inputs = layer ? this.linear(`${name}.input_gates`, cells.at(-1).state) : gates;
      cells.push(gruCell(inputs, this.linear(`${name}.state_gates`, before[layer]), before[layer]));
    });
    return cells;
  }

  features(state, context, embedded) {
    if (this.spec.readout_size === null) return state;
    const parts = { state, context, embedded };
    return plus(...Object.keys(parts).map((part) => this.linear(`decoder.readout.${part}`, parts[part]))).map(Math.tanh);
  }
}

// r, z, n and the new state of torch.nn.GRUCell, from the shares that input and state have in the gates.
function gruCell(inputs, gates, before) {
  const size = before.length;
  const part = (number, gate) => inputs[number * size + gate];
  const reset = before.map((_, gate) => sigmoid(part(0, gate) + gates[gate]));
  const update = before.map((_, gate) => sigmoid(part(1, gate) + gates[size + gate]));
  const candidate = before.map((_, gate) => Math.tanh(part(2, gate) + reset[gate] * gates[2 * size + gate]));
  const state = before.map((old, gate) => candidate[gate] + update[gate] * (old - candidate[gate]));
  return { before, reset, update, candidate, state };
}
