// What heads are called, by their weights: one formula a name, with its threshold and its source.
//
// Each formula gives, for a row (the place of a target token), the share of the row's weight that follows the pattern; null where the
// pattern is not defined, or where another pattern would look the same. A head has a name if the mean share over the rows that have one, of
// which there are at least two, reaches the threshold.

const LEAST_ROWS = 2;
const SEPARATOR = /^(\[SEP\]|<\/s>|<eos>|<sep>|\[sep\]|<\|endoftext\|>|[.,;:!?。，；：！？])$/u;

const sumWhere = (row, holds) => row.reduce((sum, weight, column) => sum + (holds(column) ? weight : 0), 0);
// In self-attention, places before two are left out where the first token is also the previous one.
const onPrevious = ({ row, place }) => (place > 1 ? row[place - 1] : null);
const onNext = ({ row, place }) => (place + 1 < row.length ? row[place + 1] : null);
const onFirst = ({ row, place }) => (place > 1 ? row[0] : null);
const onOwn = ({ row, place }) => (place > 0 ? row[place] : null);
const sharedBy = (row, columns) => (columns.length ? columns.reduce((sum, column) => sum + row[column], 0) : null);
const places = (row, holds) => [...row.keys()].filter(holds);

function sameWord({ row, place, source, target }) {
  if (!target[place]) return null; // without a label
  return sharedBy(row, places(row, (column) => column !== place && source[column] === target[place]));
}

// What followed the same token before. Where that is the token itself or the one before it, other names say the same.
function induction({ row, place, source, target }) {
  if (!target[place]) return null;
  return sharedBy(row, places(row, (column) => column > 0 && column < place - 1 && source[column - 1] === target[place]));
}

function separator({ row, place, source, isSelf }) {
  const columns = places(row, (column) => column > 0 && SEPARATOR.test(source[column]) && !(isSelf && Math.abs(column - place) < 2));
  return sharedBy(row, columns);
}

function nearDiagonal({ row, place, source, target }) {
  const middle = (place * (source.length - 1)) / Math.max(1, target.length - 1);
  return source.length > 3 ? sumWhere(row, (column) => Math.abs(column - middle) <= 1) : null;
}

function copied({ row, place, source, target }) {
  if (!target[place]) return null;
  return sharedBy(row, places(row, (column) => source[column] === target[place]));
}

// Entropy in shares of that of even weights over what may be attended to.
function evenness({ row, place, isCausal }) {
  const seen = isCausal ? row.subarray(0, place + 1) : row;
  const sum = seen.reduce((total, weight) => total + weight, 0);
  if (seen.length < 3 || sum <= 0) return null;
  return -seen.reduce((nats, weight) => nats + (weight > 0 ? (weight / sum) * Math.log(weight / sum) : 0), 0) / Math.log(seen.length);
}

// [name, of self-attention (true), cross-attention (false) or both (null), threshold, share of a row, what it is]
export const HEAD_NAMES = [
  ["induction", true, 0.4, induction, "looks at what followed the same token before: Olsson et al. 2022, prefix matching, over 0.4 of the weight"],
  ["previous token", true, 0.5, onPrevious, "half of the weight on the token before: Clark et al. 2019; Voita et al. 2019"],
  ["next token", true, 0.5, onNext, "half of the weight on the token after: Clark et al. 2019"],
  ["same word", true, 0.5, sameWord, "half of the weight on other places of the same token: duplicate token heads, Wang et al. 2022"],
  ["diagonal", true, 0.5, onOwn, "half of the weight on the token itself: Kovaleva et al. 2019"],
  ["copy of the source's word", false, 0.5, copied, "half of the weight on a source token that is the target token: Gu et al. 2016"],
  ["diagonal", false, 0.7, nearDiagonal, "0.7 of the weight within one place of the diagonal: monotonic alignment, Raffel et al. 2017"],
  ["separator", null, 0.5, separator, "half of the weight on separators and punctuation: Clark et al. 2019"],
  ["first token", true, 0.3, onFirst, "attention sink: 0.3 of the weight on the first token: Gu et al. 2024; Xiao et al. 2023"],
  ["uniform", null, 0.95, evenness, "entropy at least 0.95 of that of even weights: broad heads, Clark et al. 2019"],
];

// Names of a map {weights} of a frame {source, target}, the strongest first: [{name, share, title}].
export function namesOfHead(frame, { weights }) {
  const [source, target] = ["source", "target"].map((side) => (frame.plain?.[side] ? frame[side].map(() => "") : frame[side]));
  const first = Math.max(0, source.length - target.length); // of a long text, the last rows
  const isSelf = (!first || (target.length > 1 && target.some(Boolean))) && target.every((token, row) => token === source[first + row]);
  const found = target.map((_, row) => weights.subarray(row * source.length, (row + 1) * source.length));
  const isCausal = isSelf && found.every((row, number) => row.subarray(first + number + 1).every((weight) => weight === 0));
  const rows = found.map((row, number) => ({ row, place: isSelf ? first + number : number, source, target: isSelf ? source : target, isSelf, isCausal }));
  return HEAD_NAMES.flatMap(([name, kind, threshold, shareOf, title]) => {
    if (kind !== null && kind !== isSelf) return [];
    const shares = rows.map(shareOf).filter((share) => share !== null);
    const share = shares.reduce((sum, each) => sum + each, 0) / shares.length;
    return shares.length >= LEAST_ROWS && share >= threshold ? [{ name, share, title }] : [];
  }).sort((one, other) => other.share - one.share);
}

// How many heads of a frame have each name, {name: number}; null where its weights are not loaded.
export function countsOfNames(frame) {
  if (!frame?.counts && frame?.maps) {
    const counts = {};
    for (const map of frame.maps.filter(({ short }) => short !== "mean")) {
      for (const { name } of (map.called ??= namesOfHead(frame, map))) counts[name] = (counts[name] ?? 0) + 1;
    }
    frame.counts = counts;
  }
  return frame?.counts ?? null;
}
