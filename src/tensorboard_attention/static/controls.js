// The parts one chooses with: native controls with a label, each with `set`.

import { make } from "./paint.js";

export function picker(label, onPick) {
  const select = make("select", { "aria-label": label, onchange: () => onPick(select.value) });
  const node = make("label", { class: "field" }, make("span", {}, label), select);
  let offered = null;
  return {
    node,
    set: (value, options) => {
      const wanted = JSON.stringify(options);
      if (wanted !== offered) {
        select.replaceChildren(...options.map(([key, text]) => make("option", { value: key }, text)));
        offered = wanted;
      }
      select.value = value;
      node.hidden = options.length === 0;
    },
  };
}

// One of a few, all in sight.
export function switcher(label, onPick) {
  const group = make("div", { class: "switch", role: "radiogroup", "aria-label": label });
  const node = make("div", { class: "field" }, make("span", {}, label), group);
  return {
    node,
    set: (value, options) => {
      const buttons = options.map(([key, text]) =>
        make("button", { type: "button", role: "radio", "aria-checked": String(key === value), "data-value": key, onclick: () => onPick(key) }, text),
      );
      const held = group.contains(document.activeElement);
      group.replaceChildren(...buttons);
      if (held) group.querySelector('[aria-checked="true"]')?.focus();
    },
  };
}

export function toggle(text, title, onToggle) {
  const node = make("button", { type: "button", class: "toggle", title, "aria-pressed": "false", onclick: onToggle }, text);
  return {
    node,
    set: (on, available = true) => {
      node.setAttribute("aria-pressed", String(on));
      node.disabled = !available;
    },
  };
}

export function menu(text, entries) {
  const node = make("details", { class: "menu" }, make("summary", {}, text));
  const close = () => node.removeAttribute("open");
  const buttons = entries.map(([name, act]) =>
    make("button", { type: "button", onclick: () => { close(); act(); } }, name),
  );
  node.append(make("div", {}, ...buttons));
  node.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !node.contains(relatedTarget)) close();
  });
  document.addEventListener("pointerdown", ({ target }) => node.contains(target) || close());
  return { node };
}

// A slider over recorded steps, with a line above it.
export function stepSlider(label, onStep) {
  const range = make("input", { type: "range", min: 0, step: 1, "aria-label": label, oninput: () => onStep(Number(range.value)) });
  const above = make("div", { class: "above", title: "entropy over the steps" });
  const said = make("output", { class: "step" });
  const node = make("div", { class: "steps" }, make("div", { class: "track" }, above, range), said);
  return {
    node,
    set: (frames, place, history) => {
      range.max = frames.length - 1;
      range.value = place;
      range.disabled = frames.length < 2;
      range.setAttribute("aria-valuetext", `step ${frames[place].step}`);
      const share = frames.length > 1 ? place / (frames.length - 1) : 0;
      const needle = make("i", { class: "needle" });
      needle.style.left = `${100 * share}%`;
      above.replaceChildren(...(frames.length > 1 ? [history, needle] : []));
      said.replaceChildren(
        make("b", {}, `step ${frames[place].step.toLocaleString("en")}`),
        make("small", {}, `${place + 1} of ${frames.length}`),
      );
    },
  };
}
