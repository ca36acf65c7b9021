// Current state of the router: traffic, fast path, processors, drops, connections.
import * as api from "./api.js";
import { fill, h, rate, whileShown } from "./dom.js";
import { plot } from "./plot.js";

/** Maximum number of interfaces with a plot. */
const PLOTS = 12;

export function dashboard(main, world) {
  const tiles = h("div", { class: "tiles", id: "plots" }), facts = h("div", { class: "tiles" });
  const error = h("p", { class: "error", role: "status" });
  fill(main, h("h1", {}, "Dashboard"), error, h("div", { class: "bar" }), facts, h("div", { class: "bar" }), tiles);
  const system = tile(facts, "System"), paths = tile(facts, "Fast path"), load = tile(facts, "Processors"), drops = tile(facts, "Dropped packets");
  const plots = new Map();

  whileShown(tiles, 1000, async () => {
    const interfaces = await api.print("/interface");
    const running = interfaces.filter((row) => row.running === "true" && row.type !== "loopback").slice(0, PLOTS);
    for (const name of plots.keys()) {
      if (!running.some((row) => row.name === name)) { plots.get(name).element.remove(); plots.delete(name); }
    }
    if (!running.length) return;
    const said = await api.run("/interface/monitor-traffic", { interface: running.map((row) => row.name).join(","), once: "" });
    let packets = 0, fast = 0;
    for (const row of said) {
      const number = (name) => Number(row[name] ?? 0);
      if (!plots.has(row.name)) plots.set(row.name, interfaceTile(tiles, row.name));
      const own = plots.get(row.name), [rx, tx] = [number("rx-bits-per-second"), number("tx-bits-per-second")];
      own.plot.push(rx, tx);
      fill(own.now, h("span", { class: "rx" }, "▼ " + rate(rx)), "  ", h("span", { class: "tx" }, "▲ " + rate(tx)));
      packets += number("rx-packets-per-second");
      fast += number("fp-rx-packets-per-second");
    }
    const share = packets ? Math.round((100 * fast) / packets) : null;
    fill(paths, h("p", { class: "big", id: "fast-share" }, share === null ? "no traffic" : `${share} %`),
      h("p", { class: "faint" }, "of packets received in the last second took the fast path"),
      h("p", {}, h("a", { href: "#/ip/settings" }, "settings"), " · ", h("a", { href: "#doctor" }, "reasons for the slow path")));
    error.textContent = "";
  });

  whileShown(system, 3000, async () => {
    const [resource, connections] = await Promise.all([api.print("/system/resource"),
      api.run("/ip/firewall/connection/print", { "count-only": "" }).catch(() => null)]);
    const shown = ["version", "uptime", "cpu", "cpu-count", "cpu-load", "free-memory", "total-memory"];
    fill(system, h("dl", {}, shown.filter((name) => resource[name]).map((name) => [h("dt", {}, name), h("dd", {}, name.endsWith("memory") ? bytes(resource[name]) : resource[name])]),
      connections && [h("dt", {}, "connections"), h("dd", {}, h("a", { href: "#/ip/firewall/connection" }, String(connections.ret ?? "")))]));
  });

  whileShown(load, 1000, async () => {
    const said = await api.run("/tool/profile", { once: "" });
    const last = said.at(-1)?.[".section"];
    const rows = said.filter((row) => row[".section"] === last && row.name !== "total");
    fill(load, rows.map((row) => h("div", { class: "meter" }, h("span", {}, row.name),
      h("meter", { min: 0, max: 100, value: parseFloat(row.usage), "aria-label": row.name }), h("span", {}, row.usage))));
  });

  whileShown(drops, 3000, async () => {
    const rows = await api.print("/tool/drop");
    const top = rows.sort((one, other) => Number(other.packets) - Number(one.packets)).slice(0, 6);
    fill(drops, top.length ? h("dl", {}, top.map((row) => [h("dt", { title: row.meaning }, row.reason), h("dd", {}, row.packets)]))
      : h("p", { class: "faint" }, "none"), h("p", {}, h("a", { href: "#/tool/drop" }, "all drop reasons and their meaning")));
  });
}

function bytes(count) {
  return `${(Number(count) / 2 ** 20).toFixed(0)} MiB`;
}

function tile(parent, title) {
  const body = h("div");
  parent.append(h("section", { class: "card tile" }, h("h2", {}, title), body));
  return body;
}

function interfaceTile(parent, name) {
  const line = plot(name), now = h("p", { class: "mono" });
  const element = h("section", { class: "card tile", data: { interface: name } },
    h("h2", {}, h("a", { href: "#/interface" }, name)), line.canvas, now);
  parent.append(element);
  return { element, plot: line, now };
}
