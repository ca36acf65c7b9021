// Columns of tables: the lists for the most used menus, and the columns of all others.

/** Parts of a rule by column: [property, word before its value]. The value of an empty word stands alone. */
const PARTS = {
  "+source": [["src-address", ""], ["src-address-list", "list"], ["src-mac-address", ""], ["src-port", "port"]],
  "+destination": [["dst-address", ""], ["dst-address-list", "list"], ["dst-mac-address", ""], ["dst-port", "port"], ["port", "any port"]],
  "+from": [["src-address", ""], ["src-port", ""]],
  "+to": [["dst-address", ""], ["dst-port", ""]],
  "+in": [["in-interface", ""], ["in-interface-list", "list"], ["in-bridge-port", ""], ["in-bridge-port-list", "list"], ["in-bridge", ""]],
  "+out": [["out-interface", ""], ["out-interface-list", "list"], ["out-bridge-port", ""], ["out-bridge-port-list", "list"], ["out-bridge", ""]],
  "+action": [["action", ""], ["to-addresses", "to"], ["to-address", "to"], ["to-ports", "port"], ["jump-target", "to"], ["reject-with", "with"], ["address-list", "to"],
    ["address-list-timeout", "for"], ["new-packet-mark", ""], ["new-connection-mark", ""], ["new-routing-mark", ""], ["new-mss", ""],
    ["new-dscp", ""], ["new-priority", ""], ["new-ttl", ""], ["log-prefix", "log"]],
};
/** Properties of rules in other columns, or in none. */
const ELSEWHERE = new Set(("chain action protocol ip-protocol mac-protocol log passthrough bytes packets last-hit comment disabled invalid dynamic "
  + `.id .about hw-offload ${Object.values(PARTS).flat().map(([name]) => name).join(" ")}`).split(" "));

/** Columns of an address with its port. */
const ENDS = new Set(["+from", "+to"]);

/** Returns an address with its port as one part: `192.0.2.1:443` or `[2001:db8::1]:443`. */
function end([[name], [portName]], row) {
  const address = row[name] ?? "", port = row[portName];
  return ["", name, !port ? address : address.includes(":") && !address.startsWith("[") ? `[${address}]:${port}` : `${address}:${port}`];
}

/** Returns the parts of a column that joins several properties: [word before the value, property, value]. */
export function joined(column, row) {
  if (column === "+conditions") {
    return Object.keys(row).filter((name) => !ELSEWHERE.has(name) && row[name] !== "false")
      .map((name) => [name === "connection-state" ? "" : `${name}=`, name, row[name]]);
  }
  if (ENDS.has(column)) return [end(PARTS[column], row)];
  return PARTS[column].filter(([name]) => row[name]).map(([name, word]) => [word && word + " ", name, row[name]]);
}

/** Returns what the router sorts by for a column: a property, the rate of a counter, or the first that is set of several; empty if it cannot. */
export const sortedBy = (column) => (column.startsWith("+") ? (PARTS[column] ?? []).map(([name]) => name).join() : column);

/** Returns true if a row has a value in a column, by the names of its set properties. */
function isSet(column, names) {
  if (!column.startsWith("+")) return names.has(column.replace("~", ""));
  return (PARTS[column]?.some(([name]) => names.has(name)) ?? [...names].some((name) => !ELSEWHERE.has(name)));
}

const COUNTERS = "~bytes bytes packets";
const RULE = "+action protocol +source +destination +in +out +conditions";
/** Bytes are left to the choice of columns: rate and packets leave room for addresses. */
const RULES = `${RULE} ~bytes packets`;
const TUNNEL = "name local-address remote-address mtu keepalive";

/** Columns by menu. `~` is the rate of a counter, `+` joins properties. Columns without a value in any row are not drawn. */
const CURATED = {
  "/ip/firewall/filter": RULES,
  "/ip/firewall/nat": RULES,
  "/ip/firewall/mangle": RULES,
  "/ip/firewall/raw": RULES,
  "/ipv6/firewall/filter": RULES,
  "/ipv6/firewall/nat": RULES,
  "/ipv6/firewall/mangle": RULES,
  "/ipv6/firewall/raw": RULES,
  "/interface/bridge/filter": `+action mac-protocol ip-protocol +source +destination +in +out +conditions ${COUNTERS}`,
  "/ip/firewall/address-list": "list address timeout creation-time",
  "/ipv6/firewall/address-list": "list address timeout creation-time",
  "/ip/firewall/connection": "protocol +from +to slow-path-reason tcp-state timeout orig-rate "
    + "repl-rate orig-bytes repl-bytes connection-mark",
  "/ipv6/firewall/connection": "protocol +from +to slow-path-reason tcp-state timeout orig-rate "
    + "repl-rate orig-bytes repl-bytes connection-mark",
  "/interface": "name type ~rx-byte ~tx-byte rx-byte tx-byte mac-address actual-mtu rx-drop tx-drop",
  "/interface/ethernet": "name mtu mac-address speed rate full-duplex switch rx-bytes tx-bytes",
  "/interface/vlan": "name vlan-id interface mtu arp",
  "/interface/bridge": "name mac-address protocol-mode vlan-filtering pvid mtu",
  "/interface/bridge/port": "interface bridge pvid frame-types ingress-filtering role priority path-cost horizon edge",
  "/interface/bridge/host": "mac-address on-interface bridge vid age",
  "/interface/bridge/vlan": "bridge vlan-ids tagged untagged current-tagged current-untagged",
  "/interface/bonding": "name mode slaves primary transmit-hash-policy mtu",
  "/interface/list/member": "list interface",
  "/interface/gre": TUNNEL,
  "/interface/ipip": TUNNEL,
  "/interface/eoip": `${TUNNEL} tunnel-id`,
  "/interface/pppoe-client": "name interface user service-name ac-name profile add-default-route status uptime",
  "/interface/wireguard": "name listen-port public-key mtu",
  "/interface/wireguard/peers": "name interface current-endpoint-address current-endpoint-port allowed-address last-handshake ~rx ~tx rx tx",
  "/ip/address": "address network interface actual-interface",
  "/ipv6/address": "address interface advertise from-pool eui-64",
  "/ip/route": "dst-address gateway immediate-gw routing-table distance check-gateway",
  "/ipv6/route": "dst-address gateway immediate-gw routing-table distance check-gateway",
  "/routing/route": "dst-address gateway immediate-gw routing-table distance belongs-to",
  "/ip/arp": "address mac-address interface status",
  "/ip/dhcp-client": "interface status address gateway dhcp-server expires-after add-default-route use-peer-dns",
  "/ip/dhcp-server": "name interface address-pool lease-time",
  "/ip/dhcp-server/lease": "address host-name mac-address server status expires-after last-seen rate-limit",
  "/ip/dhcp-server/network": "address gateway dns-server domain ntp-server",
  "/ip/dns/static": "name type address cname forward-to ttl match-subdomain",
  "/ip/dns/cache": "name type data ttl",
  "/ip/pool": "name ranges next-pool",
  "/queue/simple": "name target rate max-limit limit-at priority parent bytes dropped",
  "/queue/tree": "name parent packet-mark rate max-limit limit-at priority queue bytes dropped",
  "/ppp/active": "name service caller-id address uptime encoding session-id",
  "/ppp/secret": "name service profile local-address remote-address last-logged-out",
  "/ip/ipsec/peer": "name address exchange-mode profile local-address",
  "/ip/ipsec/policy": "peer src-address dst-address tunnel protocol action level ph2-state ph2-count",
  "/ip/ipsec/active-peers": "remote-address local-address state side uptime ph2-total ~rx-bytes ~tx-bytes rx-bytes tx-bytes",
  "/ip/ipsec/installed-sa": "spi src-address dst-address state auth-algorithm enc-algorithm current-bytes add-lifetime expires-in",
  "/ip/neighbor": "interface address identity mac-address platform board version age",
  "/ip/service": "name port address certificate tls-version",
  "/log": "time topics message",
  "/user": "name group address last-logged-in",
  "/user/active": "name address via when group",
  "/system/script": "name owner policy last-started run-count",
  "/system/scheduler": "name start-date start-time interval next-run run-count on-event",
  "/system/history": "time action by",
  "/certificate": "name common-name subject-alt-name issuer expires-after invalid-after key-size",
  "/file": "name type size creation-time last-modified",
  "/tool/drop": "reason meaning ~packets packets",
  "/tool/netwatch": "name host type status since interval timeout",
};

/** Menus whose rows stand under headings, with the property of the heading. */
const GROUPED = /\/(firewall\/(filter|nat|mangle|raw)|interface\/bridge\/(filter|nat))$/;

/** Properties of each row that are not columns of their own. */
const HIDDEN = new Set(["comment", "disabled", "invalid", "dynamic", ".id", ".about"]);

/** Returns the property whose values are headings. */
export const groupOf = (menu) => (GROUPED.test(menu.path) ? "chain" : "");

/** Returns the curated columns of a menu; null if it has none. */
export function curated(menu) {
  const names = CURATED[menu.path]?.split(" ");
  const known = new Set(menu.properties.map((property) => property.name));
  return names?.filter((name) => name.startsWith("+") || known.has(name.replace("~", ""))) ?? null;
}

/** Returns the columns to draw of a menu whose rows have set the properties `names`. */
export function drawn(menu, choice, names) {
  if (choice) return choice;
  const set = new Set(names);
  const list = curated(menu);
  if (list) return list.filter((name) => isSet(name, set));
  const flags = new Set(menu.flags.map(([, name]) => name));
  const rank = (name) => menu.columns.indexOf(name) + 1 || menu.columns.length + 1;
  return menu.properties.filter(({ name, secret }) => set.has(name) && !HIDDEN.has(name) && !flags.has(name) && !secret)
    .map(({ name }) => name).sort((one, other) => rank(one) - rank(other));
}

/** Returns the properties that a table needs from the router: all (empty) without a list of columns. */
export function needed(menu, choice) {
  const list = choice ?? curated(menu);
  if (!list || list.some((name) => name.startsWith("+") && !PARTS[name])) return [];
  const flags = menu.flags.map(([, name]) => name);
  const names = [...list.flatMap((name) => PARTS[name]?.map(([part]) => part) ?? name.replace("~", "")), ...flags, "comment", ".about", menu.key, groupOf(menu)];
  return [...new Set(names.filter(Boolean))];
}

/** Menus with rows of hosts, whose addresses lead to their connections. */
const HOSTS = new Set("/ip/firewall/connection /ipv6/firewall/connection /ip/dhcp-server/lease /ip/arp /ppp/active /ip/neighbor /tool/netwatch".split(" "));
const ADDRESS = /^\[?([0-9.]+|[0-9a-f:]*:[0-9a-f:]*)\]?(?:\/(?:32|128))?(?::\d+)?$/i;

/** Returns the address of the view about a value: a referenced item, the members of a list, the connections of a host; empty if there is none. */
export function linkOf(world, menu, name, text) {
  if (!text || text.includes(",")) return "";
  const value = text.replace(/^!/, "");
  const quoted = encodeURIComponent(/[ "]/.test(value) ? `"${value}"` : value);
  const family = menu.path.startsWith("/ipv6/") ? "/ipv6" : "/ip";
  if (/(^|-)address-list$/.test(name) || (name === "list" && menu.path.endsWith("/address-list"))) return `${family}/firewall/address-list?filter=list=${quoted}`;
  if (HOSTS.has(menu.path) && /(^|-)address$/.test(name)) {
    const address = ADDRESS.exec(value)?.[1];
    if (address) return `${address.includes(".") ? "/ip" : "/ipv6"}/firewall/connection?filter=${address}`;
  }
  const property = menu.properties.find((own) => own.name === name);
  const path = property?.space && !property.words?.includes(value) ? world.spaces[property.space]?.[0] : undefined;
  const target = path && world.menus.get(path);
  return target && name !== menu.key ? `${path}?filter=${target.key ?? "name"}=${quoted}` : "";
}

/** Returns the heading of a column. */
export function title(name) {
  if (!name.startsWith("~")) return name.replace("+", "");
  return name.slice(1).replace(/-?bytes?$/, "").replace(/^$/, "rate").replace(/^(rx|tx)$/, "$1-rate").replace(/packets$/, "packets/s");
}
