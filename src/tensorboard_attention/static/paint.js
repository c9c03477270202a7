// Elements and colours. Text is set as text, never parsed.

const SVG = "http://www.w3.org/2000/svg";

export function draw(name, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, name), attributes, children);
}

export function make(name, attributes = {}, ...children) {
  return furnish(document.createElement(name), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// The colours of charts, which also stand in exported files. In the dark the scale runs the other
// way, so that what is attended to shines.
export function themeOf(dark, index) {
  return dark
    ? {
        dark,
        paper: "#1d2025",
        ink: "#e8eaed",
        grey: "#9aa0a8",
        rule: "#1d2025",
        accent: "#ffb454",
        gold: "#ff9d2e",
        ribbon: "#7ec8e3",
        negative: "#f0894a",
        levels: [...index.colours].reverse(),
        difference: darkened(index.difference),
      }
    : {
        dark,
        paper: "#ffffff",
        ink: "#1a1a1a",
        grey: "#71767d",
        rule: "#ffffff",
        accent: "#d1495b",
        gold: "#e8830c",
        ribbon: "#2468a8",
        negative: "#d55e00",
        levels: index.colours,
        difference: index.difference,
      };
}

// The two sides of a diverging scale, each turned round, meet in the dark.
function darkened(colours) {
  const middle = (colours.length - 1) / 2;
  const shade = (colour, place) => {
    const strength = Math.abs(place - middle) / middle;
    const side = place < middle ? [255, 157, 92] : [112, 196, 255];
    const mixed = side.map((part) => Math.round(39 + (part - 39) * strength));
    return `rgb(${mixed.join(",")})`;
  };
  return colours.map(shade);
}

export function colourOf(value, signed, theme) {
  const colours = signed ? theme.difference : theme.levels;
  const share = signed ? (value + 1) / 2 : value;
  return colours[Math.round(Math.min(1, Math.max(0, share)) * (colours.length - 1))];
}

// A scale with its ends, as part of a chart.
export function legend(x, y, signed, theme, size = 11) {
  const colours = signed ? theme.difference : theme.levels;
  const width = 144;
  const ticks = signed ? ["−1", "0", "+1"] : ["0", "0.5", "1"];
  const stripes = Array.from({ length: width / 2 }, (_, place) =>
    draw("rect", {
      x: x + 2 * place,
      y,
      width: 2,
      height: 8,
      fill: colours[Math.round((place / (width / 2 - 1)) * (colours.length - 1))],
    }),
  );
  const labels = ticks.map((text, place) =>
    draw(
      "text",
      {
        x: x + (place * width) / 2,
        y: y + 10 + size,
        "text-anchor": ["start", "middle", "end"][place],
        "font-size": size,
        fill: theme.grey,
      },
      text,
    ),
  );
  return draw("g", { "shape-rendering": "crispEdges" }, ...stripes, ...labels);
}
