// Quick Set: short forms for common setups. The commands are shown before they run, as one transaction.
import * as api from "./api.js";
import { fill, h } from "./dom.js";

/** Name of the file that the commands pass through; removed after the import. */
const FILE = "quick-set.rsc";

const quoted = (text) => (/^[\w.:/,!*-]+$/.test(text) ? text : `"${text.replace(/["\\$]/g, "\\$&").replace(/\n/g, "\\n")}"`);

/** Returns a command; arguments without a value are left out. */
const line = (command, values = {}) => [command, ...Object.entries(values).filter(([, value]) => value).map(([name, value]) => `${name}=${quoted(value)}`)].join(" ");

/** Splits `192.168.88.1/24` into the values of a DHCP server; null unless it is an address with a length of 8 to 29. */
export function network(text) {
  const found = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(text.trim());
  if (!found) return null;
  const [parts, length] = [found.slice(1, 5).map(Number), Number(found[5])];
  if (parts.some((part) => part > 255) || length < 8 || length > 29) return null;
  const number = parts.reduce((sum, part) => sum * 256 + part, 0), size = 2 ** (32 - length);
  const dotted = (value) => [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
  const base = Math.floor(number / size) * size;
  const [first, last] = [base + 1, base + size - 2];
  if (number < first || number > last) return null;
  // The larger part beside the router's own address serves clients.
  const [from, to] = number - first > last - number ? [first, number - 1] : [number + 1, last];
  return { address: dotted(number), prefix: `${dotted(base)}/${length}`, pool: `${dotted(from)}-${dotted(to)}`, next: dotted(number < last ? number + 1 : first), length };
}

/** Commands for the local side: a bridge of ports, with address, DHCP server and DNS. */
function localSide({ ports, lan }, now) {
  const own = network(lan);
  if (!own) return null;
  return [
    !now.bridges.includes("bridge") && line("/interface/bridge/add", { name: "bridge" }),
    ...ports.filter((port) => !now.bridged.has(port)).map((port) => line("/interface/bridge/port/add", { bridge: "bridge", interface: port })),
    line("/ip/address/add", { address: `${own.address}/${own.length}`, interface: "bridge" }),
    line("/ip/pool/add", { name: "lan", ranges: own.pool }),
    line("/ip/dhcp-server/add", { name: "lan", interface: "bridge", "address-pool": "lan" }),
    line("/ip/dhcp-server/network/add", { address: own.prefix, gateway: own.address, "dns-server": own.address }),
    line("/ip/dns/set", { "allow-remote-requests": "yes" }),
  ];
}

/** Commands for lists, masquerading and the basic firewall; rules only where there are none. */
function protection(wan, now) {
  const rule = (values) => line("/ip/firewall/filter/add", values);
  return [
    ...["WAN", "LAN"].filter((name) => !now.lists.includes(name)).map((name) => line("/interface/list/add", { name })),
    line("/interface/list/member/add", { list: "WAN", interface: wan }),
    line("/interface/list/member/add", { list: "LAN", interface: "bridge" }),
    ...(now.rules ? [] : [
      rule({ chain: "input", action: "accept", "connection-state": "established,related,untracked" }),
      rule({ chain: "input", action: "drop", "connection-state": "invalid" }),
      rule({ chain: "input", action: "accept", protocol: "icmp" }),
      rule({ chain: "input", action: "drop", "in-interface-list": "!LAN", comment: "drop all that does not come from LAN" }),
      rule({ chain: "forward", action: "fasttrack-connection", "connection-state": "established,related" }),
      rule({ chain: "forward", action: "accept", "connection-state": "established,related,untracked" }),
      rule({ chain: "forward", action: "drop", "connection-state": "invalid" }),
      rule({ chain: "forward", action: "drop", "connection-state": "new", "connection-nat-state": "!dstnat", "in-interface-list": "WAN", comment: "drop all from WAN that is not forwarded" }),
    ]),
    line("/ip/firewall/nat/add", { chain: "srcnat", action: "masquerade", "out-interface-list": "WAN" }),
  ];
}

const WAN = { name: "wan", label: "Port to the internet", kind: "port", help: "The port with the provider's modem or cable." };
const LAN = { name: "lan", label: "Address of the router in the local network", value: "192.168.88.1/24", help: "Devices get addresses from its network by DHCP." };
const PORTS = { name: "ports", label: "Ports of the local network", kind: "ports", help: "These ports are bridged: devices on them are in one network." };

/** [address, title, what it does, fields, commands of the values and the present configuration] */
const RECIPES = [
  ["home", "Home", "The provider gives an address by DHCP; all other ports are a local network behind NAT and a firewall.", [WAN, PORTS, LAN],
    (values, now) => [line("/ip/dhcp-client/add", { interface: values.wan, disabled: "no" }), ...localSide(values, now) ?? [null], ...protection(values.wan, now)]],
  ["pppoe", "PPPoE", "As Home, with the provider's user name and password.", [WAN,
    { name: "user", label: "User name", required: true, help: "From the provider's letter." }, { name: "password", label: "Password", kind: "password", required: true }, PORTS, LAN],
    (values, now) => [line("/interface/pppoe-client/add", { name: "pppoe-out1", interface: values.wan, user: values.user, password: values.password, "add-default-route": "yes", "use-peer-dns": "yes", disabled: "no" }),
      ...localSide(values, now) ?? [null], ...protection("pppoe-out1", now)]],
  ["bridge", "Bridge", "All chosen ports become one network; another router serves it. This router gets its address by DHCP.", [PORTS],
    (values, now) => [!now.bridges.includes("bridge") && line("/interface/bridge/add", { name: "bridge" }),
      ...values.ports.filter((port) => !now.bridged.has(port)).map((port) => line("/interface/bridge/port/add", { bridge: "bridge", interface: port })),
      line("/ip/dhcp-client/add", { interface: "bridge", disabled: "no" })]],
  ["vpn", "VPN server", "Phones and computers reach the local network through WireGuard.", [
    { name: "endpoint", label: "Name or address of this router in the internet", required: true, help: "Clients connect to it, such as vpn.example.com." },
    { name: "port", label: "UDP port", value: "13231" }, { name: "vpn", label: "Address of the router in the VPN", value: "10.13.13.1/24", help: "Clients get addresses of its network." },
    { name: "client", label: "Name of the first client", value: "phone" }],
    (values, now) => {
      const own = network(values.vpn);
      return own && [line("/interface/wireguard/add", { name: "wireguard-vpn", "listen-port": values.port }),
        line("/ip/address/add", { address: `${own.address}/${own.length}`, interface: "wireguard-vpn" }),
        line("/ip/firewall/filter/add", { chain: "input", action: "accept", protocol: "udp", "dst-port": values.port, comment: "WireGuard", "place-before": now.first }),
        line("/interface/wireguard/peers/add", { interface: "wireguard-vpn", name: values.client, "private-key": "auto", "allowed-address": `${own.next}/32`, "client-address": `${own.next}/32`,
          "client-dns": own.address, "client-endpoint": values.endpoint })];
    }],
];

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
  const [interfaces, bridged, lists, rules] = await Promise.all(["/interface", "/interface/bridge/port", "/interface/list", "/ip/firewall/filter"].map((menu) => api.print(menu)));
  const ports = interfaces.filter((row) => row.type === "ether").map((row) => row.name);
  return { ports, bridges: interfaces.filter((row) => row.type === "bridge").map((row) => row.name), bridged: new Set(bridged.map((row) => row.interface)),
    lists: lists.map((row) => row.name), rules: rules.filter((row) => row.dynamic !== "true").length,
    first: rules.find((row) => row.dynamic !== "true")?.[".id"] };
}

function recipe(body, world, [name, title, about, specs, commands], now) {
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
      done.textContent = dry ? "The router accepts all commands. Nothing was changed." : "Done. Undo in the header takes it all back.";
    } catch (refused) { error.textContent = refused.message; }
    run.disabled = check.disabled = false;
  };
  fill(body, h("form", { class: "card quickset", id: "quickset", "aria-label": title, on: { input: react, submit: (event) => { event.preventDefault(); attempt(false); } } },
    h("p", {}, about), h("div", { class: "fields" }, fields.map((one) => one.element)), h("h2", {}, "Commands"), preview, error, done,
    h("div", { class: "bar" }, run, check, !world.may("write") && h("span", { class: "faint" }, "Your group lacks the policy write."),
      name === "vpn" && h("a", { href: "#/interface/wireguard/peers" }, "WireGuard peers"))));
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
  const input = spec.kind === "port" ? h("select", { id }, now.ports.map((port) => h("option", { value: port }, port)))
    : h("input", { id, type: spec.kind === "password" ? "password" : "text", autocomplete: "off", spellcheck: "false", required: spec.required, value: spec.value ?? "" });
  const fault = h("span", { class: "error", id: id + "-error" });
  const isNetwork = spec.value?.includes("/");
  const isValid = () => {
    const wrong = isNetwork && !network(input.value) ? "An address with the length of its network, such as 192.168.88.1/24" : "";
    fault.textContent = wrong;
    input.toggleAttribute("aria-invalid", Boolean(wrong));
    if (wrong) input.setAttribute("aria-describedby", fault.id); else input.removeAttribute("aria-describedby");
    return !wrong && input.value.trim() !== "";
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
