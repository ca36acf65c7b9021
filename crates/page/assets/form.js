// Forms of items, settings and commands, generated from the schema.
import * as api from "./api.js";
import { quoted } from "./command.js";
import { asks, fill, h } from "./dom.js";
import { example, fits, groupOf, isRule, rank } from "./fits.js";
import * as format from "./format.js";
import { deviceConfiguration } from "./qr.js";

const truth = (text) => text === "true" || text === "yes";
const GROUPS = ["General", "Matchers", "Action", "Advanced"];

/** Shows the form of an item. `save` receives the changed values; an error of the router stands at its field. */
export function itemForm(body, world, menu, values, save, offered = {}) {
  const error = h("p", { class: "error", role: "alert", id: "form-error" });
  const may = world.may("write") && menu.shape !== "status" && menu.shape !== "rows";
  const settable = menu.properties.filter((property) => !property.readOnly);
  const told = menu.properties.filter((property) => property.readOnly && values[property.name] !== undefined);
  const isNew = !values[".id"] && Boolean(menu.add);
  const fields = settable.map((property) => field(world, property, offered[property.name] ?? values[property.name], may));
  const byName = new Map(fields.map((one) => [one.property.name, one]));
  const groups = new Map(GROUPS.map((name) => [name, h("div", { class: "fields" })]));
  for (const one of [...fields].sort((one, other) => rank(menu, one.property) - rank(menu, other.property))) {
    const { property, given } = one;
    const isSet = given !== undefined && given !== "" && !(property.bool && truth(given) === truth(property.default)) && given !== property.default;
    groups.get(groupOf(menu, property, { isSet, few: settable.length <= 18 })).append(one.label);
  }
  const preview = h("output", { class: "mono preview", id: "preview" });
  const react = () => {
    const read = (name) => byName.get(name)?.read() ?? "";
    // A value that does not fit stays visible, so that it can be removed.
    for (const one of fields) one.label.hidden = !fits(menu, one.property.name, read) && !one.value();
    const { changes, unset } = changed();
    const target = isNew ? "/add" : menu.shape === "settings" ? "/set" : `/set ${values[".id"]}`;
    preview.textContent = [...unset.map((name) => `${menu.path}/unset ${values[".id"]} value-name=${name}`),
      Object.keys(changes).length || isNew ? command(menu.path + target, changes, byName) : ""].filter(Boolean).join("\n") || "nothing is changed";
  };
  const changed = () => {
    const changes = {}, unset = [];
    for (const { property, read, given } of fields) {
      const now = read(), before = values[property.name] ?? "";
      if (isNew ? now === "" || (property.bool && now === String(truth(property.default))) : same(property, now, before, given)) continue;
      if (now === "" && property.unset && !isNew) unset.push(property.name);
      else changes[property.name] = now;
    }
    return { changes, unset };
  };
  const submit = async (event) => {
    event.preventDefault();
    error.textContent = "";
    for (const one of fields) one.complain("");
    const { changes, unset } = changed();
    try {
      for (const name of unset) await api.run(menu.path + "/unset", { ".id": values[".id"], "value-name": name });
      await save(changes);
    } catch (refused) {
      const one = culprit(refused.message, fields, changes);
      if (one) one.complain(refused.message);
      else error.textContent = refused.message;
    }
  };
  const form = h("form", { class: "card", id: "form", novalidate: true, on: { submit, input: react, change: react } },
    GROUPS.map((name) => section(name, groups.get(name), isRule(menu))),
    told.length > 0 && h("details", { open: true }, h("summary", {}, "Statistics"), h("dl", {}, told.map((property) =>
      [h("dt", { title: property.help }, property.name), h("dd", {}, format.value(property.name, values[property.name]))]))), error,
    may && h("div", { class: "bar stick" }, h("button", { class: "main", id: "save" }, "Save"),
      menu.shape !== "settings" && h("a", { href: "#" + menu.path, class: "button" }, "Cancel"), preview));
  if (isRule(menu)) groups.get("Matchers").after(adder(fields, groups, may));
  react();
  fill(body, form);
}

/** Returns the part of a form with a group of fields. Advanced fields are folded; those of rules are added singly. */
function section(name, fields, rule) {
  const count = fields.childElementCount;
  if (!count || (name === "Advanced" && rule)) return null;
  if (name !== "Advanced") return h("fieldset", {}, h("legend", {}, name), fields);
  return h("details", {}, h("summary", {}, `Advanced (${count})`), fields);
}

/** Creates the field that adds a condition to a rule. */
function adder(fields, groups, may) {
  const rest = () => fields.filter(({ label }) => label.parentElement === groups.get("Advanced"));
  const choices = h("datalist", { id: "conditions" });
  const list = () => fill(choices, rest().map(({ property }) => h("option", { value: property.name }, property.help)));
  const add = () => {
    const one = rest().find(({ property }) => property.name === input.value.trim());
    if (!one) return;
    groups.get("Matchers").append(one.label);
    input.value = "";
    list();
    one.focus();
  };
  const input = h("input", { id: "add-condition", list: "conditions", placeholder: "Add a condition …", "aria-label": "Add a condition",
    autocomplete: "off", on: { input: add } });
  list();
  return may && h("div", { class: "bar" }, input, choices);
}

/** Returns the field that an error of the router is about. */
function culprit(message, fields, changes) {
  const named = fields.filter(({ property }) => new RegExp(`(^|[^\\w-])${property.name.replace(/\W/g, "\\$&")}($|[^\\w-])`).test(message));
  if (named.length) return named.sort((one, other) => other.property.name.length - one.property.name.length)[0];
  if (message.includes("ports can be specified if proto")) return fields.find(({ property }) => property.name === "protocol");
  const word = /value of (\w+)/.exec(message)?.[1];
  const alike = fields.filter(({ property }) => property.name in changes && word && property.form?.includes(word));
  return alike.length === 1 ? alike[0] : null;
}

/** Returns a command of the console. */
function command(path, values, byName) {
  const shown = (name, text) => {
    const { secret, bool } = byName.get(name).property;
    return secret ? "…" : quoted(bool ? (text === "true" ? "yes" : "no") : text);
  };
  return [path, ...Object.entries(values).map(([name, text]) => `${name}=${shown(name, text)}`)].join(" ");
}

function same(property, now, before, given) {
  // Not chosen by the user: the default applies before and after.
  if (property.bool && given === undefined && before === "") return truth(now) === truth(property.default);
  return property.bool ? truth(now) === truth(before) : now === before;
}

/** Creates the field of a property: its label and functions that read its value and show an error. */
export function field(world, property, given, may) {
  const name = "field-" + property.name;
  const negates = property.form?.startsWith("[!]");
  let input, not = null;
  if (property.bool) {
    input = h("input", { type: "checkbox", id: name, ...(truth(given ?? property.default) ? { checked: true } : {}) });
  } else if (property.closed) {
    input = h("select", { id: name }, h("option", { value: "" }, property.default ? `${property.default} (default)` : ""),
      property.words.map((word) => h("option", { value: word }, word)));
    input.value = given ?? "";
  } else if (property.script) {
    input = h("textarea", { id: name, spellcheck: "false" });
    input.value = given ?? "";
  } else {
    input = h("input", { id: name, type: property.secret ? "password" : "text", autocomplete: "off", spellcheck: "false",
      placeholder: property.default ?? example(property) });
    input.value = (negates ? given?.replace(/^!/, "") : given) ?? "";
    offer(world, property, input);
  }
  input.disabled = !may;
  if (negates) {
    not = h("button", { type: "button", class: "not", "aria-pressed": String(given?.startsWith("!") ?? false), title: "All but this value",
      "aria-label": `All but this ${property.name}`, disabled: !may, on: { click: () => {
        not.setAttribute("aria-pressed", String(not.getAttribute("aria-pressed") !== "true"));
        input.dispatchEvent(new Event("input", { bubbles: true }));
      } } }, "!");
  }
  const isNot = () => not?.getAttribute("aria-pressed") === "true" && input.value !== "";
  const read = () => (property.bool ? String(input.checked) : (isNot() ? "!" : "") + input.value);
  const value = () => (property.bool ? input.checked !== truth(property.default) : input.value);
  const before = read();
  const fault = h("span", { class: "error", id: name + "-error", role: "alert" });
  const label = h("div", { class: property.bool ? "field check" : "field" }, property.bool && input,
    h("label", { for: name }, property.name, property.unit && ` (${property.unit})`, property.required && h("span", { class: "faint" }, " required")),
    !property.bool && (not ? h("div", { class: "negated" }, not, input) : input), fault,
    h("small", {}, property.help, property.idle && " (no effect yet)"));
  input.addEventListener("input", () => label.classList.toggle("changed", read() !== before));
  const complain = (text) => {
    fault.textContent = text;
    input.toggleAttribute("aria-invalid", Boolean(text));
    if (!text) return input.removeAttribute("aria-describedby");
    label.hidden = false;
    input.setAttribute("aria-describedby", fault.id);
    for (let up = label.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    input.focus();
  };
  return { property, given, label, read, value, complain, focus: () => input.focus() };
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

/** Returns true for commands that restart the router or replace its configuration. */
const isDangerous = ({ name, needs }) => needs.includes("reboot") || /^(reset-configuration|load|apply|revert|unroll)$/.test(name);

/** Draws the answer of a command: a device's configuration with its code, or its values. */
function answerOf(said) {
  const [row] = [].concat(said ?? []);
  if (row?.conf && row.qr) return deviceConfiguration(row);
  return h("pre", { class: "mono" }, row ? JSON.stringify(said, null, 1) : "done");
}

/** Shows the form of a command, which runs for the selected rows. */
export function commandForm(body, world, menu, command, ids) {
  const takesRows = command.arguments.some((argument) => argument.name === "numbers");
  const fields = command.arguments.filter((argument) => argument.name !== "numbers")
    .map((argument) => field(world, argument, undefined, true));
  const answer = h("div"), error = h("p", { class: "error", role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    error.textContent = "";
    fill(answer);
    const values = {};
    for (const { property, read } of fields) {
      const value = read();
      if (property.bool ? value === "true" : value !== "") values[property.name] = value;
    }
    if (takesRows) values[".id"] = ids.join(",");
    if (isDangerous(command) && !await asks(`Run ${menu.path}/${command.name}? ${command.help}.`, command.name)) return;
    try {
      const said = await api.run(`${menu.path}/${command.name}`, values);
      fill(answer, answerOf(said));
    } catch (refused) { error.textContent = refused.message; }
  };
  fill(body, h("form", { class: "card", on: { submit } }, h("h2", {}, command.name), h("p", { class: "faint" }, command.help,
    takesRows && ` Applies to ${ids.length} selected rows.`), h("div", { class: "fields" }, fields.map((one) => one.label)), error,
    h("div", { class: "bar" }, h("button", { class: "main" }, "Run")), answer));
}
