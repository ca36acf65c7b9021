// Forms of items, settings and commands, generated from the schema.
import * as api from "./api.js";
import { fill, h } from "./dom.js";

const truth = (text) => text === "true" || text === "yes";

/** Shows the form of an item. `save` receives the changed values; errors of the router are shown beside the input. */
export function itemForm(body, world, menu, values, save, offered = {}) {
  const error = h("p", { class: "error", role: "alert", id: "form-error" });
  const may = world.may("write") && menu.shape !== "status" && menu.shape !== "rows";
  const settable = menu.properties.filter((property) => !property.readOnly);
  const told = menu.properties.filter((property) => property.readOnly && values[property.name] !== undefined);
  const fields = settable.map((property) => field(world, property, offered[property.name] ?? values[property.name], may));
  const first = new Set([...menu.columns, menu.key, "comment", "disabled", "chain", "action"]);
  const isFirst = ({ property, given }) => property.required || (given !== undefined && given !== "")
    || first.has(property.name) || settable.length <= 14;
  const rest = fields.filter((one) => !isFirst(one));
  const submit = async (event) => {
    event.preventDefault();
    error.textContent = "";
    const isNew = !values[".id"] && menu.add;
    const changes = {}, unset = [];
    for (const { property, read } of fields) {
      const now = read(), before = values[property.name] ?? "";
      if (isNew ? now === "" || (property.bool && now === (truth(property.default) ? "true" : "false"))
        : same(property, now, before)) continue;
      if (now === "" && property.unset && !isNew) unset.push(property.name);
      else changes[property.name] = now;
    }
    try {
      for (const name of unset) await api.run(menu.path + "/unset", { ".id": values[".id"], "value-name": name });
      await save(changes);
    } catch (refused) { error.textContent = refused.message; }
  };
  fill(body, h("form", { class: "card", id: "form", on: { submit } },
    h("div", { class: "fields" }, fields.filter(isFirst).map((one) => one.label)),
    rest.length > 0 && h("details", {}, h("summary", {}, `${rest.length} more properties`),
      h("div", { class: "fields" }, rest.map((one) => one.label))),
    error,
    may && h("div", { class: "bar" }, h("button", { class: "main", id: "save" }, "Save"),
      menu.shape !== "settings" && h("a", { href: "#" + menu.path }, "Cancel")),
    told.length > 0 && h("dl", {}, told.map((property) => [h("dt", { title: property.help }, property.name),
      h("dd", {}, values[property.name])]))));
}

function same(property, now, before) {
  return property.bool ? truth(now) === truth(before) : now === before;
}

/** Creates the field of a property: its label and a function that reads its value. */
function field(world, property, given, may) {
  const name = "field-" + property.name;
  let input;
  if (property.bool) {
    input = h("input", { type: "checkbox", id: name, ...(truth(given ?? property.default) ? { checked: true } : {}) });
  } else if (property.closed) {
    input = h("select", { id: name }, h("option", { value: "" }, ""),
      property.words.map((word) => h("option", { value: word }, word)));
    input.value = given ?? property.default ?? "";
  } else if (property.script) {
    input = h("textarea", { id: name, spellcheck: "false" });
    input.value = given ?? "";
  } else {
    input = h("input", { id: name, type: property.secret ? "password" : "text", autocomplete: "off", spellcheck: "false" });
    input.value = given ?? "";
    if (property.default && !given) input.placeholder = property.default;
    offer(world, property, input);
  }
  input.disabled = !may;
  const read = () => (property.bool ? String(input.checked) : input.value);
  const before = read();
  const label = h("label", { class: property.bool ? "check" : undefined, for: name }, property.bool && input,
    h("span", {}, property.name, property.unit && ` (${property.unit})`), !property.bool && input,
    h("small", { class: property.bool ? "grow" : undefined }, property.help, property.idle && " – no effect yet",
      property.form && property.form.length < 60 && ` – ${property.form}`));
  input.addEventListener("input", () => label.classList.toggle("changed", read() !== before));
  return { property, given, label, read };
}

/** Suggests words and names while typing; names are loaded when the field first gets the focus. */
function offer(world, property, input) {
  const paths = property.space ? world.spaces[property.space] || [] : [];
  if (!paths.length && !property.words) return;
  const list = h("datalist", { id: "list-" + input.id });
  input.setAttribute("list", list.id);
  input.addEventListener("focus", async () => {
    const names = new Set(property.words || []);
    for (const path of paths) {
      const key = world.menus.get(path)?.key || "name";
      for (const row of await api.print(path).catch(() => [])) if (row[key]) names.add(row[key]);
    }
    fill(list, [...names].map((name) => h("option", { value: name })));
  }, { once: true });
  queueMicrotask(() => input.after(list));
}

/** Shows the form of a command, which runs for the selected rows. */
export function commandForm(body, world, menu, command, ids) {
  const takesRows = command.arguments.some((argument) => argument.name === "numbers");
  const fields = command.arguments.filter((argument) => argument.name !== "numbers")
    .map((argument) => field(world, argument, undefined, true));
  const answer = h("pre", { class: "mono" }), error = h("p", { class: "error", role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    error.textContent = answer.textContent = "";
    const values = {};
    for (const { property, read } of fields) {
      const value = read();
      if (property.bool ? value === "true" : value !== "") values[property.name] = value;
    }
    if (takesRows) values[".id"] = ids.join(",");
    try {
      const said = await api.run(`${menu.path}/${command.name}`, values);
      answer.textContent = !said || (Array.isArray(said) && !said.length) ? "done" : JSON.stringify(said, null, 1);
    } catch (refused) { error.textContent = refused.message; }
  };
  fill(body, h("form", { class: "card", on: { submit } }, h("h2", {}, command.name), h("p", { class: "faint" }, command.help,
    takesRows && ` Applies to ${ids.length} selected rows.`), h("div", { class: "fields" }, fields.map((one) => one.label)), error,
    h("div", { class: "bar" }, h("button", { class: "main" }, "Run")), answer));
}
