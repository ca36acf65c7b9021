// Menu tree, and search over menus, properties and commands.
import { fill, h } from "./dom.js";

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

/** Creates the search field; Ctrl+K or / moves the focus to it. */
export function search(world) {
  const list = h("ul", { id: "found", "aria-label": "Found" });
  const field = h("input", { id: "search", type: "search", placeholder: "Find a menu, property or command (Ctrl+K)",
    "aria-label": "Find a menu, property or command", on: { input: find, keydown: down } });
  const box = h("div", { class: "search" }, field, list);
  function find() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length ? matches(world, words).slice(0, 30) : [];
    fill(list, found.map(([path, what, help]) => h("li", {}, h("a", { href: "#" + path, on: { click: leave, keydown: move } },
      h("strong", {}, path), what && ` ${what}`, " ", h("span", { class: "faint" }, help)))));
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
    for (const property of [...menu.properties, ...menu.commands]) {
      if (words.some((word) => property.name.includes(word))
        && all(`${menu.path}${spaced} ${property.name} ${property.help}`.toLowerCase())) {
        rest.push([menu.path, property.name, property.help]);
      }
    }
  }
  menus.sort((one, other) => one[0].length - other[0].length);
  return [...menus, ...rest];
}
