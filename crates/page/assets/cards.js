// Cards of the dashboard: short lists that are updated in place.
import { fill, h } from "./dom.js";
import * as format from "./format.js";

/** Creates a card. `note` stands beside the title, `link` opens the whole menu. */
export function card(title, { link, wide = false } = {}) {
  const note = h("span", { class: "faint note" });
  const body = h("div");
  const element = h("section", { class: wide ? "card tile wide" : "card tile", "aria-label": title },
    h("header", {}, h("h2", {}, link ? h("a", { href: "#" + link }, title) : title), note), body);
  return { element, body, note: (text) => { if (note.textContent !== text) note.textContent = text; } };
}

/**
 * Creates a short table. `columns`: [heading, is number]. `draw(rows)` takes rows `{id, cells}`; a cell is a text, or
 * `{text, link, title}`. Cells are changed in place, so that links keep the focus. `empty` is shown without rows.
 */
export function shortTable(label, columns, empty) {
  const body = h("tbody"), nothing = h("p", { class: "faint" }, empty);
  const head = h("tr", {}, columns.map(([name, isNumber]) => h("th", { scope: "col", class: isNumber ? "number" : undefined }, name)));
  const table = h("table", { class: "short", "aria-label": label }, h("thead", {}, head), body);
  const element = h("div", { class: "short-box" }, table, nothing);
  const lines = new Map();
  return { element, draw };

  function draw(rows) {
    table.hidden = !rows.length;
    nothing.hidden = rows.length > 0;
    const shown = new Set(rows.map((row) => row.id));
    for (const [id, line] of lines) if (!shown.has(id)) { line.element.remove(); lines.delete(id); }
    rows.forEach((row, at) => {
      let line = lines.get(row.id);
      if (!line) lines.set(row.id, line = create());
      if (body.children[at] !== line.element) body.insertBefore(line.element, body.children[at] ?? null);
      row.cells.forEach((cell, number) => line.update[number](cell));
    });
  }
  function create() {
    const cells = columns.map(([, isNumber]) => h("td", { class: isNumber ? "number" : undefined }));
    return { element: h("tr", {}, cells), update: cells.map((cell) => updater(cell)) };
  }
}

/** Returns the function that changes a cell. */
function updater(element) {
  let link = null;
  return (cell) => {
    const { text = "", link: address = "", title = "", kind = "" } = typeof cell === "object" ? cell : { text: String(cell ?? "") };
    if (Boolean(address) !== Boolean(link)) fill(element, link = address ? h("a") : null);
    const target = link ?? element;
    if (target.textContent !== text) target.textContent = text;
    if (link && link.getAttribute("href") !== "#" + address) link.setAttribute("href", "#" + address);
    if (element.title !== (title || text)) element.title = title || text;
    if (element.dataset.kind !== kind) element.dataset.kind = kind;
  };
}

/** Returns address and port of `10.0.0.1:443` or `[2001:db8::1]:443`. */
function host(text) {
  return /^\[?(.*?)\]?(?::(\d+))?$/.exec(text ?? "")?.[1] ?? "";
}

/** Sums connections by the host that began them: [{ address, up, down, connections, peers }], the fastest first. */
export function talkers(connections) {
  const hosts = new Map();
  for (const row of new Map(connections.map((one) => [one[".id"], one])).values()) {
    const colons = (row["src-address"] ?? "").split(":").length - 1;
    const address = colons > 1 && !row["src-address"].startsWith("[") ? row["src-address"] : host(row["src-address"]);
    const own = hosts.get(address) ?? { address, up: 0, down: 0, connections: 0 };
    own.up += format.bits(row["orig-rate"]);
    own.down += format.bits(row["repl-rate"]);
    own.connections += 1;
    hosts.set(address, own);
  }
  return [...hosts.values()].filter((one) => one.up + one.down > 0).sort((one, other) => other.up + other.down - one.up - one.down);
}

/** Returns the rows of the talkers' table. */
export function talkerRows(connections, leases) {
  const names = new Map(leases.map((lease) => [lease.address, lease.comment || lease["host-name"]]));
  return talkers(connections).slice(0, 8).map((one) => ({ id: one.address, cells: [
    { text: names.get(one.address) || one.address, title: one.address, link: `/ip/firewall/connection?filter=${one.address}` },
    format.rate(one.down), format.rate(one.up),
    { text: "limit", title: `Limit ${one.address} with a simple queue`, link: `/queue/simple/new?target=${one.address}/32&max-limit=10M/10M` }] }));
}

/** Returns the rows of the table of drops: the reasons that grow first. */
export function dropRows(drops, rates) {
  const rows = drops.map((row) => ({ row, rate: rates.rate(row[".id"], "packets", row.packets, performance.now()) }));
  rows.sort((one, other) => other.rate - one.rate || Number(other.row.packets) - Number(one.row.packets));
  return rows.slice(0, 8).map(({ row, rate }) => ({ id: row[".id"], cells: [
    { text: row.reason, link: "/tool/drop" }, row.meaning ?? "", rate >= 1 ? `${format.count(Math.round(rate))}/s` : "", format.count(row.packets)] }));
}

export const leaseRows = (leases) => leases.slice(0, 6).map((row) => ({ id: row[".id"], cells: [
  { text: row.comment || row["host-name"] || row["mac-address"] || row.address, link: `/ip/dhcp-server/lease/${row[".id"]}` },
  row.address ?? "", format.interval(row["expires-after"] ?? "") || row.status || ""] }));

/** Returns the rows of remote peers: WireGuard, IPsec and PPP. */
export function peerRows({ wireguard, ipsec, ppp }) {
  const recent = (row) => (format.seconds(row["last-handshake"]) ?? Infinity) < 180;
  return [
    ...wireguard.map((row) => ({ id: "w" + row[".id"], cells: [{ text: row.name || row.comment || row.interface || "peer", link: `/interface/wireguard/peers/${row[".id"]}` }, "WireGuard",
      recent(row) ? { text: `seen ${format.interval(row["last-handshake"])} ago`, kind: "good" } : { text: row["last-handshake"] ? `silent for ${format.interval(row["last-handshake"])}` : "no handshake", kind: "warn" }] })),
    ...ipsec.map((row) => ({ id: "i" + row[".id"], cells: [{ text: row["remote-address"] ?? "", link: "/ip/ipsec/active-peers" }, "IPsec",
      { text: `${row.state ?? ""} ${format.interval(row.uptime ?? "")}`.trim(), kind: row.state === "established" ? "good" : "warn" }] })),
    ...ppp.map((row) => ({ id: "p" + row[".id"], cells: [{ text: row.name ?? "", link: `/ppp/active?filter=${row.name}` }, row.service ?? "PPP", { text: format.interval(row.uptime ?? ""), kind: "good" }] })),
  ];
}

export const logRows = (entries) => entries.map((row) => ({ id: row[".id"], cells: [row.time ?? "", { text: row.message ?? "", title: `${row.topics}: ${row.message}`, link: "/log?filter=topics~error" }] }));

export const certificateRows = (certificates) => certificates.map((row) => ({ id: row[".id"], cells: [
  { text: row.name ?? row["common-name"] ?? "", link: `/certificate/${row[".id"]}` },
  { text: row["invalid-after"] ?? "" },
  { text: row["expires-after"] ? `in ${format.interval(row["expires-after"])}` : "expired", kind: (format.seconds(row["expires-after"]) ?? 0) < 7 * 86400 ? "bad" : "warn" }] }));
