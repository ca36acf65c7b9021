// Calculators: forms whose results are updated while typing.
import * as api from "./api.js";
import { fill, h } from "./dom.js";

export function calculators(main, world) {
  fill(main, h("h1", {}, "Calculators"), world.calculators.map((one) => calculator(one)));
}

function calculator(one) {
  const rows = h("dl", { id: `calc-${one.name}` }), error = h("p", { class: "error", role: "alert" });
  const inputs = one.arguments.map((argument) => ({ argument,
    input: h("input", { id: `calc-${one.name}-${argument.name}`, value: argument.default ?? "", spellcheck: "false" }) }));
  let last = 0;
  const work = async () => {
    const turn = ++last;
    const values = inputs.map(({ argument, input }) => `${argument.name}=${input.value.replace(/\s+/g, "")}`).join(" ");
    try {
      const said = await api.run("/tool/calculate", { calculator: one.name, values });
      if (turn !== last) return;
      error.textContent = "";
      fill(rows, said.map((row) => [h("dt", {}, row.name), h("dd", { class: "mono" }, row.value)]));
    } catch (refused) { if (turn === last) error.textContent = refused.message; }
  };
  const section = h("section", { class: "card" }, h("h2", {}, one.name), h("p", { class: "faint" }, one.help),
    h("form", { class: "fields", on: { input: work, submit: (event) => event.preventDefault() } },
      inputs.map(({ argument, input }) => h("label", {}, h("span", {}, argument.name), input, h("small", {}, argument.help)))),
    error, rows);
  queueMicrotask(work);
  return [h("div", { class: "bar" }), section];
}
