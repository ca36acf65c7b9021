// Watch: live charts of chosen rows, over five minutes. The address has what is watched.
import * as api from "./api.js";
import { Rates } from "./cell.js";
import { card } from "./cards.js";
import { chart } from "./chart.js";
import { fill, h, whileShown } from "./dom.js";
import * as format from "./format.js";
import { followAll, Rows } from "./live.js";

/** Number of samples of a chart, one per second, and of charts of a view. */
const SLOTS = 300, MOST = 12;
const RULES = { columns: "comment,chain,action,bytes,packets", counters: ["bytes"], name: (row) => row.comment || `${row.chain} ${row.action}` };

/**
 * Menus whose rows can be watched: title, names of the rates in the chart, and columns with counters of bytes. The
 * router keeps the history of interfaces, by their names; other rows begin when the view is opened, by their ids.
 */
const MENUS = {
  "/interface": { title: "Interfaces", labels: ["received", "transmitted"], name: (row) => row.name, key: "name" },
  "/queue/simple": { title: "Simple queues", columns: "name,bytes", counters: ["bytes"], labels: ["up", "down"], name: (row) => row.name },
  "/queue/tree": { title: "Queue tree", columns: "name,bytes", counters: ["bytes"], labels: ["rate"], name: (row) => row.name },
  "/ip/firewall/filter": { ...RULES, title: "Firewall filter", labels: ["rate"] },
  "/ip/firewall/mangle": { ...RULES, title: "Mangle", labels: ["rate"] },
  "/ip/firewall/nat": { ...RULES, title: "NAT", labels: ["rate"] },
  "/interface/wireguard/peers": { title: "WireGuard peers", columns: "name,comment,interface,rx,tx", counters: ["rx", "tx"], labels: ["received", "transmitted"],
    name: (row) => row.name || row.comment || row.interface },
};
const CPU = "cpu";

const keyOf = (menu) => MENUS[menu].key ?? ".id";
/** Returns true if rows of a menu can be watched. */
export const watches = (menu) => menu in MENUS;
/** Returns the address that watches rows. */
export const watchAddress = (menu, rows) => "watch?" + rows.map((row) => "row=" + encodeURIComponent(`${menu} ${row[keyOf(menu)]}`)).join("&");

/** Shows the charts; `given` has `row=MENU ID` for each, and `row=cpu`. */
export function watch(main, world, given) {
  const wanted = [...new Set(given.getAll("row"))].slice(0, MOST);
  const charts = wanted.map((key) => (key === CPU ? cpuChart() : rowChart(key))).filter(Boolean);
  const tiles = h("div", { class: "charts", id: "watched" }, charts.map(({ box }, at) => {
    box.element.querySelector("header").append(h("button", { type: "button", class: "small", "aria-label": `Stop watching ${wanted[at]}`, on: { click: () => go(wanted.filter((_, other) => other !== at)) } }, "×"));
    return box.element;
  }));
  fill(main, h("div", { class: "title" }, h("h1", {}, "Watch"), h("p", { class: "faint" }, "Live rates of what you choose, for five minutes. The address of this view has the choice: bookmark it.")),
    chooser(world, wanted), tiles, !charts.length && h("p", { class: "empty faint card" }, "Choose interfaces, queues, rules or the processor above, or select rows in a table and press Watch."));
  follow(charts, tiles);
}

const go = (keys) => { location.hash = "watch" + (keys.length ? "?" + keys.map((key) => "row=" + encodeURIComponent(key)).join("&") : ""); };

/** Creates the fields that choose a menu and one of its rows. */
function chooser(world, wanted) {
  const menus = Object.keys(MENUS).filter((path) => world.menus.has(path));
  const menu = h("select", { id: "watch-menu", on: { change: offer } }, h("option", { value: CPU }, "Processor"), menus.map((path) => h("option", { value: path }, MENUS[path].title)));
  const row = h("select", { id: "watch-row" });
  const label = h("label", {}, "Row ", row);
  const add = h("button", { class: "main", id: "watch-add" }, "Watch");
  menu.value = menus[0] ?? CPU;
  offer();
  return h("form", { class: "card bar", on: { submit: (event) => {
    event.preventDefault();
    go([...wanted, menu.value === CPU ? CPU : `${menu.value} ${row.value}`]);
  } } }, h("label", {}, "What ", menu), label, add, h("span", { class: "faint" }, wanted.length >= MOST && `At most ${MOST} charts`));

  async function offer() {
    label.hidden = menu.value === CPU;
    if (menu.value === CPU) return fill(row);
    const path = menu.value, rows = await api.print(path).catch(() => []);
    if (path === menu.value) fill(row, rows.map((one) => h("option", { value: one[keyOf(path)] }, MENUS[path].name(one))));
  }
}

function cpuChart() {
  const box = card("Processor", { link: "/tool/profile" });
  const own = chart({ label: "Processor", series: [["load", "--s1"]], format: (share) => `${(share / 10).toLocaleString(undefined, { maximumFractionDigits: 1 })} %`, least: 50 });
  box.body.append(own.element);
  return { box, chart: own, key: CPU };
}

function rowChart(key) {
  const [, menu, id] = /^(\S+) (.+)$/.exec(key) ?? [];
  const kind = MENUS[menu];
  if (!kind) return null;
  const box = kind.key ? card(id, { link: `${menu}?filter=${kind.key}=${id}` }) : card(`${kind.title} …`, { link: `${menu}/${id}` });
  const own = chart({ label: kind.title, series: kind.labels.map((label, at) => [label, at ? "--tx" : "--rx"]), format: format.rate, least: 1e4 });
  box.body.append(own.element);
  return { box, chart: own, key, menu, id, kind, samples: kind.labels.map(() => []), rates: new Rates(), rows: new Rows() };
}

/** Follows the rows in one stream, and adds a sample to each chart every second. */
function follow(charts, tiles) {
  const rows = charts.filter(({ kind }) => kind && !kind.key);
  const interfaces = charts.filter(({ kind }) => kind?.key);
  const cpu = charts.find(({ key }) => key === CPU);
  const views = rows.map(({ menu, id, kind }) => ({ menu, filter: `.id=${id}`, columns: kind.columns, count: 1, every: 1 }));
  const stream = rows.length ? followAll(views, rows.map(({ rows: own }) => own.listener(() => {}))) : null;
  addEventListener("hashchange", () => stream?.close(), { once: true });
  whileShown(tiles, 1000, async () => {
    for (const one of rows) sample(one, Date.now() / 1000);
    if (!cpu && !interfaces.length) return;
    const history = await api.history([["span", "seconds"], ...interfaces.map(({ id }) => ["interface", id])]);
    if (cpu) drawLoad(cpu, history);
    for (const one of interfaces) drawInterface(one, history);
  });
}

function drawInterface({ box, chart: own, id, kind }, history) {
  const samples = history.interfaces[id];
  box.note(samples ? kind.title : "There is no such interface in the configuration.");
  if (samples) own.set([0, 1].map((way) => samples.map((rates) => rates[way])), { time: history.time, step: 1, slots: SLOTS });
}

/** Adds a sample: the rates of the counters, of which a queue has two in one value. */
function sample(one, now) {
  const [row] = one.rows.all;
  if (!row) return one.box.note(one.rows.fault || (one.rows.total ? "The row is gone." : ""));
  const name = one.kind.name(row);
  const title = one.box.element.querySelector("h2 a");
  if (title.textContent !== name) { title.textContent = name; one.box.element.setAttribute("aria-label", name); }
  const counters = one.kind.counters.flatMap((counter) => String(row[counter] ?? "0").split("/"));
  const rates = counters.map((value, at) => 8 * one.rates.rate(one.id, at, value, performance.now()));
  one.samples = one.samples.map((samples, at) => [...samples, rates[at] ?? 0].slice(-SLOTS));
  one.chart.set(one.samples, { time: Math.round(now), step: 1, slots: SLOTS });
  one.box.note(one.kind.title);
}

function drawLoad(cpu, history) {
  const load = Object.entries(history.load).filter(([name]) => name !== "idle");
  const sums = (load[0]?.[1] ?? []).map((_, at) => load.reduce((sum, [, samples]) => sum + (samples[at] ?? 0), 0));
  cpu.chart.set([sums], { time: history.time, step: 1, slots: SLOTS });
  cpu.box.note("share of the workers' time");
}
