// Menu page: rows as a live table, settings as a form, commands as buttons.
import * as api from "./api.js";
import { fill, h, whileShown } from "./dom.js";
import { commandForm, itemForm } from "./form.js";

/** Maximum number of rows drawn; the filter searches all rows. */
const DRAWN = 500;
const EVERY = 1500;

/** Shows a menu, or one of its items. */
export function menuPage(main, world, menu, id, given) {
  const title = h("div", {}, h("h1", {}, menu.path),
    h("p", { class: "faint" }, menu.help, menu.idle && " The settings are stored but have no effect yet."));
  const body = h("div");
  fill(main, title, body);
  if (menu.shape === "folder") return commands(body, world, menu, () => []);
  if (menu.shape === "settings" || menu.shape === "status") return settings(body, world, menu);
  if (id) return item(body, world, menu, id, given);
  rows(body, world, menu);
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

function columnsOf(menu) {
  const kept = JSON.parse(localStorage.getItem("columns " + menu.path) || "null");
  if (kept) return kept;
  const named = menu.columns.length ? menu.columns : menu.properties.slice(0, 8).map((property) => property.name);
  return named.filter((name) => name !== "comment");
}

/** Returns the columns to draw: the user's choice, or the default columns that have a value in some row. */
function drawn(state, rows) {
  if (state.choice || !rows.length) return state.columns;
  const used = state.columns.filter((name, at) => at === 0 || rows.some((row) => row[name]));
  // The reason of the slow path is what users look for in connections.
  const why = "slow-path-reason";
  return rows.some((row) => row[why]) ? [used[0], why, ...used.slice(1).filter((name) => name !== why)] : used;
}

function rows(body, world, menu) {
  const state = { rows: [], chosen: new Set(), filter: "", columns: columnsOf(menu), still: false,
    choice: localStorage.getItem("columns " + menu.path) !== null };
  let columns = state.columns;
  const changes = world.may("write") && menu.shape !== "rows";
  const error = h("p", { class: "error", role: "alert" });
  const table = h("table", { id: "rows" });
  const filter = h("input", { type: "search", id: "filter", placeholder: "Filter rows", "aria-label": "Filter rows",
    on: { input: () => { state.filter = filter.value.toLowerCase(); draw(); } } });
  const count = h("span", { class: "faint", id: "count" });
  const chosen = () => state.rows.filter((row) => state.chosen.has(row[".id"]));
  const each = (job) => async () => {
    error.textContent = "";
    try { for (const row of chosen()) await job(row[".id"]); } catch (refused) { error.textContent = refused.message; }
    await load();
  };
  const can = (name) => menu.properties.some((property) => property.name === name);
  const button = (name, job, one) => {
    const element = h("button", { id: "do-" + name.toLowerCase().replace(/\W+/g, "-"), on: { click: job } }, name);
    element.dataset.needs = one ? "one" : "some";
    return element;
  };
  const tools = changes ? [
    menu.add && h("a", { href: `#${menu.path}/new`, id: "add" }, h("button", { class: "main", tabindex: "-1" }, "Add")),
    can("disabled") && [button("Enable", each((id) => api.set(menu.path, id, { disabled: "false" }))),
      button("Disable", each((id) => api.set(menu.path, id, { disabled: "true" })))],
    menu.remove && button("Remove", each((id) => api.remove(menu.path, id))),
    menu.add && button("Copy", () => { location.hash = `${menu.path}/new?like=${chosen()[0][".id"]}`; }, true),
    menu.shape === "ordered" && [button("Move up", () => step(-1), true), button("Move down", () => step(1), true)],
  ] : [];
  const moves = menu.path === "/file" && world.may("ftp") ? transfers({ may: world.may, button, chosen, load, error }) : [];
  const bar = h("div", { class: "bar" }, tools, moves, filter, count, h("span", { class: "grow" }), chooser(menu, state, () => draw()));
  const more = h("div");
  fill(body, bar, error, h("div", { class: "scroll" }, table), more);
  commands(more, world, menu, chosen);

  async function load() {
    if (state.still) return;
    const found = await api.print(menu.path);
    state.rows = Array.isArray(found) ? found : [found];
    const there = new Set(state.rows.map((row) => row[".id"]));
    for (const id of state.chosen) if (!there.has(id)) state.chosen.delete(id);
    if (!state.still) draw();
  }
  async function move(id, before) {
    error.textContent = "";
    try {
      await api.run(menu.path + "/move", before ? { numbers: id, destination: before } : { numbers: id });
    } catch (refused) { error.textContent = refused.message; }
    await load();
  }
  function step(way) {
    const at = state.rows.findIndex((row) => state.chosen.has(row[".id"]));
    const to = way < 0 ? state.rows[at - 1] : state.rows[at + 2];
    if (at >= 0 && (way > 0 || to)) move(state.rows[at][".id"], to?.[".id"]);
  }
  function draw() {
    const shown = state.rows.filter((row) => !state.filter
      || Object.values(row).some((value) => String(value).toLowerCase().includes(state.filter)));
    count.textContent = `${shown.length} of ${state.rows.length}`
      + (shown.length > DRAWN ? `; the first ${DRAWN} are shown` : "");
    const focus = document.activeElement?.dataset?.id;
    columns = drawn(state, shown);
    fill(table, head(menu, columns, changes), h("tbody", {}, shown.slice(0, DRAWN).map((row) => line(row))));
    if (focus) table.querySelector(`[data-id="${CSS.escape(focus)}"]`)?.focus();
    for (const element of bar.querySelectorAll("[data-needs]")) {
      element.disabled = element.dataset.needs === "one" ? state.chosen.size !== 1 : state.chosen.size === 0;
    }
  }
  function line(row) {
    const id = row[".id"];
    const toggle = () => { if (!state.chosen.delete(id)) state.chosen.add(id); draw(); };
    const flags = menu.flags.filter(([, name]) => row[name] === "true").map(([letter]) => letter).join("");
    const kind = ["disabled", "invalid", "dynamic"].filter((name) => row[name] === "true");
    if (state.chosen.has(id)) kind.push("chosen");
    const wide = columns.length + 3;
    const cells = columns.map((name, at) => {
      const text = row[name] ?? "";
      const numeric = /^[\d.,/ ]+[a-zA-Z%]*$/.test(text) && !/address|network|port/.test(name);
      const editable = at === 0 && changes && row.dynamic !== "true";
      if (name === "slow-path-reason") return h("td", { class: "why" }, text, text && " ", text && wayOf(row));
      return h("td", { class: numeric ? "number" : undefined, title: text },
        editable ? h("a", { href: `#${menu.path}/${id}`, data: { id } }, text || "edit") : text);
    });
    const ordered = changes && menu.shape === "ordered";
    const own = h("tr", { class: kind.join(" "), data: { row: id }, draggable: ordered ? "true" : undefined, on: ordered ? drags(id) : {} },
      h("td", {}, (changes || moves.length > 0) && h("input", { type: "checkbox", "aria-label": "Select " + (row[menu.key] ?? id), data: { id: "c" + id },
        ...(state.chosen.has(id) ? { checked: true } : {}), on: { change: toggle } })),
      h("td", {}, ordered && h("span", { class: "handle", "aria-hidden": "true" }, "⠿ "), flags), cells);
    return row.comment ? [h("tr", { class: "comment " + kind.join(" ") }, h("td", { colspan: wide }, ";;; " + row.comment)), own] : own;
  }
  function drags(id) {
    return {
      dragstart: (event) => { state.still = true; event.dataTransfer.setData("text/plain", id); },
      dragover: (event) => { event.preventDefault(); event.currentTarget.classList.add("over"); },
      dragleave: (event) => event.currentTarget.classList.remove("over"),
      dragend: () => { state.still = false; },
      drop: (event) => {
        event.preventDefault();
        state.still = false;
        const dragged = event.dataTransfer.getData("text/plain");
        if (dragged && dragged !== id) move(dragged, id);
      },
    };
  }
  whileShown(table, EVERY, () => load().catch((refused) => { error.textContent = refused.message; }));
}

/** Creates buttons for uploading and downloading files. */
function transfers({ may, button, chosen, load, error }) {
  const attempt = async (job) => {
    error.textContent = "";
    try { await job(); } catch (refused) { error.textContent = refused.message; }
    await load();
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

function head(menu, columns, changes) {
  return h("thead", {}, h("tr", {}, h("th", {}, changes ? h("span", { class: "faint" }, "✓") : ""),
    h("th", { title: menu.flags.map(([letter, name]) => `${letter} ${name}`).join(", ") }, "Flags"),
    columns.map((name) => h("th", { scope: "col" }, name))));
}

function chooser(menu, state, draw) {
  const box = (name) => h("label", {}, h("input", { type: "checkbox", ...(state.columns.includes(name) ? { checked: true } : {}),
    on: { change: (event) => {
      state.columns = event.target.checked ? [...state.columns, name] : state.columns.filter((own) => own !== name);
      state.choice = true;
      localStorage.setItem("columns " + menu.path, JSON.stringify(state.columns));
      draw();
    } } }), " ", name);
  return h("details", {}, h("summary", {}, "Columns"), h("div", { class: "fields" }, menu.properties.map((property) => box(property.name))));
}

/** Creates a link to the packet walk of a connection. */
function wayOf(row) {
  return h("a", { href: "#walk?" + asked(row), "aria-label": "Show the path" }, "show path");
}

/** Returns the query of the packet walk for a connection. */
function asked(row) {
  const part = (text) => /^\[?(.*?)\]?:(\d+)$/.exec(text)?.slice(1) ?? [text, ""];
  const [src, sport] = part(row["src-address"] || ""), [dst, dport] = part(row["dst-address"] || "");
  const ports = { "src-port": row["src-port"] || sport, "dst-port": row["dst-port"] || dport };
  return new URLSearchParams({ "src-address": src, "dst-address": dst, protocol: row.protocol || "tcp",
    ...(ports["src-port"] && ports) });
}

function commands(body, world, menu, chosen) {
  const place = h("div");
  const shown = menu.commands.filter((command) => command.needs.every(world.may)
    && !/^(print|export|find|get|set|add|remove|enable|disable|move|comment|unset|edit)$/.test(command.name));
  if (!shown.length) return;
  fill(body, h("div", { class: "bar" }, shown.map((command) => h("button", { title: command.help,
    on: { click: () => commandForm(place, world, menu, command, chosen().map((row) => row[".id"])) } }, command.name))), place);
}
