// Choice of a table's columns, kept in the browser for each user.
import { title } from "./columns.js";
import { fill, h } from "./dom.js";

const place = (world, menu) => `columns ${world.user} ${menu.path}`;

/** Returns the user's columns of a menu; null if there is no choice. */
export function chosenColumns(world, menu) {
  try { return JSON.parse(localStorage.getItem(place(world, menu))); } catch { return null; }
}

/** Creates the list of columns. `shown()` returns the current ones, `chose(columns)` gets the new ones, or null for the default. */
export function columnChooser(world, menu, shown, chose) {
  const list = h("div", { class: "choices" });
  const store = (choice) => {
    if (choice) localStorage.setItem(place(world, menu), JSON.stringify(choice));
    else localStorage.removeItem(place(world, menu));
    chose(choice);
  };
  const open = () => {
    const now = shown();
    const names = [...new Set([...now, ...menu.properties.map((property) => property.name)])].filter((name) => name !== "comment");
    fill(list, h("button", { type: "button", on: { click: () => { store(null); open(); } } }, "Default columns"), names.map((name) => h("label", {},
      h("input", { type: "checkbox", ...(now.includes(name) ? { checked: true } : {}), on: { change: (event) => {
        const columns = shown();
        store(event.target.checked ? [...columns, name] : columns.filter((other) => other !== name));
      } } }), " ", title(name))));
  };
  const element = h("details", { class: "chooser", on: { toggle: () => { if (element.open) open(); }, keydown: (event) => {
    if (event.key !== "Escape" || !element.open) return;
    element.open = false;
    element.querySelector("summary").focus();
  } } }, h("summary", {}, "Columns"), list);
  return element;
}
