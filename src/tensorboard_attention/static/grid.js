// Several heads as small maps, a row for each layer, their mean first: one of them is the matrix.

import { colourOf, make } from "./paint.js";

const SIDES = { one: 96, several: 64 }; // of a map, about, by the number of layers [pixels]
const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 };

export class MapGrid {
  // onPick: name of the map
  constructor(onPick) {
    this.onPick = onPick;
    this.node = make("section", { class: "maps", role: "radiogroup", "aria-label": "heads", onkeydown: (event) => this.key(event) });
  }

  show({ maps = [], map: chosen, source, target }, theme) {
    const isHeld = this.node.contains(document.activeElement);
    Object.assign(this, { names: maps.map(({ name }) => name), chosen });
    this.node.hidden = !maps.length;
    const rows = new Map(maps.map(({ layer }) => [layer, make("div", {})]));
    const side = SIDES[rows.size > 1 ? "several" : "one"];
    const cell = Math.max(1, Math.floor(side / Math.max(source.length, target.length)));
    for (const map of maps) rows.get(map.layer).append(this.small(map, source.length, cell, theme));
    this.node.replaceChildren(...rows.values());
    if (isHeld) this.node.querySelector('[aria-checked="true"]')?.focus();
  }

  small({ name, weights }, columns, cell, theme) {
    const isChosen = name === this.chosen;
    const attributes = { type: "button", role: "radio", "aria-checked": String(isChosen), tabindex: isChosen ? 0 : -1 };
    return make("button", { ...attributes, onclick: () => this.onPick(name) }, painted(weights, columns, cell, theme), make("span", {}, name));
  }

  next() {
    const { names, chosen } = this;
    if (names.length) this.onPick(names[(names.indexOf(chosen) + 1) % names.length]);
  }

  // Up and down lead to the same head of another layer.
  key(event) {
    const { names, chosen, node: { children, lastChild } } = this;
    const place = names.indexOf(chosen);
    const isUpright = ["ArrowUp", "ArrowDown"].includes(event.key) && children.length > 1 && place > 0;
    const by = STEPS[event.key] * (isUpright ? lastChild.children.length : 1);
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    this.onPick(names[Math.min(names.length - 1, Math.max(0, place + by))]);
  }
}

// Whole-pixel cells of a size that all maps of a sentence share.
function painted(weights, columns, cell, theme) {
  const canvas = make("canvas", { width: columns * cell, height: (weights.length / columns) * cell, "aria-hidden": "true" });
  const pencil = canvas.getContext("2d");
  weights.forEach((weight, place) => {
    pencil.fillStyle = colourOf(weight, false, theme);
    pencil.fillRect((place % columns) * cell, Math.floor(place / columns) * cell, cell, cell);
  });
  return canvas;
}
