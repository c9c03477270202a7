// The view as a file: PNG, SVG or JSON.

import { menu } from "./controls.js";
import { drawings } from "./drawings.js";
import { figuresOf } from "./frames.js";
import { draw, themeOf } from "./paint.js";
import { FONT } from "./tokens.js";

const EDGE = 20;
const TITLE = 44;
const SHARPNESS = 2; // pixels of the PNG for one of the chart

// What is shown as files, and as a link.
export function filesMenu(viewer) {
  const name = (ending) => `${nameOf(viewer)}.${ending}`;
  return menu("export", [
    ["PNG", async () => download(name("png"), await pngBlob(pictureOf(viewer)), "image/png")],
    ["SVG", () => download(name("svg"), svgText(pictureOf(viewer)), "image/svg+xml")],
    ["JSON", () => download(name("json"), jsonText(viewer.selection, viewer.shown), "application/json")],
    ["copy link", () => copyLink(viewer)],
  ]);
}

function nameOf({ selection: { sentence, kind }, shown }) {
  const steps = shown.map(({ frame }) => frame.step).join("-");
  return [sentence, kind, shown[0].frame.map, steps && `step-${steps}`].filter(Boolean).join("-");
}

// Files are for paper: always in light colours, and without what is pointed at.
function pictureOf(viewer) {
  const theme = themeOf(false, viewer.index);
  return composedPicture(drawings(viewer, theme, viewer.room()), theme);
}

// Without a clipboard, as on a page that is not served securely, the link itself is shown.
async function copyLink(viewer) {
  const link = viewer.host.link();
  try {
    await navigator.clipboard.writeText(link);
    viewer.say("The link is copied.");
  } catch {
    viewer.say(link);
  }
}

// figures = [{title, note, chart}, …] side by side.
function composedPicture(figures, theme) {
  let x = EDGE;
  const height = Math.max(...figures.map(({ chart }) => chart.height)) + TITLE + 2 * EDGE;
  const parts = figures.flatMap(({ title, note, chart }) => {
    const node = chart.node.cloneNode(true);
    node.setAttribute("x", x);
    node.setAttribute("y", EDGE + TITLE);
    const line = (text, y, size, fill) => draw("text", { x, y, "font-size": size, fill }, text);
    const heading = [line(title, EDGE + 12, 14, theme.ink), line(note, EDGE + 30, 12, theme.grey)];
    x += Math.max(chart.width, 200) + 2 * EDGE;
    return [...heading, node];
  });
  const width = x - EDGE;
  const paper = draw("rect", { width, height, fill: theme.paper });
  const frame = { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FONT };
  return { node: draw("svg", frame, paper, ...parts), width, height };
}

function svgText({ node }) {
  return new XMLSerializer().serializeToString(node);
}

async function pngBlob(picture) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(picture))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = picture.width * SHARPNESS;
  canvas.height = picture.height * SHARPNESS;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// shown = [{name, run, frame}, …]; weights as rows of the target tokens.
function jsonText(selection, shown) {
  const views = shown.map(({ run, frame }) => {
    const columns = frame.source.length;
    const row = (_, place) => Array.from(frame.weights.subarray(place * columns, (place + 1) * columns), (w) => Number(w.toFixed(5)));
    return {
      run,
      step: frame.step,
      map: frame.map ?? null,
      source: frame.source,
      target: frame.target,
      weights: frame.target.map(row),
      alignment: frame.links ?? null,
      ...figuresOf(frame),
    };
  });
  return JSON.stringify({ sentence: selection.sentence, kind: selection.kind, rank: selection.rank, views }, null, 1);
}

function download(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-");
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}
