// Cells of a table row: created once, then updated in place.
import { joined, linkOf } from "./columns.js";
import { h } from "./dom.js";
import * as format from "./format.js";
import { connection, walkTo } from "./why.js";

/** Time without a change after which a counter's rate is zero, in milliseconds. */
const STILL = 2500;

/** Rates of counters, from their differences. */
export class Rates {
  #last = new Map();

  /** Returns the rate of a counter per second at a time in milliseconds. */
  rate(id, name, text, now) {
    const key = `${id} ${name}`, value = Number(text ?? 0), last = this.#last.get(key);
    if (!last || value < last.value) this.#last.set(key, { value, time: now, rate: 0 });
    else if (value > last.value) {
      this.#last.set(key, { value, time: now, rate: (1000 * (value - last.value)) / Math.max(now - last.time, 1) });
    } else if (now - last.time > STILL) Object.assign(last, { time: now, rate: 0 });
    return this.#last.get(key).rate;
  }
}

/** Formats the rate of a counter: bits of bytes, packets of packets. */
function rateText(name, rate) {
  if (!rate) return "";
  return name.includes("packet") ? `${format.count(Math.round(rate))} p/s` : format.rate(8 * rate);
}

/** Returns the pieces of a cell: [word before, text, address of a link]. */
function pieces(world, menu, name, row, rates) {
  if (name.startsWith("~")) return [["", rateText(name, rates.rate(row[".id"], name, row[name.slice(1)], performance.now())), ""]];
  const parts = name.startsWith("+") ? joined(name, row) : [["", name, row[name]]];
  return parts.map(([word, property, text]) => [word, format.value(property, text), linkOf(world, menu, property, text)]);
}

/**
 * Creates the cell of a column. `update(row)` changes what differs; `link` is the address of the row's form, which the
 * cell opens instead of its own links.
 */
export function valueCell({ world, menu, id, name, rates, link, reason }) {
  const content = h("span");
  // Before the text, which may be cut.
  const path = reason && h("a", {}, "show path");
  const opener = link && h("a", { href: link, data: { id } });
  const element = h("td", { class: reason ? "why" : format.isNumeric(name) ? "number" : undefined }, path, reason && " ", opener || content);
  let shown = null;
  const update = (row) => {
    const now = pieces(world, menu, name, row, rates);
    const key = JSON.stringify(now);
    if (key !== shown) {
      shown = key;
      const text = now.map(([word, value]) => word + value).join(" ");
      if (opener) opener.textContent = text || "edit";
      else write(content, now);
      element.title = name.startsWith("+") || name.startsWith("~") ? text : row[name] ?? "";
    }
    if (path) {
      path.hidden = !row[name];
      path.href = "#" + walkTo(connection(row));
    }
  };
  return { element, update };
}

/** Writes pieces into a cell; its only text or link is changed in place. */
function write(content, now) {
  const [only] = now;
  const child = content.firstElementChild;
  if (now.length === 1 && !only[0] && Boolean(only[2]) === Boolean(child) && content.childNodes.length <= 1) {
    (child ?? content).textContent = only[1];
    if (child) child.href = "#" + only[2];
    return;
  }
  content.replaceChildren(...now.flatMap(([word, text, link], at) => [(at ? " " : "") + word, link ? h("a", { href: "#" + link }, text) : text]));
}

/** Creates the cell of a comment, which a click or `edit()` turns into a field. `save` receives a new comment. */
export function commentCell(save) {
  const text = document.createTextNode("");
  const element = h("td", { class: save ? "comment editable" : "comment" }, text);
  let field = null;
  const close = () => { field = null; element.replaceChildren(text); };
  const edit = () => {
    if (field) return;
    const before = text.data;
    const done = (event) => {
      if (!field) return;
      const now = field.value, row = element.parentElement;
      close();
      if (event.type === "keydown") row.focus();
      if (event.key !== "Escape" && now !== before) { text.data = now; save(now); }
    };
    field = h("input", { "aria-label": "Comment", value: before, on: { blur: done, keydown: (event) => {
      event.stopPropagation();
      if (event.key === "Enter" || event.key === "Escape") done(event);
    } } });
    element.replaceChildren(field);
    field.focus();
  };
  if (save) element.addEventListener("click", edit);
  const update = (row) => {
    const now = row.comment ?? "";
    if (!field && text.data !== now) Object.assign(text, { data: now });
    const title = now || (save ? "Click to write a comment" : "");
    if (element.title !== title) element.title = title;
  };
  return { element, update, edit };
}

/** Creates the cell of flags with the switch of an item, and the handle by which it is dragged. */
export function flagCell(menu, { movable, toggle }) {
  const flags = h("span", { class: "flags" });
  const button = toggle && h("button", { class: "switch", role: "switch", type: "button", on: { click: () => {
    toggle(button.getAttribute("aria-checked") === "true");
  } } });
  const element = h("td", { class: "state" }, movable && h("span", { class: "handle", "aria-hidden": "true" }, "⠿"), button, flags);
  const update = (row) => {
    const set = menu.flags.filter(([, name]) => row[name] === "true");
    const letters = set.map(([letter]) => letter).join("");
    const meaning = [...set.map(([, name]) => name), row[".about"]].filter(Boolean).join(", ");
    if (flags.textContent !== letters) flags.textContent = letters;
    if (flags.title !== meaning) flags.title = meaning;
    if (button) {
      const on = String(row.disabled !== "true");
      if (button.getAttribute("aria-checked") !== on) button.setAttribute("aria-checked", on);
      const label = `${row[menu.key] ?? row.comment ?? "item"} is ${on === "true" ? "enabled" : "disabled"}`;
      if (button.getAttribute("aria-label") !== label) {
        button.setAttribute("aria-label", label);
        button.title = on === "true" ? "Enabled: click to disable" : "Disabled: click to enable";
      }
      button.hidden = row.dynamic === "true";
    }
  };
  return { element, update };
}
