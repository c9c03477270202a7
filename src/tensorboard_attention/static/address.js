// The state of the viewer as text: what a link needs to open the same view again.

const DEFAULTS = {
  run: null,
  sentence: null,
  kind: null,
  rank: null,
  step: null, // null: the latest
  map: null, // of several heads; null: their mean
  view: "matrix",
  gold: "on",
  compare: "off",
  with: null, // run beside it; null: the same run
  withStep: null, // null: as near as possible to the step
};

export function initialState(parameters) {
  const state = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS)) state[key] = parameters.get(key) ?? DEFAULTS[key];
  if (!["matrix", "ribbons"].includes(state.view)) state.view = DEFAULTS.view;
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
    write: (parameters) => location.protocol === "about:" || history.replaceState(null, "", `#${parameters}`),
    link: () => location.href,
    isDark: () => wish.matches,
    onTheme: (react) => wish.addEventListener("change", react),
    onReload: () => {},
    onAddress: (react) => addEventListener("hashchange", react),
  };
}
