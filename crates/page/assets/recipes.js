// The setups of Quick Set: their fields, and the commands that follow from the values.
import { quoted } from "./command.js";

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

/** Parses `50/10`, Mbit/s down and up; null if it is malformed, "" without a limit. */
function speed(text) {
  if (!text.trim()) return "";
  const found = /^(\d+(?:\.\d+)?)\s*\/\s*(\d+(?:\.\d+)?)$/.exec(text.trim());
  const [down, up] = found ? found.slice(1).map((part) => Math.round(1000 * Number(part))) : [0, 0];
  return down && up ? { down: `${down}k`, up: `${up}k` } : null;
}

/** Commands for a queue between the local network and the internet; connections by FastTrack would pass it by. */
function limit({ speed: text, lan }, wan, now) {
  const rates = speed(text), own = network(lan);
  if (!rates || !own) return rates === "" ? [] : [null];
  return [now.fasttrack && "/ip/firewall/filter/disable [find action=fasttrack-connection dynamic=no]",
    line("/queue/simple/add", { name: "internet", target: own.prefix, dst: wan, "max-limit": `${rates.up}/${rates.down}` })];
}

/** Commands for lists, masquerading and the basic firewall; rules only where there are none. */
function protection(wan, now, limited) {
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
      ...(limited ? [] : [rule({ chain: "forward", action: "fasttrack-connection", "connection-state": "established,related" })]),
      rule({ chain: "forward", action: "accept", "connection-state": "established,related,untracked" }),
      rule({ chain: "forward", action: "drop", "connection-state": "invalid" }),
      rule({ chain: "forward", action: "drop", "connection-state": "new", "connection-nat-state": "!dstnat", "in-interface-list": "WAN", comment: "drop all from WAN that is not forwarded" }),
    ]),
    line("/ip/firewall/nat/add", { chain: "srcnat", action: "masquerade", "out-interface-list": "WAN" }),
  ];
}

const WAN = { name: "wan", label: "Port to the internet", kind: "port", help: "The port with the provider's modem or cable." };
const LAN = { name: "lan", label: "Address of the router in the local network", value: "192.168.88.1/24", help: "Devices get addresses from its network by DHCP." };
const SPEED = { name: "speed", label: "Speed limit down/up in Mbit/s", value: "", optional: true, fits: (text) => speed(text) !== null, example: "Two numbers, such as 50/10", help: "Such as 50/10, a little less than the line has: short delays while it is full. Empty: no limit. A limit turns FastTrack off." };
const PORTS = { name: "ports", label: "Ports of the local network", kind: "ports", help: "These ports are bridged: devices on them are in one network." };

/** [address, title, what it does, fields, commands of the values and the present configuration, the WireGuard peer whose code is shown] */
export const RECIPES = [
  ["home", "Home", "The provider gives an address by DHCP; all other ports are a local network behind NAT and a firewall.", [WAN, PORTS, LAN, SPEED],
    (values, now) => [line("/ip/dhcp-client/add", { interface: values.wan, disabled: "no" }), ...localSide(values, now) ?? [null], ...protection(values.wan, now, values.speed), ...limit(values, values.wan, now)]],
  ["pppoe", "PPPoE", "As Home, with the provider's user name and password.", [WAN,
    { name: "user", label: "User name", required: true, help: "From the provider's letter." }, { name: "password", label: "Password", kind: "password", required: true }, PORTS, LAN, SPEED],
    (values, now) => [line("/interface/pppoe-client/add", { name: "pppoe-out1", interface: values.wan, user: values.user, password: values.password, "add-default-route": "yes", "use-peer-dns": "yes", disabled: "no" }),
      ...localSide(values, now) ?? [null], ...protection("pppoe-out1", now, values.speed), ...limit(values, "pppoe-out1", now)]],
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
    }, (values) => ({ interface: "wireguard-vpn", name: values.client })],
  ["device", "VPN device", "Adds a phone or computer to a WireGuard interface, and shows the code that its WireGuard app scans.", [
    { name: "interface", label: "WireGuard interface", kind: "choice", choices: (now) => now.wireguard.map((one) => one.name), help: "Its network has the device's address. Without one, set up a VPN server first." },
    { name: "device", label: "Name of the device", required: true, help: "Such as phone-anna." },
    { name: "endpoint", label: "Name or address of this router in the internet", required: true, suggest: (now) => now.endpoint, help: "The device connects to it, such as vpn.example.com." }],
    (values, now) => {
      const wireguard = now.wireguard.find((one) => one.name === values.interface);
      const free = wireguard?.network && freeAddress(wireguard.network, wireguard.used);
      return [free ? line("/interface/wireguard/peers/add", { interface: values.interface, name: values.device, "private-key": "auto", "allowed-address": `${free}/32`, "client-address": `${free}/32`,
        "client-dns": wireguard.network.address, "client-endpoint": values.endpoint }) : null];
    }, (values) => ({ interface: values.interface, name: values.device })],
];

/** Returns the first address of a network that nobody has; null if all are in use. `used`: addresses without lengths. */
function freeAddress({ address, prefix, length }, used) {
  const number = (text) => text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  const dotted = (value) => [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
  const taken = new Set([address, ...used]), base = number(prefix.split("/")[0]);
  for (let at = 1; at < Math.min(2 ** (32 - length) - 1, 4096); at++) if (!taken.has(dotted(base + at))) return dotted(base + at);
  return null;
}
