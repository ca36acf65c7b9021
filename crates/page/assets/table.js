// Menu page: rows as a live table, settings as a form, commands as buttons.
import * as api from "./api.js";
import { asks, fill, h } from "./dom.js";
import { commandForm, itemForm } from "./form.js";
import { rowTable } from "./rows.js";
import { watchAddress, watches } from "./watch.js";
import { asksWhy, why } from "./why.js";

/** Shows a menu, or one of its items. */
export async function menuPage(main, world, menu, id, given) {
  const title = h("div", { class: "title" }, h("h1", {}, menu.help || menu.path), h("code", { class: "faint" }, id ? `${menu.path}/${id}` : menu.path),
    menu.idle && h("p", { class: "faint" }, "The settings are stored but have no effect yet."));
  const body = h("div");
  fill(main, title, body);
  try { await world.load(menu); } catch (refused) { return fill(body, h("p", { class: "error", role: "alert" }, refused.message)); }
  // Another view was opened meanwhile.
  if (!body.isConnected) return;
  if (menu.shape === "folder") return folder(body, world, menu);
  if (menu.shape === "settings" || menu.shape === "status") return settings(body, world, menu);
  if (id) return item(body, world, menu, id, given);
  rows(body, world, menu, given.get("filter") ?? "");
}

/** Shows the menus of a folder, and its commands. */
function folder(body, world, menu) {
  const inside = [...world.menus.values()].filter(({ path }) => path.startsWith(menu.path + "/") && !path.slice(menu.path.length + 1).includes("/"));
  const more = h("div");
  fill(body, h("div", { class: "tiles small" }, inside.map((one) => h("a", { class: "card tool", href: "#" + one.path },
    h("strong", {}, one.path.split("/").pop()), h("span", { class: "faint" }, one.help, one.idle && " (no effect yet)")))), more);
  commands(more, world, menu, () => []);
}

async function settings(body, world, menu) {
  const values = await api.print(menu.path).catch((refused) => refused);
  if (values instanceof Error) return fill(body, h("p", { class: "error" }, values.message));
  const form = h("div"), more = h("div");
  fill(body, form, more);
  itemForm(form, world, menu, values, async (changes) => {
    await api.set(menu.path, null, changes);
    settings(body, world, menu);
  });
  commands(more, world, menu, () => []);
}

async function item(body, world, menu, id, given) {
  const back = () => { location.hash = menu.path; };
  let values = {};
  if (id === "new") {
    const like = given.get("like");
    values = Object.fromEntries([...given].filter(([name]) => name !== "like"));
    if (like) {
      const found = await api.print(`${menu.path}/${like}`).catch(() => ({}));
      values = Object.fromEntries(Object.entries(found).filter(([name]) => !name.startsWith(".")));
    }
    return itemForm(body, world, menu, {}, async (changes) => { await api.add(menu.path, changes); back(); }, values);
  }
  values = await api.print(`${menu.path}/${id}`).catch((refused) => refused);
  if (values instanceof Error) return fill(body, h("p", { class: "error" }, values.message));
  itemForm(body, world, menu, values, async (changes) => { await api.set(menu.path, id, changes); back(); });
}

/** Shows the rows of a menu with their tools. */
function rows(body, world, menu, given) {
  const changes = world.may("write") && menu.shape !== "rows";
  const error = h("p", { class: "error", role: "alert" });
  const more = h("div"), bar = h("div", { class: "bar" });
  const removes = world.may("write") && menu.remove;
  const files = menu.path === "/file" && world.may("ftp");
  const explains = asksWhy(menu.path) && world.may("test");
  const canWatch = watches(menu.path);
  const selectable = changes || removes || files || explains || canWatch;
  const table = rowTable(world, menu, { changes, selectable, error, given, chose: enable });
  const { chosen, clear } = table;
  const each = (job) => async () => {
    error.textContent = "";
    try { for (const row of chosen()) await job(row[".id"]); } catch (refused) { error.textContent = refused.message; }
  };
  const can = (name) => menu.properties.some((property) => property.name === name);
  const button = (name, job, one) => h("button", { id: "do-" + name.toLowerCase().replace(/\W+/g, "-"), disabled: true,
    data: { needs: one ? "one" : "some" }, on: { click: job } }, name);
  const tools = [changes && [
    menu.add && h("a", { href: `#${menu.path}/new`, id: "add", class: "button main" }, "Add"),
    can("disabled") && [button("Enable", each((id) => api.set(menu.path, id, { disabled: "false" }))),
      button("Disable", each((id) => api.set(menu.path, id, { disabled: "true" })))],
    menu.add && button("Copy", () => { location.hash = `${menu.path}/new?like=${chosen()[0][".id"]}`; }, true),
    menu.shape === "ordered" && [button("Move up", () => table.step(-1), true), button("Move down", () => table.step(1), true)],
  ], removes && button("Remove", remove), explains && button("Why?", explain, true),
    canWatch && button("Watch", () => { location.hash = watchAddress(menu.path, chosen()); })];
  const moves = files ? transfers({ may: world.may, button, chosen, error }) : [];
  fill(bar, tools, moves, table.filter, table.count, h("span", { class: "grow" }), table.chooser);
  fill(body, bar, error, table.element, more);
  table.element.addEventListener("keydown", (event) => { if (event.key === "Delete" && removes) remove(); });
  commands(more, world, menu, chosen);

  async function explain() {
    const walk = await why(menu.path, chosen()[0]);
    if (walk) location.hash = walk;
    else error.textContent = "This row names no packet whose path could be shown.";
  }
  async function remove() {
    const count = chosen().length;
    if (!count || (count > 1 && !await asks(`Remove ${count} items?`, "Remove"))) return;
    await each((id) => api.remove(menu.path, id))();
    clear();
  }
  function enable() {
    const count = chosen().length;
    for (const element of bar.querySelectorAll("[data-needs]")) {
      element.disabled = element.dataset.needs === "one" ? count !== 1 : count === 0;
    }
  }
}

/** Creates buttons for uploading and downloading files. */
function transfers({ may, button, chosen, error }) {
  const attempt = async (job) => {
    error.textContent = "";
    try { await job(); } catch (refused) { error.textContent = refused.message; }
  };
  const picker = h("input", { type: "file", id: "upload", multiple: true, hidden: true, on: { change: () => attempt(async () => {
    for (const file of picker.files) await api.upload(file.name, file);
    picker.value = "";
  }) } });
  const save = (name, bytes) => {
    const place = URL.createObjectURL(bytes);
    h("a", { href: place, download: name.split("/").pop() }).click();
    URL.revokeObjectURL(place);
  };
  return [
    may("write") && [h("button", { id: "do-upload", on: { click: () => picker.click() } }, "Upload"), picker],
    may("read") && button("Download", () => attempt(async () => {
      for (const row of chosen()) save(row.name, await api.download(row.name));
    })),
  ];
}

function commands(body, world, menu, chosen) {
  const place = h("div");
  const shown = menu.commands.filter((command) => command.needs.every(world.may)
    && !/^(print|export|find|get|set|add|remove|enable|disable|move|comment|unset|edit)$/.test(command.name));
  if (!shown.length) return;
  fill(body, h("div", { class: "bar" }, shown.map((command) => h("button", { title: command.help,
    on: { click: () => commandForm(place, world, menu, command, chosen().map((row) => row[".id"])) } }, command.name))), place);
}
