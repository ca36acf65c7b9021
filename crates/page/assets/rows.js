// Table of a menu's rows: a window that follows the router. Rows are keyed by their ids and updated in place, so that
// focus, selections of text, tooltips and clicks survive.
import * as api from "./api.js";
import { commentCell, flagCell, Rates, valueCell } from "./cell.js";
import { chosenColumns, columnChooser } from "./chooser.js";
import { drawn, groupOf, needed, sortedBy, title } from "./columns.js";
import { fill, h } from "./dom.js";
import { draggable } from "./drag.js";
import * as format from "./format.js";
import { fullText } from "./full.js";
import { follow, router } from "./live.js";
import { keeper } from "./widths.js";

/** Height of a row in pixels, as in style.css. */
const ROW = 30;
/** Rows loaded above and below the visible ones. */
const MARGIN = 30;
/** Delay after scrolling and typing before the router is asked, in milliseconds. */
const DELAY = 120;
/** Time after a movement of the pointer in which rows keep their positions, in milliseconds. */
const CALM = 1200;

/** Creates the table. `given`: the first filter. `chose` is called when the selection changes. */
export function rowTable(world, menu, { changes, selectable, error, given = "", chose }) {
  const state = { filter: given, sort: menu.path === "/log" ? "-time" : "", choice: chosenColumns(world, menu), first: 0, lines: 0, names: [],
    order: [], rows: new Map(), chosen: new Map(), columns: null, shape: "", pressed: false, dragging: false, moved: 0,
    moving: false, stream: null };
  const life = new AbortController();
  const lines = new Map(), rates = new Rates();
  const head = h("thead"), above = spacer(), below = spacer(), body = h("tbody", {}, above, below);
  const table = h("table", { id: "rows", "aria-label": menu.path }, head, body);
  const empty = h("p", { class: "empty faint", hidden: true });
  const scroll = h("div", { class: "scroll" }, table, empty);
  const widths = keeper(table, scroll);
  const count = h("span", { class: "faint", id: "count", role: "status" });
  const filter = h("input", { type: "search", id: "filter", placeholder: "Filter: words, or property=value", value: given,
    "aria-label": "Filter rows by words or by property=value", on: { input: () => later(() => { scroll.scrollTop = 0; state.filter = filter.value; subscribe(0); }) } });
  const chooser = columnChooser(world, menu, () => state.columns ?? [], (choice) => { state.choice = choice; subscribe(visible().first); draw(); });
  const hasComment = menu.properties.some((property) => property.name === "comment" && !property.readOnly);
  const hasState = menu.flags.length > 0 || changes;
  const canDisable = changes && menu.properties.some((property) => property.name === "disabled" && !property.readOnly);
  let timer = 0, note = "";

  scroll.addEventListener("scroll", () => { if (!isLoaded()) later(() => subscribe(visible().first)); });
  body.addEventListener("pointerdown", () => { state.pressed = true; });
  body.addEventListener("pointermove", () => { state.moved = performance.now(); });
  body.addEventListener("pointerleave", () => { state.moved = 0; });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { state.pressed = false; }, { signal: life.signal });
  body.addEventListener("keydown", keys);
  fullText(body, scroll);
  if (changes && menu.shape === "ordered") draggable(body, scroll, { move, began: () => { state.dragging = true; }, ended: () => { state.dragging = state.pressed = false; draw(); } });
  body.addEventListener("dblclick", (event) => {
    const id = event.target.closest("tr[data-row]")?.dataset.row;
    if (id && changes && !event.target.closest("button, input, .editable")) location.hash = `${menu.path}/${id}`;
  });
  queueMicrotask(() => { subscribe(0); tick(); });
  return { element: scroll, filter, count, chooser, step, clear: () => { state.chosen.clear(); marked(); }, chosen: () => [...state.chosen.values()] };

  function later(job) {
    clearTimeout(timer);
    timer = setTimeout(job, DELAY);
  }
  /** Keeps the stream open only while the table is visible, and lets rates fall to zero. */
  function tick() {
    if (!table.isConnected) {
      life.abort();
      return state.stream?.close();
    }
    if (document.hidden) { state.stream?.close(); state.stream = null; }
    else if (!state.stream) subscribe(visible().first);
    if (router.answers && !document.hidden) draw();
    setTimeout(tick, 1000);
  }
  function visible() {
    const rows = Math.ceil((scroll.clientHeight || 600) / ROW) + 1;
    return { first: Math.max(0, Math.floor(scroll.scrollTop / ROW) - MARGIN), rows, top: Math.floor(scroll.scrollTop / ROW) };
  }
  function isLoaded() {
    const { top, rows } = visible();
    return top >= state.first && Math.min(top + rows, state.lines) <= state.first + state.order.length;
  }
  function subscribe(first) {
    state.stream?.close();
    state.moving = true;
    let fresh = true;
    const view = { menu: menu.path, columns: needed(menu, state.choice).join(","), filter: state.filter, sort: state.sort && (state.sort.startsWith("-") ? "-" : "") + sortedBy(state.sort.replace("-", "")),
      group: state.sort ? "" : groupOf(menu), first, count: Math.max(visible().rows, 30) + 2 * MARGIN };
    state.stream = follow(view, {
      // The first message of a stream has the whole window.
      opened() { fresh = true; },
      changed(message) {
        if (!table.isConnected) return state.stream.close();
        if (fresh) state.rows = new Map();
        receive(message);
        if (!state.pressed) state.moving = false;
        fresh = false;
      },
      period(milliseconds) { note = milliseconds > 1000 ? `, updated every ${format.count(Math.round(milliseconds / 1000))} s` : ""; },
      refused(text) { error.textContent = text; state.stream.close(); },
    });
  }
  function receive(message) {
    for (const [id, changed] of Object.entries(message.rows)) {
      const row = state.rows.get(id) ?? { ".id": id };
      for (const [name, value] of Object.entries(changed)) if (value === null) delete row[name]; else row[name] = value;
      state.rows.set(id, row);
      if (state.chosen.has(id)) state.chosen.set(id, row);
    }
    state.order = message.order ?? state.order;
    state.names = message.names ?? state.names;
    const { total, matched } = message;
    Object.assign(state, { first: message.first, lines: message.lines });
    const rows = total === 1 ? "row" : "rows";
    const said = (matched === total ? `${format.count(total)} ${rows}` : `${format.count(matched)} of ${format.count(total)} rows`) + note;
    if (count.textContent !== said) count.textContent = said;
    empty.hidden = matched > 0;
    empty.textContent = total ? "No row passes the filter." : menu.add && changes ? "Nothing here yet. “Add” creates the first item." : "Nothing here.";
    for (const id of state.rows.keys()) if (!state.order.includes(id)) state.rows.delete(id);
    draw();
    if (!state.order.length && state.lines) subscribe(visible().first);
  }

  /** Draws what changed. Rows stay where they are while the pointer is about to click. */
  function draw() {
    if (state.dragging) return;
    const columns = drawn(menu, state.choice, state.names);
    const shape = [...columns, state.names.includes("comment")].join();
    if (shape !== state.shape) {
      Object.assign(state, { columns, shape });
      widths.reset();
      for (const { element } of lines.values()) element.remove();
      lines.clear();
      heading();
    }
    const held = state.pressed || (!state.moving && performance.now() - state.moved < CALM);
    const placed = (!held || !lines.size) && place();
    for (const [id, line] of lines) if (state.rows.has(id)) line.update(state.rows.get(id));
    widths.measure(placed ? 0 : 900);
  }
  /** Puts rows into their order. Returns true if rows came or went. */
  function place() {
    const focused = document.activeElement;
    let changed = false;
    height(above, state.first);
    height(below, state.lines - state.first - state.order.length);
    let next = above.nextElementSibling;
    for (const id of state.order) {
      const row = state.rows.get(id);
      if (!row) continue;
      let line = lines.get(id);
      if (!line) {
        lines.set(id, line = ".heading" in row ? groupLine() : rowLine(id, row));
        changed = true;
      }
      if (line.element === next) next = next.nextElementSibling;
      else body.insertBefore(line.element, next);
    }
    const there = new Set(state.order);
    for (const [id, line] of lines) {
      if (!there.has(id)) { line.element.remove(); lines.delete(id); }
    }
    if (focused !== document.activeElement && focused.isConnected) focused.focus();
    if (!body.querySelector("tr[tabindex='0']")) body.querySelector("tr[data-row]")?.setAttribute("tabindex", "0");
    return changed;
  }
  function groupLine() {
    const name = h("strong"), number = h("span", { class: "faint" });
    const cell = h("td", {}, name, " ", number);
    const update = (row) => {
      const [text, rows] = [`${row[".heading"] || "no chain"}`, `${format.count(row[".count"])} ${row[".count"] === "1" ? "rule" : "rules"}`];
      if (name.textContent !== text) name.textContent = text;
      if (number.textContent !== rows) number.textContent = rows;
      cell.colSpan = state.columns.length + selectable + hasState + hasComment;
    };
    return { element: h("tr", { class: "heading" }, cell), update };
  }
  function rowLine(id, row) {
    const set = async (values) => {
      error.textContent = "";
      try { await api.set(menu.path, id, values); } catch (refused) { error.textContent = refused.message; }
    };
    const editable = changes && row.dynamic !== "true";
    const ordered = changes && menu.shape === "ordered";
    const box = h("input", { type: "checkbox", data: { id: "c" + id }, on: { change: () => choose(id) } });
    const toggle = canDisable && ((on) => set({ disabled: String(on) }));
    const cells = [...(hasState ? [flagCell(menu, { movable: ordered && editable && !state.sort, toggle })] : []),
      ...state.columns.map((name, at) => valueCell({ world, menu, id, name, rates, link: at === 0 && editable && `#${menu.path}/${id}`,
        reason: name === "slow-path-reason" }))];
    const comment = hasComment && commentCell(editable && ((text) => set({ comment: text })));
    if (comment) cells.splice(commentPosition() + hasState, 0, comment);
    const element = h("tr", { data: { row: id }, tabindex: "-1" },
      selectable && h("td", { class: "choose" }, box), cells.map((cell) => cell.element));
    const update = (now) => {
      const kinds = ["disabled", "invalid", "dynamic"].filter((name) => now[name] === "true");
      if (state.chosen.has(id)) kinds.push("chosen");
      if (element.className !== kinds.join(" ")) element.className = kinds.join(" ");
      box.checked = state.chosen.has(id);
      box.setAttribute("aria-label", "Select " + (now[menu.key] ?? now.comment ?? id));
      for (const cell of cells) cell.update(now);
    };
    return { element, update, comment, id };
  }
  function choose(id) {
    if (!state.chosen.delete(id)) state.chosen.set(id, state.rows.get(id));
    marked();
  }
  function marked() {
    for (const [id, line] of lines) if (state.rows.has(id)) line.update(state.rows.get(id));
    chose();
  }

  function heading() {
    const sorted = state.sort.replace("-", "");
    const sort = (name) => () => {
      state.sort = state.sort === name ? "-" + name : state.sort === "-" + name ? "" : name;
      scroll.scrollTop = 0;
      // Handles depend on the order.
      state.shape = "";
      heading();
      subscribe(0);
    };
    const column = (name, text = title(name)) => h("th", { scope: "col", class: format.isNumeric(name) ? "number" : undefined,
      "aria-sort": name === sorted ? (state.sort.startsWith("-") ? "descending" : "ascending") : undefined },
      !sortedBy(name) ? text : h("button", { data: { sort: name }, title: "Sort by " + text, on: { click: sort(name) } }, text));
    const flags = menu.flags.map(([letter, name]) => `${letter} ${name}`).join(", ");
    const focused = document.activeElement?.dataset?.sort;
    fill(head, h("tr", {}, selectable && h("th", { class: "choose" }, h("span", { class: "hidden" }, "Selected")),
      hasState && h("th", { scope: "col", title: flags }, "State"),
      state.columns.map((name) => column(name)).toSpliced(commentPosition(), 0, ...(hasComment ? [column("comment")] : []))));
    if (focused) head.querySelector(`[data-sort="${CSS.escape(focused)}"]`)?.focus();
  }
  /** Comments stand last, where they get the room that is left; in wide tables with other texts they come second. */
  function commentPosition() {
    return state.columns.length > 9 && state.names.includes("comment") && !state.columns.includes("+conditions") ? 1 : state.columns.length;
  }

  function keys(event) {
    const line = event.target.closest("tr[data-row]");
    if (!line || event.target.closest("input:not([type=checkbox])")) return;
    const next = (from, way) => {
      let to = from[way];
      while (to && !to.dataset.row) to = to[way];
      return to;
    };
    const to = { ArrowDown: () => next(line, "nextElementSibling"), ArrowUp: () => next(line, "previousElementSibling") }[event.key]?.();
    if (to) {
      line.setAttribute("tabindex", "-1");
      to.setAttribute("tabindex", "0");
      to.focus();
      to.scrollIntoView({ block: "nearest" });
    } else if (event.target !== line) return;
    else if (event.key === "Enter" && changes) location.hash = `${menu.path}/${line.dataset.row}`;
    else if (event.key === " ") choose(line.dataset.row);
    else if (event.key === "c" && !event.ctrlKey && !event.metaKey) lines.get(line.dataset.row)?.comment?.edit();
    else return;
    event.preventDefault();
  }

  async function move(id, before) {
    error.textContent = "";
    try {
      await api.run(menu.path + "/move", before ? { numbers: id, destination: before } : { numbers: id });
    } catch (refused) { error.textContent = refused.message; }
  }
  /** Moves the selected row by one, within its group. */
  function step(by) {
    const [id] = state.chosen.keys(), group = groupOf(menu), own = state.rows.get(id);
    const order = state.order.filter((other) => !group || state.rows.get(other)?.[group] === own?.[group]);
    const at = order.indexOf(id), to = by < 0 ? order[at - 1] : order[at + 2];
    if (at >= 0 && (by > 0 ? order[at + 1] : to)) move(id, to);
  }
}

function spacer() {
  return h("tr", { class: "space", "aria-hidden": "true" }, h("td"));
}

function height(element, rows) {
  element.hidden = rows <= 0;
  element.firstChild.style.height = `${Math.max(0, rows) * ROW}px`;
}
