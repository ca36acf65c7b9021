// "Why?": opens the packet walk with the packet that a row is about. What a row does not say is filled with an example,
// which stands in the fields of the walk and can be changed.
import * as api from "./api.js";

/** A host of the internet, for rows that name only one end. */
const ELSEWHERE = { 4: "1.1.1.1", 6: "2606:4700:4700::1111" };
const PORTS = /^(tcp|udp|sctp|dccp|udp-lite)$/;

/** Readers of rows by menu: each returns the known fields of the packet. */
const READERS = [
  [/^\/ip(v6)?\/firewall\/connection$/, connection],
  [/^\/ip(v6)?\/firewall\/(filter|nat|mangle|raw)$/, rule],
  [/^\/log$/, logLine],
  [/^\/ip\/dhcp-server\/lease$/, (row) => host(row["active-address"] || row.address)],
  [/^\/ip\/arp$/, (row) => ({ ...host(row.address), "in-interface": row.interface })],
  [/^\/ipv6\/neighbor$/, (row) => ({ ...host(row.address), "in-interface": row.interface })],
  [/^\/ppp\/active$/, (row) => host(row.address)],
  [/^\/queue\/simple$/, (row) => host(row.target)],
  [/^\/interface\/wireguard\/peers$/, (row) => ({ ...host(row["allowed-address"]), "in-interface": row.interface })],
];

/** Returns true if the rows of a menu are about packets. */
export const asksWhy = (path) => READERS.some(([pattern]) => pattern.test(path));

/** Returns the address of the packet walk for a row; null if the row names no packet. */
export async function why(path, row) {
  const read = READERS.find(([pattern]) => pattern.test(path))?.[1];
  const known = read && await read(row, path);
  if (!known?.["src-address"] || !known["dst-address"]) return null;
  return walkTo(known);
}

/** Returns the address of the packet walk for the fields of a packet; empty fields are left out. */
export function walkTo(known) {
  const hasPorts = PORTS.test(known.protocol ?? "tcp");
  return "walk?" + new URLSearchParams(Object.entries(known).filter(([name, value]) => value && (hasPorts || !name.endsWith("-port"))));
}

/** Fields of a packet between two ends; a missing one is a host of the internet. */
function ends(source, destination) {
  const family = (source || destination || "").includes(":") ? 6 : 4;
  return { "src-address": source || ELSEWHERE[family], "dst-address": destination || ELSEWHERE[family] };
}

/** Fields of a packet from a host, or from a host of a network, to the internet. */
function host(address) {
  const source = example(address);
  return source && { ...ends(source, ""), protocol: "tcp", "dst-port": "443" };
}

/** Returns an address of a text: `192.168.88.0/24` gives `192.168.88.10`, a range its first address; empty for names and `!`. */
function example(text) {
  const first = (text ?? "").split(",")[0];
  if (!/^[\d.]+(\/\d+|-[\d.]+)?$|^[\da-f:.]*:[\da-f:.]*(\/\d+|-.*)?$/i.test(first)) return "";
  const [address, length] = first.split("-")[0].split("/");
  if (length === undefined || address === "0.0.0.0" || address === "::") return length === undefined ? address : "";
  if (address.includes(":")) return address.endsWith("::") && Number(length) < 124 ? `${address}10` : address;
  return Number(length) <= 27 && address.endsWith(".0") ? address.replace(/0$/, "10") : address;
}

const number = (text) => /^\d+/.exec(text ?? "")?.[0] ?? "";

/** Splits `192.0.2.1:443` and `[2001:db8::1]:443`. */
function end(text = "") {
  const found = /^\[([^\]]+)\](?::(\d+))?$/.exec(text) ?? /^([^:]+)(?::(\d+))?$/.exec(text);
  return found ? [found[1], found[2] ?? ""] : [text, ""];
}

/** Returns the fields of a connection's packet. */
export function connection(row) {
  const [source, sourcePort] = end(row["src-address"]), [destination, destinationPort] = end(row["dst-address"]);
  return { "src-address": source, "dst-address": destination, protocol: row.protocol || "tcp",
    "src-port": row["src-port"] || sourcePort, "dst-port": row["dst-port"] || destinationPort };
}

/** Lines of firewall rules: `forward: in:ether2 out:ether1, connection-state:new, proto TCP (SYN), 192.0.2.1:1->192.0.2.2:2, len 60`. */
function logLine(row) {
  const message = row.message ?? "";
  const flow = /(?:^|[\s(])((?:\[[^\]]+\]|[\d.]+|[\da-f:]+)(?::\d+)?)->((?:\[[^\]]+\]|[\d.]+|[\da-f:]+)(?::\d+)?)/i.exec(message);
  if (!flow) return null;
  const [source, sourcePort] = end(flow[1]), [destination, destinationPort] = end(flow[2]);
  const ingress = /\bin:([^\s,]+)/.exec(message)?.[1];
  const state = /connection-state:(new|invalid|untracked)/.exec(message)?.[1];
  return { "in-interface": ingress === "(unknown" ? "" : ingress, "src-address": source, "dst-address": destination, "src-port": sourcePort, "dst-port": destinationPort,
    protocol: /proto (\w+)/.exec(message)?.[1].toLowerCase(), "connection-state": state };
}

/** A packet that meets the conditions of a rule, as far as they name values. */
async function rule(row, path) {
  const [addresses, members] = await Promise.all([api.print(path.startsWith("/ipv6") ? "/ipv6/address" : "/ip/address").catch(() => []),
    row["in-interface-list"] ? api.print("/interface/list/member").catch(() => []) : []]);
  const plain = (text) => (text && !text.startsWith("!") ? text : "");
  const list = plain(row["in-interface-list"]);
  const outward = await egress();
  const inner = addresses.find((one) => one.disabled !== "true" && one["actual-interface"] !== outward && one.interface !== outward);
  const ingress = plain(row["in-interface"]) || members.find((one) => one.list === list)?.interface
    || (/^(dstnat|input)$/.test(row.chain) && plain(row.protocol) ? outward : inner?.interface) || "";
  const own = addresses.find((one) => one.interface === ingress || one["actual-interface"] === ingress);
  const source = example(plain(row["src-address"])) || (ingress === outward ? "" : example(network(own ?? inner)));
  const destination = example(plain(row["dst-address"])) || (/^(dstnat|input)$/.test(row.chain) ? own?.address.split("/")[0] : "");
  const state = plain(row["connection-state"]);
  return { "in-interface": ingress, ...ends(source, destination), protocol: plain(row.protocol) || "tcp", "src-port": number(plain(row["src-port"])),
    "dst-port": number(plain(row["dst-port"] || row.port)) || "443", "connection-state": /^(established|related|invalid|untracked)\b/.exec(state)?.[0] };
}

/** Network of an address of the router: `192.168.88.1/24` gives `192.168.88.0/24`. */
const network = (row) => (row?.network && row.address ? `${row.network}/${row.address.split("/")[1]}` : "");

/** Returns the interface of the route to the internet. */
async function egress() {
  const said = await api.run("/ip/route/check", { "dst-ip": ELSEWHERE[4], once: "" }).catch(() => []);
  return said[0]?.["immediate-gw"]?.split("%").at(-1) ?? "";
}
