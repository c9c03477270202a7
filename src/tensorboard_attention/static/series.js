// The steps of one tag. Answers are bounded: a frame without weights has yet to be asked for, and
// comes with those around it.

import { figuresOf } from "./frames.js";

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

  // Of the frames that came first only the figures stay.
  forget(latest) {
    let total = 0;
    for (const frame of this.known.values()) total += sizeOf(frame);
    for (const [step, frame] of this.known) {
      if (total <= MOST_WEIGHTS || latest.includes(frame)) return;
      total -= sizeOf(frame);
      this.known.set(step, { step, figures: figuresOf(frame) });
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
  return (weights?.length ?? 0) * Math.max(1, maps.length);
}
