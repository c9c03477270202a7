// Which run, sentence, kind, rank and steps a state means, given what there is.

import { nearestFrame } from "./frames.js";

const KIND_NAMES = new Map([["forced", "teacher-forced"]]);

export function kindName(kind) {
  return KIND_NAMES.get(kind) ?? kind;
}

const distinct = (values) => [...new Set(values)];

// The nearest selection to the state that exists; null where there is nothing at all.
export function selectionOf(index, state) {
  const run = index.runs.find((each) => each.run === state.run) ?? index.runs[0];
  if (!run) return null;
  const sentences = distinct(run.tags.map((tag) => tag.sentence));
  const sentence = sentences.includes(state.sentence) ? state.sentence : sentences[0];
  const tags = run.tags.filter((tag) => tag.sentence === sentence);
  const kinds = distinct(tags.map((tag) => tag.kind));
  const kind = kinds.includes(state.kind) ? state.kind : kinds[0];
  const ranks = tags.filter((tag) => tag.kind === kind).map((tag) => tag.rank);
  const rank = ranks.includes(Number(state.rank)) ? Number(state.rank) : ranks[0];
  const texts = new Map(run.tags.map((tag) => [tag.sentence, tag.text]));
  const { tag } = tags.find((each) => each.kind === kind && each.rank === rank);
  return { run: run.run, sentence, kind, rank, tag, sentences, texts, kinds, ranks };
}

// The same sentence and kind in the run beside it; null where that run lacks it.
export function otherTag(index, state, selection) {
  const wanted = state.with ?? selection.run;
  const run = index.runs.find((each) => each.run === wanted);
  const found = run?.tags.find(
    (tag) =>
      tag.sentence === selection.sentence &&
      tag.kind === selection.kind &&
      tag.rank === selection.rank,
  );
  return { run: wanted, tag: found?.tag ?? null };
}

// The place of the wanted step among the frames.
export function placeOf(frames, step) {
  return step === null ? frames.length - 1 : nearestFrame(frames, Number(step));
}

export function otherPlace(frames, state, selection, step) {
  if (state.withStep !== null) return nearestFrame(frames, Number(state.withStep));
  const isSameRun = (state.with ?? selection.run) === selection.run;
  return isSameRun ? 0 : nearestFrame(frames, step);
}
