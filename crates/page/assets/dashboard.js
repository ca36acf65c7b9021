// Current state of the router: internet, traffic, load, ways of packets, topology, and short lists of what matters.
import * as api from "./api.js";
import { ACTIVITIES } from "./activities.js";
import { Rates } from "./cell.js";
import { card, certificateRows, dropRows, leaseRows, logRows, peerRows, shortTable, talkerRows } from "./cards.js";
import { chart } from "./chart.js";
import { fill, h, whileShown } from "./dom.js";
import * as format from "./format.js";
import { followAll, Rows } from "./live.js";
import { columns, topology } from "./topology.js";

const FAST = "orig-rate,repl-rate,src-address";

/** Views of the router, all in one stream. `every`: least seconds between two messages. */
const VIEWS = {
  resource: { menu: "/system/resource", every: 5 },
  interfaces: { menu: "/interface", filter: "dynamic=no", columns: "name,type,running,disabled,last-link-up-time", count: 256, every: 5 },
  dynamic: { menu: "/interface", filter: "dynamic=yes", columns: "name", count: 0, every: 5 },
  routes: { menu: "/ip/route", filter: "dst-address=0.0.0.0/0", columns: "gateway,immediate-gw,active,disabled", count: 8, every: 2 },
  lists: { menu: "/interface/list/member", columns: "list,interface,disabled", count: 100, every: 5 },
  addresses: { menu: "/ip/address", filter: "disabled=no", columns: "address,interface,actual-interface", count: 200, every: 5 },
  downloads: { menu: "/ip/firewall/connection", sort: "-repl-rate", columns: FAST, count: 30, every: 3 },
  uploads: { menu: "/ip/firewall/connection", sort: "-orig-rate", columns: FAST, count: 15, every: 3 },
  leases: { menu: "/ip/dhcp-server/lease", filter: "status=bound", columns: "address,host-name,comment,mac-address,status,expires-after", count: 200, every: 5 },
  wireguard: { menu: "/interface/wireguard/peers", columns: "name,comment,interface,last-handshake,disabled", count: 6, every: 5 },
  ipsec: { menu: "/ip/ipsec/active-peers", columns: "remote-address,state,uptime", count: 6, every: 5 },
  ppp: { menu: "/ppp/active", columns: "name,service,uptime", count: 6, every: 5 },
  errors: { menu: "/log", filter: "topics~error", sort: "-time", columns: "time,topics,message", count: 6, every: 5 },
  drops: { menu: "/tool/drop", columns: "reason,meaning,packets", count: 300, every: 2 },
  certificates: { menu: "/certificate", filter: "expires-after<30d", sort: "expires-after", columns: "name,common-name,invalid-after,expires-after", count: 6, every: 10 },
};

const SPANS = { seconds: { step: 1, slots: 300, title: "5 minutes" }, minutes: { step: 60, slots: 1440, title: "1 day" } };
const PRIVATE = /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/;

export function dashboard(main, world) {
  const state = Object.fromEntries(Object.keys(VIEWS).map((name) => [name, new Rows()]));
  const used = Object.keys(VIEWS).filter((name) => world.menus.has(VIEWS[name].menu));
  const parts = { facts: facts(), charts: charts(), lists: lists(), picture: topology() };
  const picture = card("Topology", { link: "/interface", wide: true });
  picture.body.append(parts.picture.element);
  fill(main, h("div", { class: "title" }, h("h1", {}, "Dashboard"), parts.charts.switch), h("div", { class: "dashboard" },
    parts.facts.element, parts.charts.element, picture.element, parts.lists.element));

  const draw = () => {
    if (!main.contains(parts.facts.element)) return close();
    const sides = wanAndLan(state);
    parts.facts.draw(state, sides);
    parts.lists.draw(state);
    parts.charts.follow(sides);
    drawn();
  };
  // Tests measure the time until facts and charts are drawn.
  let loaded = false;
  const drawn = () => {
    if (loaded && parts.facts.element.childElementCount && !performance.getEntriesByName("first-view").length) performance.mark("first-view");
  };
  // Several messages of one moment are drawn once.
  let due = 0;
  const soon = () => { due ||= requestAnimationFrame(() => { due = 0; draw(); }); };
  // A page that nobody sees asks for nothing.
  let stream = null;
  const open = () => { stream ??= followAll(used.map((name) => VIEWS[name]), used.map((name) => state[name].listener(soon))); };
  const close = () => { stream?.close(); stream = null; };
  const seen = () => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", seen);
  addEventListener("hashchange", () => { document.removeEventListener("visibilitychange", seen); close(); }, { once: true });
  open();
  whileShown(parts.facts.element, 1000, async () => {
    const history = await parts.charts.load();
    loaded = true;
    drawn();
    const sessions = state.dynamic.matched;
    const types = new Map(state.interfaces.all.map((row) => [row.name, row.type]));
    if (types.size) parts.picture.draw(columns(history.list, types, addressesByName(state), sessions));
  });
}

const addressesByName = (state) => new Map(state.addresses.all.map((row) => [row["actual-interface"] ?? row.interface, row.address]));

/** Returns the names of the interfaces towards the internet, those of the local networks, and the default route. */
function wanAndLan(state) {
  const running = new Set(state.interfaces.all.filter((row) => row.running === "true").map((row) => row.name));
  const route = state.routes.all.find((row) => row.active === "true");
  const via = route && (/%(.+)$/.exec(route["immediate-gw"] ?? "")?.[1] ?? route["immediate-gw"] ?? route.gateway);
  const listed = (name) => state.lists.all.filter((row) => row.list === name && row.disabled !== "true").map((row) => row.interface);
  const wan = [...new Set([...(running.has(via) ? [via] : []), ...listed("WAN").filter((name) => running.has(name))])];
  const local = state.addresses.all.filter((row) => PRIVATE.test(row.address)).map((row) => row["actual-interface"] ?? row.interface);
  const lan = [...new Set([...listed("LAN"), ...local])].filter((name) => running.has(name) && !wan.includes(name));
  return { wan, lan, route, via };
}

/** Creates the row of facts: internet, load, memory, connections, version. */
function facts() {
  const element = h("div", { class: "facts", id: "facts" });
  // Boxes stand in this order, whichever data arrives first.
  const ORDER = ["Internet", "Processor", "Memory", "Connections", "Uptime"];
  const boxes = new Map();
  const put = (name, text, more, kind = "", link = "") => {
    if (!boxes.has(name)) {
      const big = h("p", { class: "big" }), small = h("p", { class: "faint" });
      const box = h("section", { class: "card fact", "aria-label": name, data: { fact: name } }, h("h2", {}, link ? h("a", { href: "#" + link }, name) : name), big, small);
      boxes.set(name, { box, big, small });
      element.append(...ORDER.filter((own) => boxes.has(own)).map((own) => boxes.get(own).box));
    }
    const { box, big, small } = boxes.get(name);
    box.dataset.kind = kind;
    if (big.textContent !== text) big.textContent = text;
    if (small.textContent !== more) small.textContent = more;
  };
  return { element, draw(state, { route, via }) {
    const resource = state.resource.all[0] ?? {};
    const link = state.interfaces.all.find((row) => row.name === via);
    const address = addressesByName(state).get(via);
    if (state.routes.total || state.interfaces.total) {
      const since = link?.["last-link-up-time"];
      put("Internet", route ? "Connected" : "No default route", route ? [via, address, since && `link up since ${since}`].filter(Boolean).join(" · ")
        : "Packets to the internet have no way.", route ? "good" : "bad", "/ip/route");
    }
    if (state.resource.all.length) {
      put("Processor", `${resource["cpu-load"] ?? "–"} %`, `${resource["cpu-count"] ?? ""} × ${resource.cpu ?? ""}`, Number(resource["cpu-load"]) > 85 ? "warn" : "", "/tool/profile");
      const [free, all] = [Number(resource["free-memory"]), Number(resource["total-memory"])];
      put("Memory", `${Math.round(100 * (1 - free / all))} %`, `${format.bytes(free)} of ${format.bytes(all)} free`, free / all < 0.1 ? "warn" : "", "/system/resource");
    }
    if (!state.downloads.fault) put("Connections", format.count(state.downloads.total), "tracked now", "", "/ip/firewall/connection");
    if (state.resource.all.length) put("Uptime", format.interval(resource.uptime ?? ""), `version ${resource.version ?? ""}`, "", "/system/resource");
  } };
}

/** Creates the charts over time: WAN, LAN, processor, and ways of packets. */
function charts() {
  const traffic = (title) => {
    const box = card(title, { link: "/interface" });
    const own = chart({ label: title, series: [["received", "--rx"], ["transmitted", "--tx"]], format: format.rate, least: 1e4 });
    box.body.append(own.element);
    return { box, chart: own };
  };
  const wan = traffic("WAN"), lan = traffic("LAN");
  const busy = ACTIVITIES;
  const cpu = card("Processor by activity", { link: "/tool/profile" });
  const cpuChart = chart({ label: "Processor by activity", series: busy.map((name, at) => [name, `--s${at + 1}`]), format: (share) => `${(share / 10).toLocaleString(undefined, { maximumFractionDigits: 1 })} %`,
    least: 50, stacked: true });
  cpu.body.append(cpuChart.element);
  const ways = card("Ways of packets", { link: "doctor" });
  const wayChart = chart({ label: "Packets per second by their way", series: [["FastPath", "--s3"], ["FastTrack", "--s1"], ["other", "--s5"]],
    format: (packets) => `${format.count(Math.round(packets))} p/s`, least: 10, stacked: true });
  ways.body.append(wayChart.element);
  const element = h("div", { class: "charts", id: "plots" }, wan.box.element, lan.box.element, cpu.element, ways.element);
  let span = "seconds", sides = { wan: [], lan: [] }, kept = null;
  const buttons = Object.entries(SPANS).map(([name, { title }]) => h("button", { type: "button", "aria-pressed": String(name === span), data: { span: name }, on: { click: () => {
    span = name;
    kept = null;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.span === name));
    load().catch(() => {});
  } } }, title));
  return { element, switch: h("div", { class: "switches", role: "group", "aria-label": "Time shown" }, buttons), load, follow };

  function follow(next) {
    if (JSON.stringify([next.wan, next.lan]) === JSON.stringify([sides.wan, sides.lan])) return;
    sides = { wan: next.wan, lan: next.lan };
    kept = null;
  }
  /** Loads what is newer than the samples shown. Returns the answer. */
  async function load() {
    const own = span, asked = sides, names = [...sides.wan, ...sides.lan];
    const query = [["span", own], ["list", "yes"], ...names.map((name) => ["interface", name])];
    const known = kept;
    if (known) query.push(["since", known.last]);
    const answer = await api.history(query);
    // Another span or other interfaces were chosen meanwhile.
    if (own !== span || asked !== sides || known !== kept) return answer;
    kept = merge(kept, answer, SPANS[own].slots);
    show();
    return answer;
  }
  function show() {
    const axis = { time: kept.time, ...SPANS[span] };
    for (const [side, own] of [["wan", wan], ["lan", lan]]) {
      const all = sides[side].map((name) => kept.interfaces[name] ?? []);
      own.chart.set([0, 1].map((way) => sum(all.map((samples) => samples.map((sample) => sample[way])))), axis);
      own.box.note(sides[side].join(", ") || (side === "wan" ? "no default route" : "no local network"));
    }
    cpuChart.set(busy.map((name) => kept.load[name] ?? []), axis);
    const load = busy.reduce((total, name) => total + (kept.load[name]?.at(-1) ?? 0), 0);
    cpu.note(`${(load / 10).toLocaleString(undefined, { maximumFractionDigits: 1 })} % of the workers' time`);
    const { received, fastpath, fasttrack } = kept.packets;
    const other = received.map((all, at) => Math.max(0, all - fastpath[at] - fasttrack[at]));
    wayChart.set([fastpath, fasttrack, other], axis);
    const share = (column) => Math.round((100 * column.at(-1)) / Math.max(1, column.at(-1) + other.at(-1)));
    const fast = fastpath.map((packets, at) => packets + fasttrack[at]);
    ways.note(received.at(-1) ? `${share(fast)} % fast in the last ${span === "seconds" ? "second" : "minute"}` : "no packets");
  }
}

/** Adds the new samples of an answer to those shown. */
function merge(kept, answer, slots) {
  if (!kept || answer.last < kept.last) return answer;
  const joined = (before, after) => Object.fromEntries(Object.entries(after).map(([name, samples]) => [name, [...(before[name] ?? []), ...samples].slice(-slots)]));
  return { ...answer, interfaces: joined(kept.interfaces, answer.interfaces), load: joined(kept.load, answer.load), packets: joined(kept.packets, answer.packets) };
}

/** Adds lists of samples, all of which end at the same time. */
function sum(lists) {
  const length = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length }, (_, at) => lists.reduce((total, list) => total + (list[at - length + list.length] ?? 0), 0));
}

/** Creates the short lists. */
function lists() {
  const rates = new Rates();
  const made = (title, link, headings, empty) => {
    const box = card(title, { link });
    const table = shortTable(title, headings, empty);
    box.body.append(table.element);
    return { ...box, draw: table.draw };
  };
  const all = {
    talkers: made("Top talkers", "/ip/firewall/connection", [["host"], ["down", true], ["up", true], ["queue"]], "No connection has traffic."),
    drops: made("Dropped packets", "/tool/drop", [["reason"], ["meaning"], ["now", true], ["packets", true]], "Nothing was dropped."),
    peers: made("VPN and PPP", "/ppp/active", [["peer"], ["kind"], ["state"]], "No peer is connected."),
    leases: made("Devices", "/ip/dhcp-server/lease", [["device"], ["address"], ["expires", true]], "No device has a lease."),
    errors: made("Last errors", "/log", [["time"], ["message"]], "The log has no error."),
    certificates: made("Certificates that expire", "/certificate", [["certificate"], ["valid until"], ["expires", true]], "No certificate expires within 30 days."),
  };
  const element = h("div", { class: "lists" }, Object.values(all).map((one) => one.element));
  return { element, draw(state) {
    all.talkers.draw(talkerRows([...state.downloads.all, ...state.uploads.all], state.leases.all));
    all.drops.draw(dropRows(state.drops.all, rates));
    const rows = { wireguard: state.wireguard.all.filter((row) => row.disabled !== "true"), ipsec: state.ipsec.all, ppp: state.ppp.all };
    all.peers.draw(peerRows(rows));
    const peers = [[state.ppp.matched, "PPP"], [state.wireguard.matched, "WireGuard"], [state.ipsec.matched, "IPsec"]].filter(([number]) => number);
    all.peers.note(peers.map(([number, name]) => `${format.count(number)} ${name}`).join(", "));
    all.leases.draw(leaseRows(state.leases.all));
    all.leases.note(state.leases.matched ? `${format.count(state.leases.matched)} with a lease` : "");
    all.errors.draw(logRows(state.errors.all));
    all.certificates.draw(certificateRows(state.certificates.all));
  } };
}
