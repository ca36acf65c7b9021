// Displays of running tools: the rows of each update as lines, a table or values, with a picture where it says more.
import { save } from "./command.js";
import { fill, h } from "./dom.js";
import * as format from "./format.js";
import { capture } from "./pcap.js";
import { profileDisplay } from "./profile.js";

/** Lines kept, and packets of a capture. */
const LINES = 1000, PACKETS = 5000;
/** Time between two drawings in milliseconds. */
const DRAWN = 250;
/** Echo requests in the picture of a ping. */
const BARS = 100;

/** Creates the display of a tool: `update` receives the rows of an update, `clear` begins anew. */
export function displays(tool) {
  const own = { "/tool/ping": ping, "/tool/profile": () => profileDisplay(latest), "/tool/torch": torch, "/tool/sniffer/quick": sniffer }[tool.path];
  return (own ?? { lines, table, page }[tool.form])(tool);
}

const named = (tool, row) => (tool.columns.length ? tool.columns : Object.keys(row)).filter((name) => !name.startsWith("."));
const plain = (name, row) => format.value(name, row[name]);

/** Creates a table whose rows are updated in place. `show(name, row)` formats a cell. */
function grid(tool, { show = plain, chosen } = {}) {
  const head = h("thead"), body = h("tbody"), scroll = h("div", { class: "scroll live", tabindex: "0", role: "region", "aria-label": "Rows of the tool" },
    h("table", { id: "tool-rows" }, head, body));
  let columns = "";
  /** Draws all rows; columns without a value in any row are left out. */
  function draw(rows) {
    const names = [...new Set(rows.slice(-50).flatMap((row) => named(tool, row).filter((name) => row[name])))];
    const order = tool.columns.length ? tool.columns.filter((name) => names.includes(name)) : names;
    if (order.join() !== columns) {
      columns = order.join();
      fill(head, h("tr", {}, order.map((name) => h("th", { scope: "col", class: isNumber(name) ? "number" : undefined }, name))));
      body.replaceChildren();
    }
    const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 40;
    while (body.childElementCount > rows.length) body.firstChild.remove();
    rows.forEach((row, at) => drawRow(body.children[at] ?? body.appendChild(line(order)), row, order));
    if (tool.form === "lines" && atEnd) scroll.scrollTop = scroll.scrollHeight;
  }
  function line(order) {
    const choose = (event) => { chosen(event.currentTarget.row); };
    return h("tr", chosen ? { class: "link", tabindex: "0", on: { click: choose, keydown: (event) => { if (event.key === "Enter") choose(event); } } } : {},
      order.map((name) => h("td", { class: isNumber(name) ? "number" : undefined })));
  }
  function drawRow(element, row, order) {
    element.row = row;
    order.forEach((name, at) => {
      const cell = element.children[at], text = show(name, row);
      if (cell.textContent !== text) cell.textContent = text;
    });
  }
  return { element: scroll, draw };
}

const isNumber = (name) => format.isNumeric(name) || /^(seq|sent|last|avg|best|worst|std-dev|loss|num|size|ttl|cpu|usage|time|tx|rx)$/.test(name);

/** Calls `draw` at most every [`DRAWN`] milliseconds. */
function slowly(draw) {
  let due = 0;
  return () => { if (!due) due = setTimeout(() => { due = 0; draw(); }, DRAWN); };
}

function lines(tool, options = {}) {
  const rows = [], view = grid(tool, options), draw = slowly(() => view.draw(rows));
  return { element: view.element, rows, clear: () => { rows.length = 0; view.draw(rows); }, update: (more) => {
    rows.push(...more);
    rows.splice(0, rows.length - (options.most ?? LINES));
    draw();
  } };
}

/** Rows of the last update; a large update comes in several messages with the same section. */
function latest(draw) {
  let rows = [];
  return { clear: () => { rows = []; draw(rows); }, update: (more) => {
    rows = rows[0]?.[".section"] === more[0]?.[".section"] ? [...rows, ...more] : more;
    draw(rows);
  } };
}

function table(tool, options = {}) {
  const view = grid(tool, options), order = options.order ?? ((rows) => rows);
  return { element: view.element, ...latest((rows) => view.draw(order(rows))) };
}

function page() {
  const element = h("div", { class: "tiles", id: "tool-rows" });
  return { element, ...latest((rows) => fill(element, rows.map((row) => h("section", { class: "card" }, h("dl", {},
    Object.keys(row).filter((name) => !name.startsWith(".")).map((name) => [h("dt", {}, name), h("dd", {}, plain(name, row))])))))) };
}

/** Milliseconds of a time such as `1ms200us`; null for a lost packet. */
function milliseconds(text) {
  const found = [...(text ?? "").matchAll(/([\d.]+)(us|ms|s)/g)];
  return found.length ? found.reduce((sum, [, number, unit]) => sum + Number(number) * { us: 0.001, ms: 1, s: 1000 }[unit], 0) : null;
}

/** Echo requests: the sums, a bar for each of the last ones, and a line for each. */
function ping(tool) {
  const list = lines(tool), sums = h("dl", { class: "sums", id: "ping-sums" });
  const bars = h("div", { class: "bars", id: "ping-bars", role: "img" });
  const draw = slowly(() => {
    const last = list.rows.at(-1);
    if (!last) return;
    const names = [["sent", "sent"], ["received", "received"], ["packet-loss", "lost"], ["min-rtt", "shortest"], ["avg-rtt", "average"], ["max-rtt", "longest"]];
    fill(sums, names.filter(([name]) => last[name] !== undefined).map(([name, label]) => h("div", {}, h("dt", {}, label),
      h("dd", {}, name === "packet-loss" ? `${last[name].replace("%", "")} %` : plain(name, last)))));
    const times = list.rows.slice(-BARS).map((row) => milliseconds(row.time));
    const top = Math.max(...times, 0.001);
    fill(bars, times.map((time) => {
      const bar = h("span", { class: time === null ? "lost" : "", title: time === null ? "no answer" : `${format.count(time)} ms` });
      bar.style.height = time === null ? "100%" : `${Math.max(4, (100 * time) / top)}%`;
      return bar;
    }));
    bars.setAttribute("aria-label", `Times of the last ${times.length} requests; the longest took ${format.count(top)} ms`);
  });
  return { element: h("div", {}, sums, bars, list.element), update: (rows) => { list.update(rows); draw(); },
    clear: () => { list.clear(); fill(sums); fill(bars); } };
}

/** Flows with their rates, greatest first. */
function torch(tool) {
  const rate = (row) => Number(row.tx ?? 0) + Number(row.rx ?? 0);
  const show = (name, row) => (["tx", "rx"].includes(name) ? format.rate(Number(row[name])) : name.endsWith("-packets") ? `${format.count(row[name])} p/s` : plain(name, row));
  return table(tool, { show, order: (rows) => [...rows].sort((one, other) => rate(other) - rate(one)) });
}

/** Packets: a list, the bytes of the chosen one, and a capture file. */
function sniffer(tool) {
  const detail = h("div", { class: "card", id: "packet", hidden: true });
  const count = h("span", { class: "faint", role: "status" });
  const list = lines(tool, { most: PACKETS, chosen: show });
  const download = h("button", { type: "button", id: "pcap", disabled: true, on: { click: () => save("capture.pcap", capture(list.rows, began)) } }, "Download (pcap)");
  let began = Date.now();
  const bar = h("div", { class: "bar" }, download, count);
  function show(row) {
    detail.hidden = false;
    fill(detail, h("h2", {}, `Packet ${row.num}`), h("dl", {}, Object.keys(row).filter((name) => !name.startsWith(".") && name !== "data" && row[name])
      .map((name) => [h("dt", {}, name), h("dd", {}, plain(name, row))])), row.data && h("pre", { class: "mono" }, dump(row.data)));
  }
  return { element: h("div", {}, bar, list.element, detail), clear: () => { list.clear(); began = Date.now(); detail.hidden = download.disabled = true; }, update: (rows) => {
    list.update(rows);
    download.disabled = !list.rows.some((row) => row.data);
    count.textContent = `${format.count(list.rows.length)} packets${list.rows.length === PACKETS ? ", older ones are dropped" : ""}`;
  } };
}

/** Returns a hex dump of bytes that are given in hexadecimal digits. */
function dump(digits) {
  const bytes = digits.match(/../g) ?? [];
  const line = (at) => {
    const part = bytes.slice(at, at + 16);
    const text = part.map((byte) => parseInt(byte, 16)).map((code) => (code >= 32 && code < 127 ? String.fromCharCode(code) : ".")).join("");
    return `${at.toString(16).padStart(4, "0")}  ${part.join(" ").padEnd(47)}  ${text}`;
  };
  return Array.from({ length: Math.ceil(bytes.length / 16) }, (_, row) => line(16 * row)).join("\n");
}
