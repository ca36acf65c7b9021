// The profile: a flame graph of the load by worker and activity, and a table beside it.
import { colourOf } from "./activities.js";
import { fill, h } from "./dom.js";

/** Least width of a part with a text, in parts of the whole. */
const WRITTEN = 0.22;

/** Creates the display. `latest` makes `update` and `clear` of a function that draws the rows of an update. */
export function profileDisplay(latest) {
  const flame = h("div", { class: "flame", role: "img", id: "flame" }), list = h("div", { id: "tool-rows" });
  return { element: h("div", { class: "card profile" }, flame, list), ...latest(draw) };

  function draw(rows) {
    const workers = byWorker(rows);
    const busy = workers.reduce((sum, worker) => sum + worker.busy, 0);
    const load = workers.length ? busy / workers.length : 0;
    drawFlame(workers, busy, load);
    const all = activities(workers);
    fill(list, rows.length > 0 && h("p", { class: "big" }, percent(load), " ", h("span", { class: "faint" }, `of the time of ${workers.length} packet ${workers.length === 1 ? "worker" : "workers"}`)),
      all.length > 0 && h("table", { "aria-label": "Load by activity" },
        h("thead", {}, h("tr", {}, ["activity", ...(workers.length > 1 ? workers.map(({ number }) => `worker ${number}`) : []), "load"].map((head, at) => h("th", { scope: "col", class: at ? "number" : undefined }, head)))),
        h("tbody", {}, all.map(({ name, load: own }) => h("tr", {}, h("td", {}, mark(name), name),
          workers.length > 1 && workers.map((worker) => h("td", { class: "number" }, percent(worker.shares.get(name) ?? 0))), h("td", { class: "number" }, percent(own)))))));
  }
  /** The load of all workers, of each worker, and of its activities; the width is the share of the load, not of the time. */
  function drawFlame(workers, busy, load) {
    flame.hidden = !busy;
    flame.setAttribute("aria-label", `Load ${percent(load)}: ${workers.map((worker) => `worker ${worker.number} ${percent(worker.busy)}`).join(", ")}`);
    const part = (share, text, kind, colour = "") => {
      const element = h("span", { class: kind, title: text }, share >= WRITTEN ? text : "");
      element.style.background = colour;
      element.style.width = `${100 * share}%`;
      return element;
    };
    const parts = workers.filter((worker) => worker.busy > 0);
    fill(flame, h("div", { class: "layer" }, part(1, `all workers: ${percent(load)}`, "whole")),
      h("div", { class: "layer" }, parts.map((worker) => part(worker.busy / busy, `worker ${worker.number}: ${percent(worker.busy)}`, "worker"))),
      h("div", { class: "layer" }, parts.flatMap((worker) => {
        // Shares are rounded: their sum fills the width of the worker.
        const sum = [...worker.shares.values()].reduce((total, share) => total + share, 0) || 1;
        return [...worker.shares].sort(([, one], [, other]) => other - one)
          .map(([name, share]) => part((worker.busy / busy) * (share / sum), `${name}: ${percent(share)}`, "activity", colourOf(name)));
      })));
  }
}

/** Returns number, load and shares of each worker in percent; rows without a number are one worker. Omits other threads. */
function byWorker(rows) {
  const workers = new Map();
  for (const row of rows) {
    if (row.cpu === "host") continue;
    const number = row.cpu ?? "0", share = parseFloat(row.usage) || 0;
    if (!workers.has(number)) workers.set(number, { number, busy: 0, shares: new Map() });
    if (row.name === "total") workers.get(number).busy = share;
    else if (row.name !== "idle" && row.name !== "stolen") workers.get(number).shares.set(row.name, share);
  }
  return [...workers.values()];
}

/** Returns the activities with their share of the time of all workers, greatest first. */
function activities(workers) {
  const sums = new Map();
  for (const { shares } of workers) for (const [name, share] of shares) sums.set(name, (sums.get(name) ?? 0) + share / workers.length);
  return [...sums].map(([name, load]) => ({ name, load })).sort((one, other) => other.load - one.load);
}

const percent = (share) => `${share.toLocaleString(undefined, { maximumFractionDigits: 1 })} %`;

function mark(name) {
  const element = h("span", { class: "mark" });
  element.style.background = colourOf(name);
  return element;
}
