// Charts over time: lines with areas, or a stack of shares. The last sample is at the right.
import { fill, h } from "./dom.js";

const HEIGHT = 150, LEFT = 4, BOTTOM = 18, TOP = 16;

/** Returns a round number of at least `value`: 1, 2 or 5 times a power of ten. */
function round(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= value * 0.999);
}

/**
 * Creates a chart. `series`: `[name, color property]` of each; `format` formats values; `least` is the least upper
 * end of the axis, `most` a fixed one; `stacked` draws values above each other.
 */
export function chart({ label, series, format, least = 1, most = 0, stacked = false }) {
  const canvas = h("canvas", { role: "img", "aria-label": label });
  const values = series.map(() => h("span", { class: "value" }));
  const items = series.map(([name, color], at) => {
    const mark = h("span", { class: "mark" });
    mark.style.background = `var(${color})`;
    return h("li", {}, mark, name, " ", values[at]);
  });
  const when = h("li", { class: "when faint" });
  const legend = h("ul", { class: "legend" }, items, when);
  const element = h("div", { class: "chart" }, canvas, legend);
  let data = series.map(() => []), axis = { time: 0, step: 1, slots: 300 }, hovered = -1;

  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    hovered = Math.round((1 - (event.clientX - box.left) / box.width) * (axis.slots - 1));
    draw();
  });
  canvas.addEventListener("pointerleave", () => { hovered = -1; draw(); });
  new ResizeObserver(() => draw()).observe(canvas);
  // Colours are drawn, so another theme draws anew.
  new MutationObserver((_, observer) => { if (canvas.isConnected) draw(); else observer.disconnect(); }).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return { element, set };

  /** Shows other samples. `time`: Unix time of the last one in seconds; `step`: seconds between two; `slots`: their number in the chart. */
  function set(columns, { time, step, slots }) {
    data = columns;
    axis = { time, step, slots };
    draw();
  }

  function draw() {
    const width = canvas.clientWidth, scale = devicePixelRatio || 1;
    if (!width) return;
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== HEIGHT * scale) canvas.height = HEIGHT * scale;
    const context = canvas.getContext("2d"), style = getComputedStyle(canvas);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, HEIGHT);
    const highest = stacked ? Math.max(0, ...sums()) : Math.max(0, ...data.flat());
    const top = most || round(Math.max(highest, least));
    const x = (age) => LEFT + (width - LEFT) * (1 - age / (axis.slots - 1));
    const y = (value) => HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * Math.min(value / top, 1);
    grid(context, style, width, top, y, x);
    const below = new Array(Math.max(...data.map((column) => column.length), 0)).fill(0);
    data.forEach((column, at) => {
      const color = style.getPropertyValue(series[at][1]);
      line(context, column, below, color, x, y);
      if (stacked) column.forEach((value, from) => { below[from] += value; });
    });
    if (hovered >= 0) {
      context.strokeStyle = style.getPropertyValue("--faint");
      context.strokeRect(x(hovered), TOP, 0.5, HEIGHT - TOP - BOTTOM);
    }
    told();
  }
  function sums() {
    return data[0]?.map((_, at) => data.reduce((sum, column) => sum + (column[at] ?? 0), 0)) ?? [];
  }
  function grid(context, style, width, top, y, x) {
    context.font = "11px system-ui, sans-serif";
    context.lineWidth = 1;
    for (const part of [0, 0.5, 1]) {
      context.strokeStyle = style.getPropertyValue("--line");
      context.beginPath();
      context.moveTo(LEFT, Math.round(y(top * part)) + 0.5);
      context.lineTo(width, Math.round(y(top * part)) + 0.5);
      context.stroke();
      context.fillStyle = style.getPropertyValue("--faint");
      if (part) context.fillText(format(top * part), LEFT, y(top * part) - 3);
    }
    const ticks = width > 420 ? [0.2, 0.4, 0.6, 0.8] : [0.33, 0.67];
    context.textAlign = "center";
    for (const part of ticks) context.fillText(clock(Math.round(part * (axis.slots - 1))), x(part * (axis.slots - 1)), HEIGHT - 4);
    context.textAlign = "start";
  }
  /** Draws a series with the area down to the series below it. */
  function line(context, column, below, color, x, y) {
    if (!column.length) return;
    const points = column.map((value, at) => [x(column.length - 1 - at), y(value + (stacked ? below[at] : 0)), y(stacked ? below[at] : 0)]);
    context.fillStyle = context.strokeStyle = color;
    context.globalAlpha = stacked ? 0.75 : 0.16;
    context.beginPath();
    points.forEach(([left, up], at) => (at ? context.lineTo(left, up) : context.moveTo(left, up)));
    points.toReversed().forEach(([left, , down]) => context.lineTo(left, down));
    context.fill();
    context.globalAlpha = 1;
    if (stacked) return;
    context.lineWidth = 1.5;
    context.beginPath();
    points.forEach(([left, up], at) => (at ? context.lineTo(left, up) : context.moveTo(left, up)));
    context.stroke();
  }
  /** Writes the values of the chosen sample, or of the last one, into the legend. */
  function told() {
    const texts = data.map((column) => {
      const value = column[column.length - 1 - Math.max(hovered, 0)];
      return value === undefined ? "–" : format(value);
    });
    texts.forEach((text, at) => {
      if (values[at].textContent !== text) values[at].textContent = text;
      items[at].hidden = stacked && !data[at].some((value) => value > 0);
    });
    const text = hovered >= 0 ? clock(hovered) : "";
    if (when.textContent !== text) fill(when, text);
    canvas.setAttribute("aria-label", `${label}: ${series.map(([name], at) => `${name} ${texts[at]}`).join(", ")}`);
    canvas.dataset.time = axis.time;
  }
  function clock(age) {
    const time = new Date(1000 * (axis.time - age * axis.step));
    return time.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", ...(axis.step < 60 && { second: "2-digit" }) });
  }
}
