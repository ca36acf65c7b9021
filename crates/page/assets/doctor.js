// Findings of the doctor: mistake, cause and correction.
import * as api from "./api.js";
import { fill, h } from "./dom.js";

export async function doctor(main, world) {
  const list = h("div", { id: "findings" });
  fill(main, h("h1", {}, "Doctor"), h("p", { class: "faint" }, "Common mistakes found in the running configuration."), list);
  const found = await api.print("/system/doctor").catch((refused) => refused);
  if (found instanceof Error) return fill(list, h("p", { class: "error" }, found.message));
  fill(list, found.length ? found.map((one) => finding(one, world, () => doctor(main, world)))
    : h("p", { class: "card" }, "No mistakes found."));
}

function finding(one, world, again) {
  const error = h("p", { class: "error", role: "alert" }), fix = h("div");
  const mend = async () => {
    try { await api.run("/execute", { script: one.fix, "as-string": "" }); again(); } catch (refused) { error.textContent = refused.message; }
  };
  const offer = () => fill(fix, h("pre", { class: "mono" }, one.fix.replaceAll("; ", "\n")),
    h("div", { class: "bar" }, h("button", { class: "main", on: { click: mend } }, "Run these commands"),
      h("button", { on: { click: () => fill(fix) } }, "Cancel"), h("span", { class: "faint" }, "Undo reverts them.")));
  return h("section", { class: `card finding ${one.severity}-level` },
    h("h2", {}, one.finding || one.rule, " ", h("span", { class: "tag" }, one.severity), " ", h("span", { class: "tag" }, one.rule)),
    one.menu && h("p", {}, h("a", { href: "#" + one.menu }, `${one.menu} ${one.item || ""}`)),
    h("p", {}, one.cause), h("p", {}, h("strong", {}, "Correction: "), one.mend),
    one.fix && world.may("write") && h("button", { on: { click: offer } }, "Fix …"), fix, error);
}
