// What is shown of what was recorded: one view or two, each at a step, asked for when it is wanted.

import { frameOfMap } from "./frames.js";
import { Series } from "./series.js";
import { otherPlace, otherTag, placeOf } from "./state.js";

export class Recorded {
  // source: as servedSource and embeddedSource give it
  constructor(source) {
    this.source = source;
    this.series = new Map();
    this.turn = 0;
  }

  // What has been asked for is not wanted any more.
  overtake() {
    this.turn += 1;
  }

  // The views of a state; null where it has been overtaken.
  async views(index, state, selection) {
    const { turn } = this;
    const shown = await this.inTurn(turn, () => this.shownFrames(index, state, selection));
    return turn === this.turn ? shown : null;
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
  async shownFrames(index, state, selection) {
    const shownOf = (...wanted) => this.shownOf(index, state.map, ...wanted);
    const first = await shownOf("A", selection, state.step, (frames) => placeOf(frames, state.step));
    if (state.compare !== "on" || !first.frames.length) return [first];
    const other = otherTag(index, state, selection);
    const find = (frames) => otherPlace(frames, state, selection, first.frame.step);
    return [first, await shownOf("B", other, state.withStep ?? first.frame.step, find)];
  }

  async shownOf(index, map, name, { run, tag }, step, find) {
    const series = tag === null ? new Series() : await this.seriesOf(index, run, tag, step);
    const place = await series.placeOf(find);
    const { frames, problems } = series;
    return { name, run, series, frames, problems, place, frame: frames[place] && frameOfMap(frames[place], map) };
  }

  // Steps that have grown since are asked for again.
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

  // The steps before and after are here when they are wanted.
  fetchNeighbours(shown) {
    const { turn } = this;
    for (const { series, frame } of shown) {
      for (const by of [1, -1]) {
        const near = () => series.frames[series.frames.findIndex(({ step }) => step === frame.step) + by];
        const lacks = () => near() && !near().weights;
        if (lacks()) this.inTurn(turn, async () => lacks() && series.fetch(near().step)).catch(() => {});
      }
    }
  }
}
