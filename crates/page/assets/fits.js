// Which properties of an item fit its action, type or protocol, and the groups of a form.

const PORTS = "tcp udp sctp dccp udp-lite 6 17 33 132 136";
const LISTS = "add-src-to-address-list add-dst-to-address-list";
const MARKS = "mark-packet mark-connection mark-routing";

/** Properties that need a value of another property: [menus, other property, { property: its values }]. */
const NEEDS = [
  [/\/(firewall\/(filter|nat|mangle|raw)|interface\/bridge\/(filter|nat))$/, "action", {
    "jump-target": "jump", "reject-with": "reject", "address-list": LISTS, "address-list-timeout": LISTS,
    "hw-offload": "fasttrack-connection", "to-addresses": "dst-nat src-nat netmap same", "to-address": "dst-nat src-nat netmap",
    "to-ports": "dst-nat src-nat redirect masquerade netmap", "same-not-by-dst": "same", "randomise-ports": "src-nat masquerade",
    "socksify-service": "socksify", "socks5-server": "socksify", "socks5-port": "socksify", "new-packet-mark": "mark-packet",
    "new-connection-mark": "mark-connection", "new-routing-mark": "mark-routing", "new-mss": "change-mss", "new-dscp": "change-dscp",
    "new-priority": "set-priority", "new-ttl": "change-ttl", "new-hop-limit": "change-hop-limit", "route-dst": "route",
    passthrough: `${MARKS} change-mss change-dscp change-ttl set-priority`, "sniff-id": "sniff-pc", "sniff-target": "sniff-tzsp sniff-pc",
    "sniff-target-port": "sniff-tzsp" }],
  [/\/firewall\/(filter|nat|mangle|raw)$/, "protocol", { "src-port": PORTS, "dst-port": PORTS, port: PORTS, "tcp-flags": "tcp 6",
    "tcp-mss": "tcp 6", psd: "tcp udp", "icmp-options": "icmp icmpv6 1 58", "tls-host": "tcp 6" }],
  [/^\/ip\/dns\/static$/, "type", { address: "A AAAA", "forward-to": "FWD", cname: "CNAME", text: "TXT", ns: "NS", "mx-preference": "MX",
    "mx-exchange": "MX", "srv-priority": "SRV", "srv-weight": "SRV", "srv-port": "SRV", "srv-target": "SRV" }],
  [/^\/interface\/bonding$/, "mode", { primary: "active-backup balance-tlb balance-alb", "lacp-rate": "802.3ad", "lacp-mode": "802.3ad",
    "lacp-system-id": "802.3ad", "lacp-system-priority": "802.3ad", "lacp-user-key": "802.3ad",
    "transmit-hash-policy": "802.3ad balance-xor" }],
  [/^\/system\/logging\/action$/, "target", { "memory-lines": "memory", "memory-stop-on-full": "memory", "disk-file-name": "disk",
    "disk-lines-per-file": "disk", "disk-file-count": "disk", "disk-stop-on-full": "disk", remote: "remote", "remote-port": "remote",
    "src-address": "remote", "remote-log-format": "remote", "remote-protocol": "remote", "check-certificate": "remote",
    "cef-event-delimiter": "remote", "syslog-time-format": "remote", "syslog-facility": "remote", "syslog-severity": "remote",
    "email-to": "email", "email-cc": "email", "email-start-tls": "email", remember: "echo", script: "script" }],
];

/** Values of an unset property. */
const UNSET = { type: "A", action: "accept", mode: "balance-rr" };

/** Returns true if a property fits the values of the others; `read` returns the value of a property. */
export function fits(menu, name, read) {
  return NEEDS.filter(([menus, , needs]) => menus.test(menu.path) && needs[name]).every(([, other, needs]) => {
    const value = read(other) || UNSET[other] || "";
    return needs[name].split(" ").includes(value);
  });
}

const RULES = NEEDS[0][0];
/** Conditions that a rule's form shows without being set. */
const COMMON = ("src-address dst-address protocol src-port dst-port in-interface in-interface-list out-interface out-interface-list "
  + "connection-state").split(" ");
const FIRST = new Set(["name", "comment", "disabled", "chain"]);

/** Returns the position of a property in its group: common ones first. */
export const rank = (menu, { name }) => [...(isRule(menu) ? ["action", ...COMMON] : [menu.key, ...menu.columns])].indexOf(name) + 1 || 99;

/** True for menus whose items have conditions and an action. */
export const isRule = (menu) => RULES.test(menu.path);

/** Returns the group of a property: General, Matchers, Action or Advanced. `isSet`: the item has a value. */
export function groupOf(menu, property, { isSet, few }) {
  const { name } = property;
  if (isRule(menu)) {
    if (FIRST.has(name)) return "General";
    if (name === "action" || name.startsWith("log") || NEEDS[0][2][name]) return "Action";
    return isSet || COMMON.includes(name) ? "Matchers" : "Advanced";
  }
  return property.required || FIRST.has(name) || name === menu.key || menu.columns.includes(name) || isSet || few ? "General" : "Advanced";
}

/** Examples by the beginning of a value's description. */
const EXAMPLES = [["A.B.C.D[-A.B.C.D", "such as 192.168.88.0/24"], ["A.B.C.D/", "such as 192.168.88.1/24"], ["A.B.C.D", "such as 192.168.88.1"],
  ["IP or IPv6 prefix", "such as 192.168.88.0/24"], ["IP or IPv6 address", "such as 192.168.88.1 or 2001:db8::1"],
  ["AB[:|-|.]CD", "such as 02:00:5E:10:00:01"], ["time interval", "such as 30s or 1d2h"], ["0..    (rate", "such as 10M"],
  ["list of: 0..65535    (integer number)[-...]", "such as 80,443 or 8000-8100"], ["IPv6", "such as 2001:db8::/64"]];

/** Returns an example of a property's values; empty if the name says it all. */
export function example(property) {
  const form = (property.form ?? "").replace(/^\[!\]/, "");
  return EXAMPLES.find(([start]) => form.startsWith(start))?.[1] ?? "";
}
