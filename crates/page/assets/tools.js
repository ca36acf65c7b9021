// Tools: a form, Start and Stop, and live rows of each command that goes on. The router describes the commands.
import * as api from "./api.js";
import { commandText, copyButton } from "./command.js";
import { fill, h } from "./dom.js";
import { field } from "./form.js";
import { displays } from "./displays.js";
import { start } from "./running.js";

/** Presentation of the most used tools: title, arguments of the short form, and their first values. */
const TOOLS = {
  "/tool/ping": ["Ping", "address count interval size interface src-address"],
  "/tool/traceroute": ["Traceroute", "address count max-hops timeout"],
  "/tool/torch": ["Torch", "interface src-address dst-address ip-protocol port", { "src-address": "0.0.0.0/0", "dst-address": "0.0.0.0/0",
    "ip-protocol": "any", port: "any" }],
  "/tool/profile": ["Profile", "cpu", { cpu: "all" }],
  "/tool/sniffer/quick": ["Sniffer", "interface ip-address ip-protocol port rows", { rows: "40", "show-frame": "true" }],
  "/tool/ip-scan": ["IP scan", "interface address-range"],
  "/tool/flood-ping": ["Flood ping", "address count size"],
  "/tool/fetch": ["Fetch", "url output dst-path http-method", { output: "none" }],
  "/tool/bandwidth-test": ["Bandwidth test", "address user password direction protocol duration"],
  "/tool/speed-test": ["Speed test", "address user password test-duration"],
  "/tool/ping-speed": ["Ping speed", "address"],
  "/interface/monitor-traffic": ["Traffic of interfaces", "interface"],
  "/ip/route/check": ["Route check", "dst-ip"],
};
/** The calculator has a view of its own. */
const ELSEWHERE = new Set(["/tool/calculate"]);

let described = null;

/** Shows the list of tools, or the tool that the address names. `given`: its path in `run`, and values of arguments. */
export async function tools(main, world, given) {
  const all = (described ??= await api.tools().catch(() => null));
  const path = given.get("run");
  const tool = all?.find((one) => one.path === path);
  if (tool) return toolView(main, world, tool, given);
  if (!all || path) return fill(main, h("h1", {}, "Tools"), h("p", { class: "error" }, all ? `There is no tool ${path}.` : "The tools could not be loaded."));
  const shown = all.filter((one) => !ELSEWHERE.has(one.path));
  const card = (one) => h("a", { class: "card tool", href: "#tools?run=" + one.path },
    h("strong", {}, title(one)), h("span", { class: "faint" }, one.help), lack(one, world) && h("span", { class: "tag" }, lack(one, world)));
  const cards = (list) => h("div", { class: "tiles small" }, list.map(card));
  const first = Object.keys(TOOLS).map((name) => shown.find((one) => one.path === name)).filter(Boolean);
  const rest = shown.filter((one) => !TOOLS[one.path]);
  fill(main, h("div", { class: "title" }, h("h1", {}, "Tools")), cards(first),
    rest.length > 0 && [h("h2", { class: "part" }, "Monitors"), cards(rest)]);
}

const title = (tool) => TOOLS[tool.path]?.[0] ?? tool.path.slice(1).replaceAll("/", " ");

/** Returns the text about policies that the user lacks for a tool; empty if there are none. */
function lack(tool, world) {
  const missing = tool.needs.filter((policy) => !world.may(policy));
  return missing.length ? `needs the policy ${missing.join(", ")}` : "";
}

async function toolView(main, world, tool, given) {
  const [, short = "", first = {}] = TOOLS[tool.path] ?? [];
  const names = short.split(" ").filter(Boolean);
  const value = (name) => given.get(name) ?? first[name];
  const fields = tool.arguments.map((argument) => field(world, argument, value(argument.name), true));
  if (tool.rows) fields.unshift(field(world, await rowsArgument(world, tool), value("numbers"), true));
  const isShort = ({ property }) => property.required || property.name === "numbers" || names.includes(property.name);
  const rank = ({ property }) => names.indexOf(property.name);
  const [common, rest] = [fields.filter(isShort).sort((one, other) => rank(one) - rank(other)), fields.filter((one) => !isShort(one))];
  const error = h("p", { class: "error", role: "alert", id: "tool-error" });
  const state = h("span", { class: "faint", role: "status", id: "tool-state" });
  const command = h("output", { class: "mono preview", id: "tool-command" });
  const refused = lack(tool, world);
  const begin = h("button", { class: "main", id: "tool-start", disabled: Boolean(refused), title: refused || undefined }, "Start");
  const end = h("button", { type: "button", id: "tool-stop", disabled: true, on: { click: () => running?.stop() } }, "Stop");
  const display = displays(tool, world);
  let running = null;

  const values = () => {
    const read = {};
    for (const { property, read: now } of [...common, ...rest]) {
      if (property.bool ? now() === "true" : now() !== "") read[property.name] = now();
    }
    return read;
  };
  const shownCommand = () => {
    const bools = new Set(fields.filter(({ property }) => property.bool).map(({ property }) => property.name));
    const written = Object.entries(values()).map(([name, text]) => [name, bools.has(name) ? "yes" : text]);
    return commandText(tool.path, Object.fromEntries(written));
  };
  const write = () => { command.textContent = shownCommand(); };
  const submit = (event) => {
    event?.preventDefault();
    if (running || refused) return;
    error.textContent = "";
    display.clear();
    const { numbers, ...others } = values();
    running = start(tool.path, numbers ? { ...others, ".id": numbers } : others, { element: display.element, rows: display.update, ended: (text) => {
      running = null;
      if (!form.isConnected) return;
      error.textContent = text;
      marked(text ? "" : "stopped");
    } });
    marked("running");
  };
  const marked = (text) => {
    state.textContent = text;
    begin.disabled = Boolean(running);
    end.disabled = !running;
    // A disabled button loses the focus; Enter or Space then stops, and starts again.
    if (running || [document.body, end].includes(document.activeElement)) (running ? end : begin).focus({ preventScroll: true });
  };
  const form = h("form", { class: "card", id: "tool-form", novalidate: true, on: { submit, input: write, change: write } },
    h("div", { class: "fields" }, common.map((one) => one.label)),
    rest.length > 0 && h("details", {}, h("summary", {}, `More options (${rest.length})`), h("div", { class: "fields" }, rest.map((one) => one.label))),
    h("div", { class: "bar" }, begin, end, state, refused && h("span", { class: "error", id: "tool-refused" }, refused)),
    h("div", { class: "bar command" }, command, copyButton(shownCommand)));
  fill(main, h("div", { class: "title" }, h("h1", {}, title(tool)), h("code", { class: "faint" }, tool.path)),
    h("p", { class: "faint" }, tool.help), form, error, display.element);
  write();
  if (given.has("start")) submit();
  else (common.find((one) => !one.value()) ?? begin).focus();
}

/** Returns the argument that selects items of a tool's menu. */
async function rowsArgument(world, tool) {
  const key = world.menus.get(tool.rows)?.key || "name";
  const rows = await api.print(tool.rows).catch(() => []);
  const words = [...new Set(rows.map((row) => row[key]).filter(Boolean))];
  return { name: "numbers", help: "Items, separated by commas", required: true, words };
}
