// Menu tree, and search over menus, properties and commands.
import * as api from "./api.js";
import { fill, h } from "./dom.js";
import { first } from "./live.js";
import { tasksFor } from "./tasks.js";

/** Menus that administrators use most, in order. */
const FIRST = ["interface", "ip", "ipv6", "routing", "queue", "system", "tool", "log", "file", "user", "certificate", "radius"];

/** Draws the menu tree into an element. */
export function navigation(nav, world, places) {
  const tree = new Map();
  for (const path of world.menus.keys()) {
    let branch = tree;
    for (const part of path.split("/").filter(Boolean)) {
      if (!branch.has(part)) branch.set(part, new Map());
      branch = branch.get(part);
    }
  }
  const names = [...tree.keys()];
  const idle = names.filter((name) => !isUsed(name));
  const order = (name) => (FIRST.indexOf(name) + 1 || FIRST.length + 1);
  const used = names.filter((name) => !idle.includes(name)).sort((one, other) => order(one) - order(other) || one.localeCompare(other));
  const part = (wanted) => new Map(wanted.map((name) => [name, tree.get(name)]));
  fill(nav, h("a", { href: "#/" }, "Dashboard"),
    places.map(([place, title]) => h("a", { href: "#" + place }, title)), h("hr"), branches(part(used), ""),
    idle.length > 0 && h("details", {}, h("summary", { class: "faint" }, "stored without effect"), h("div", {}, branches(part(idle), ""))));

  function isUsed(name) {
    return [...world.menus.values()].some((menu) => !menu.idle && menu.shape !== "folder"
      && (menu.path === "/" + name || menu.path.startsWith(`/${name}/`)));
  }

  function branches(branch, above) {
    return [...branch].map(([name, under]) => {
      const path = `${above}/${name}`;
      const menu = world.menus.get(path);
      const own = menu && (menu.shape !== "folder" || menu.commands.length > 0);
      const link = (text) => h("a", { href: "#" + path, class: menu.idle ? "idle" : undefined,
        title: menu.idle ? `${menu.help} (no effect yet)` : menu.help }, text);
      if (!under.size) return own ? link(name) : null;
      return h("details", {}, h("summary", {}, name), h("div", {}, own && link(`${name} …`), branches(under, path)));
    });
  }
}

/** Menus whose rows the search field finds by their values, most likely ones first. */
const SEARCHED = ["/ip/dhcp-server/lease", "/interface", "/ip/address", "/ip/firewall/filter", "/ip/firewall/nat", "/queue/simple",
  "/ip/dns/static", "/ip/arp", "/ip/route", "/ip/firewall/address-list", "/interface/wireguard/peers", "/ppp/secret", "/user",
  "/system/script", "/ip/firewall/mangle", "/ipv6/address"];
/** Rows found per menu, and delay after typing in milliseconds. */
const ROWS = 3, DELAY = 250;

/** Creates the search field; Ctrl+K or / moves the focus to it. */
export function search(world) {
  const list = h("ul", { id: "found", "aria-label": "Found" });
  const field = h("input", { id: "search", type: "search", placeholder: "Search: port forward, 192.168.88.20, … (Ctrl+K)",
    "aria-label": "Search tasks, menus, properties, addresses and comments", on: { input: find, keydown: down } });
  const box = h("div", { class: "search" }, field, list);
  let due = 0, searched = null;
  const line = (address, name, what, help) => h("li", {}, h("a", { href: "#" + address, on: { click: leave, keydown: move } },
    h("strong", {}, name), what && ` ${what}`, " ", h("span", { class: "faint" }, help)));
  function find() {
    const text = field.value, words = text.toLowerCase().split(/\s+/).filter(Boolean);
    clearTimeout(due);
    if (!words.length) return fill(list);
    searched ??= api.searched().then((names) => { world.searched = names; if (field.value) find(); }, () => { searched = null; });
    const found = matches(world, words).slice(0, 30);
    const isTask = found.length === 0 || words.join("").length > 2;
    fill(list, isTask && tasksFor(world, words).slice(0, 6).map(([title, address]) => line(address, title, "", address.split("?")[0])),
      found.map(([path, what, help]) => line(path, path, what, help)));
    if (text.trim().length > 2) due = setTimeout(() => findRows(text), DELAY);
  }
  /** Adds rows of the router that contain the text; menus are searched one after the other. */
  async function findRows(text) {
    for (const menu of SEARCHED.filter((path) => world.menus.has(path))) {
      const rows = await first({ menu, filter: text, count: ROWS });
      if (field.value !== text) return;
      const key = world.menus.get(menu).key;
      list.append(...rows.map((row) => line(`${menu}/${row[".id"]}`, row[key] ?? row.address ?? row.action ?? menu, row.comment || row["host-name"], menu)));
    }
  }
  function leave() { field.value = ""; fill(list); }
  function down(event) {
    const first = list.querySelector("a");
    if (event.key === "Escape") leave();
    if (first && (event.key === "ArrowDown" || event.key === "Enter")) {
      event.preventDefault();
      if (event.key === "Enter") first.click(); else first.focus();
    }
  }
  function move(event) {
    const item = event.target.closest("li");
    const to = { ArrowDown: item.nextElementSibling, ArrowUp: item.previousElementSibling }[event.key];
    if (event.key === "Escape") { leave(); field.focus(); }
    if (event.key === "ArrowUp" && !to) field.focus();
    if (to) { event.preventDefault(); to.querySelector("a").focus(); }
  }
  addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if ((event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing)) {
      event.preventDefault();
      document.getElementById("search")?.focus();
    }
  });
  return box;
}

/** Returns the menus, properties and commands that contain all words, menus first. */
function matches(world, words) {
  const all = (text) => words.every((word) => text.includes(word));
  const menus = [], rest = [];
  for (const menu of world.menus.values()) {
    const spaced = menu.path.replaceAll("/", " ");
    if (all(`${menu.path}${spaced} ${menu.help}`.toLowerCase())) menus.push([menu.path, "", menu.help]);
    // The names of properties arrive after the first search.
    for (const [name, help] of [...(world.searched?.[menu.path] ?? []), ...menu.commands.map((command) => [command.name, command.help])]) {
      if (words.some((word) => name.includes(word)) && all(`${menu.path}${spaced} ${name} ${help}`.toLowerCase())) rest.push([menu.path, name, help]);
    }
  }
  menus.sort((one, other) => one[0].length - other[0].length);
  return [...menus, ...rest];
}
