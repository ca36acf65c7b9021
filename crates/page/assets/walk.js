// Packet walk: traces a described packet through the router, rule by rule.
import * as api from "./api.js";
import { fill, h } from "./dom.js";

const FIELDS = [["in-interface", "Ingress interface"], ["src-address", "Source address"], ["src-port", "Source port"], ["dst-address", "Destination address"],
  ["dst-port", "Destination port"], ["protocol", "Protocol"], ["connection-state", "Connection state"],
  ["dst-mac-address", "Destination MAC address"], ["ipsec", "Decrypted by IPsec"]];
const PORTS = ["tcp", "udp", "sctp", "dccp", "udp-lite"];

export async function walk(main, world, given) {
  const error = h("p", { class: "error", role: "alert" }), way = h("div", { class: "walk", id: "walk" });
  const interfaces = await api.print("/interface").catch(() => []);
  const inputs = new Map(FIELDS.map(([name]) => [name, input(name, interfaces)]));
  for (const [name, value] of given) if (inputs.has(name)) inputs.get(name).value = value;
  if (!inputs.get("in-interface").value && given.get("src-address")) {
    inputs.get("in-interface").value = await comesBy(given.get("src-address"));
  }
  const ask = async (event) => {
    event?.preventDefault();
    error.textContent = "";
    const values = {};
    for (const [name, element] of inputs) if (element.value) values[name] = element.value;
    if (!PORTS.includes(values.protocol || "tcp")) { delete values["src-port"]; delete values["dst-port"]; }
    try {
      draw(way, await api.run("/tool/trace", values));
    } catch (refused) { fill(way); error.textContent = refused.message; }
  };
  fill(main, h("h1", {}, "Packet walk"),
    h("p", { class: "faint" }, "Describe a packet and see its path through the router. Nothing is sent or counted."),
    h("form", { class: "card", id: "walk-form", on: { submit: ask } }, h("div", { class: "fields" },
      FIELDS.map(([name, title]) => h("label", {}, h("span", {}, title), inputs.get(name)))),
      h("div", { class: "bar" }, h("button", { class: "main", id: "walk-ask" }, "Show the path"))), error, way);
  if (given.get("src-address") && given.get("dst-address")) ask();
}

function input(name, interfaces) {
  if (name === "in-interface") {
    return h("select", { id: "walk-" + name, required: true }, h("option", { value: "" }, ""),
      interfaces.map((row) => h("option", { value: row.name }, row.name)));
  }
  if (name === "connection-state") {
    return h("select", { id: "walk-" + name }, ["", "new", "established", "related", "invalid", "untracked"].map((word) =>
      h("option", { value: word }, word || "as tracked")));
  }
  if (name === "ipsec") {
    return h("select", { id: "walk-" + name }, ["", "yes"].map((word) => h("option", { value: word }, word || "no")));
  }
  return h("input", { id: "walk-" + name, spellcheck: "false", required: ["src-address", "dst-address"].includes(name),
    placeholder: { protocol: "tcp", "src-port": "40000", "dst-mac-address": "MAC address of the router" }[name] ?? "" });
}

/** Returns the interface of the route to the sender, which is the probable ingress interface. */
async function comesBy(address) {
  const said = await api.run("/ip/route/check", { "dst-ip": address, once: "" }).catch(() => []);
  const gateway = said[0]?.["immediate-gw"] ?? "";
  return gateway.split("%").at(-1);
}

function draw(way, steps) {
  const stages = [];
  for (const step of steps) {
    if (stages.at(-1)?.stage !== step.stage) stages.push({ stage: step.stage, steps: [] });
    stages.at(-1).steps.push(step);
  }
  const boxes = stages.map(({ stage, steps: own }) => h("section", { class: "stage " + kind(stage, own), data: { stage } },
    h("h2", {}, title(stage)), h("ol", {}, lines(own))));
  fill(way, summary(steps), boxes.flatMap((box, at) => (at ? [h("div", { class: "arrow", "aria-hidden": "true" }, "↓"), box] : [box])));
}

/** Returns the end of the path, before all stages: the verdict, and the rule that decided it. */
function summary(steps) {
  const verdict = steps.findLast((step) => step.stage === "verdict");
  if (!verdict) return null;
  const rule = steps.findLast((step) => step.table && step.decision.startsWith("matched"));
  const is = kind("verdict", [verdict]);
  return h("section", { class: `stage summary ${is}`, role: "status" }, h("h2", {}, is === "end-good" ? "The packet passes" : "The packet does not pass"),
    h("ol", {}, h("li", {}, verdict.decision), is === "end-bad" && rule && lines([rule])));
}

function title(stage) {
  return { frame: "Frame", path: "Path and reason", verdict: "Verdict" }[stage] ?? stage;
}

function kind(stage, steps) {
  const step = steps[0];
  if (stage === "path") return step.decision.startsWith("fast") ? "fast" : "slow";
  if (stage !== "verdict") return "";
  return ["sent", "delivered"].includes(step.verdict) ? "end-good" : "end-bad";
}

/** Returns the lines of a stage; consecutive rules without a match are collapsed into one line. */
function lines(steps) {
  const shown = [];
  let missed = [];
  const close = () => {
    if (missed.length) {
      shown.push(h("li", {}, h("details", {}, h("summary", { class: "faint" }, `${missed.length} rules do not match`), h("ol", {}, missed))));
      missed = [];
    }
  };
  for (const step of steps) {
    if (!step.table) { close(); shown.push(h("li", {}, step.decision)); continue; }
    const met = step.decision.startsWith("matched");
    const line = h("li", { class: "rule" + (met ? " met" : "") }, h("a", { href: "#" + step.table }, `${step.table} ${step.chain ?? ""} ${step.rule ?? ""}`),
      h("span", {}, step.action ?? ""), h("span", {}, step.decision), step.comment && h("span", { class: "faint" }, ";;; " + step.comment));
    if (met) { close(); shown.push(line); } else missed.push(line);
  }
  close();
  return shown;
}
