// Quick Set: short forms for common setups. The commands are shown before they run, as one transaction.
import * as api from "./api.js";
import { quoted } from "./command.js";
import { fill, h } from "./dom.js";
import { deviceConfiguration } from "./qr.js";
import { network, RECIPES } from "./recipes.js";

/** Name of the file that the commands pass through; removed after the import. */
const FILE = "quick-set.rsc";

/** Shows Quick Set; `arguments_` has the chosen setup. */
export async function quickSet(main, world, arguments_) {
  const wanted = arguments_.get("setup") ?? "home";
  const chosen = RECIPES.find(([name]) => name === wanted) ?? RECIPES[0];
  const body = h("div");
  fill(main, h("div", { class: "title" }, h("h1", {}, "Quick Set")), h("div", { class: "tabs", role: "navigation", "aria-label": "Setups" }, RECIPES.map(([name, title]) =>
    h("a", { href: `#quickset?setup=${name}`, "aria-current": name === chosen[0] ? "page" : undefined }, title))), body);
  const now = await present().catch((refused) => refused);
  if (!body.isConnected) return;
  if (now instanceof Error) return fill(body, h("p", { class: "error", role: "alert" }, now.message));
  recipe(body, world, chosen, now);
}

/** Returns what exists already. */
async function present() {
  const [interfaces, bridged, lists, rules, addresses, peers] = await Promise.all(["/interface", "/interface/bridge/port", "/interface/list", "/ip/firewall/filter",
    "/ip/address", "/interface/wireguard/peers"].map((menu) => api.print(menu)));
  const networkOf = (name) => network(addresses.find((row) => row.interface === name)?.address ?? "");
  const used = peers.flatMap((row) => String(row["allowed-address"] ?? "").split(",")).map((text) => text.split("/")[0]);
  const ports = interfaces.filter((row) => row.type === "ether").map((row) => row.name);
  return { ports, bridges: interfaces.filter((row) => row.type === "bridge").map((row) => row.name), bridged: new Set(bridged.map((row) => row.interface)),
    lists: lists.map((row) => row.name), rules: rules.filter((row) => row.dynamic !== "true").length,
    first: rules.find((row) => row.dynamic !== "true")?.[".id"], fasttrack: rules.some((row) => row.action === "fasttrack-connection" && row.disabled !== "true"),
    wireguard: interfaces.filter((row) => row.type === "wg").map(({ name }) => ({ name, network: networkOf(name), used })),
    endpoint: peers.map((row) => row["client-endpoint"]).find(Boolean) ?? "" };
}

function recipe(body, world, [name, title, about, specs, commands, peer], now) {
  const code = h("div");
  const error = h("p", { class: "error", role: "alert" }), done = h("p", { class: "done", role: "status" });
  const preview = h("pre", { class: "mono", id: "quickset-commands", tabindex: "0", "aria-label": "Commands" });
  const fields = specs.map((spec) => field(spec, now));
  const run = h("button", { class: "main", id: "quickset-run" }, "Run these commands");
  const check = h("button", { type: "button", id: "quickset-check", on: { click: () => attempt(true) } }, "Check only");
  const read = () => Object.fromEntries(fields.map((one) => [one.name, one.read()]));
  const script = () => {
    const values = read();
    // Every field shows its own error.
    const made = fields.map((one) => one.isValid()).every(Boolean) ? commands(values, now) : null;
    return made && !made.includes(null) ? made.filter(Boolean).join("\n") : "";
  };
  const react = () => {
    // The local ports never include the one to the internet.
    const wan = fields.find((one) => one.name === "wan")?.read();
    fields.find((one) => one.name === "ports")?.without(wan);
    const text = script();
    // Passwords are sent, not shown.
    const secrets = fields.filter((one) => one.secret && one.read()).map((one) => one.read());
    preview.textContent = secrets.reduce((shown, secret) => shown.replaceAll(`=${quoted(secret)}`, "=…"), text) || "Fill in the form to see the commands.";
    run.disabled = check.disabled = !text || !world.may("write");
    done.textContent = "";
  };
  const attempt = async (dry) => {
    error.textContent = done.textContent = "";
    run.disabled = check.disabled = true;
    try {
      await importText(script(), dry);
      if (!dry && peer) await showCode(peer(read()));
      done.textContent = dry ? "The router accepts all commands. Nothing was changed." : "Done. Undo in the header takes it all back.";
    } catch (refused) { error.textContent = refused.message; }
    run.disabled = check.disabled = false;
  };
  /** Shows the configuration of the new device. */
  const showCode = async ({ interface: own, name: peerName }) => {
    const all = await api.print("/interface/wireguard/peers");
    const found = all.find((row) => row.interface === own && row.name === peerName);
    const [row] = [].concat(await api.run("/interface/wireguard/peers/show-client-config", { ".id": found?.[".id"] ?? "" }));
    fill(code, h("h2", {}, `Scan with the WireGuard app: ${peerName}`), deviceConfiguration(row));
    code.scrollIntoView({ block: "nearest" });
  };
  fill(body, h("form", { class: "card quickset", id: "quickset", "aria-label": title, on: { input: react, submit: (event) => { event.preventDefault(); attempt(false); } } },
    h("p", {}, about), h("div", { class: "fields" }, fields.map((one) => one.element)), h("h2", {}, "Commands"), preview, error, done, code,
    h("div", { class: "bar" }, run, check, !world.may("write") && h("span", { class: "faint" }, "Your group lacks the policy write."),
      peer && h("a", { href: "#/interface/wireguard/peers" }, "WireGuard peers"))));
  react();
}

/** Runs commands as one transaction: a file without commands that wait is one. */
async function importText(text, dry) {
  await api.upload(FILE, new Blob([text + "\n"]));
  try {
    await api.run("/import", { "file-name": FILE, ...(dry && { verbose: "yes", "dry-run": "yes" }) });
  } finally { await api.remove("/file", FILE).catch(() => {}); }
}

/** Creates a field: its element, and functions that read and check its value. */
function field(spec, now) {
  const id = `quickset-${spec.name}`, small = spec.help && h("small", {}, spec.help);
  if (spec.kind === "ports") return portsField(spec, now, small);
  const choices = spec.kind === "port" ? now.ports : spec.choices?.(now);
  const input = choices ? h("select", { id }, choices.map((choice) => h("option", { value: choice }, choice)))
    : h("input", { id, type: spec.kind === "password" ? "password" : "text", autocomplete: "off", spellcheck: "false", required: spec.required, value: spec.suggest?.(now) ?? spec.value ?? "" });
  const fault = h("span", { class: "error", id: id + "-error" });
  const isNetwork = spec.value?.includes("/");
  const isValid = () => {
    const wrong = isNetwork && !network(input.value) ? "An address with the length of its network, such as 192.168.88.1/24" : spec.fits && !spec.fits(input.value) ? spec.example : "";
    fault.textContent = wrong;
    input.toggleAttribute("aria-invalid", Boolean(wrong));
    if (wrong) input.setAttribute("aria-describedby", fault.id); else input.removeAttribute("aria-describedby");
    return !wrong && (spec.optional || input.value.trim() !== "");
  };
  return { name: spec.name, secret: spec.kind === "password", read: () => (spec.kind === "password" ? input.value : input.value.trim()), isValid,
    element: h("div", { class: "field" }, h("label", { for: id }, spec.label), input, fault, small) };
}

function portsField(spec, now, small) {
  const boxes = now.ports.map((port, at) => h("input", { type: "checkbox", value: port, ...(at > 0 && { checked: true }) }));
  const labels = boxes.map((box) => h("label", { class: "port" }, box, " ", box.value, now.bridged.has(box.value) && h("span", { class: "faint" }, " in a bridge")));
  const read = () => boxes.filter((box) => box.checked && !box.disabled).map((box) => box.value);
  return { name: spec.name, read, isValid: () => read().length > 0, without: (port) => boxes.forEach((box) => { box.disabled = box.value === port; }),
    element: h("fieldset", { class: "field ports" }, h("legend", {}, spec.label), h("div", {}, labels), small) };
}
