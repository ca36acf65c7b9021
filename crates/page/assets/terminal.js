// Terminal: runs console commands and shows their output.
import * as api from "./api.js";
import { fill, h } from "./dom.js";

const past = [];

export function terminal(main) {
  const out = h("pre", { class: "mono", id: "answers", "aria-live": "polite", tabindex: "0" });
  const line = h("input", { id: "line", class: "mono", "aria-label": "Command", autocomplete: "off", spellcheck: "false",
    placeholder: "/ip/address/print" });
  let at = past.length;
  const run = async (event) => {
    event.preventDefault();
    const script = line.value.trim();
    if (!script) return;
    past.push(script);
    at = past.length;
    line.value = "";
    out.append(`> ${script}\n`);
    try {
      const said = await api.run("/execute", { script, "as-string": "" });
      out.append(`${said?.ret ?? ""}\n`.replace(/\n+$/, "\n"));
    } catch (refused) { out.append(refused.message + "\n"); }
    out.scrollTop = out.scrollHeight;
  };
  const recall = (event) => {
    const to = { ArrowUp: at - 1, ArrowDown: at + 1 }[event.key];
    if (to === undefined || to < 0 || to > past.length) return;
    event.preventDefault();
    at = to;
    line.value = past[at] ?? "";
  };
  fill(main, h("h1", {}, "Terminal"), h("form", { class: "terminal", on: { submit: run } }, out,
    h("div", { class: "bar" }, h("div", { class: "grow" }, line), h("button", { class: "main" }, "Run"))));
  line.addEventListener("keydown", recall);
  line.focus();
}
