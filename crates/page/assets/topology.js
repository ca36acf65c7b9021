// Picture of the interfaces: ports, bonds and bridges, VLANs, tunnels and sessions, with their rates on the lines.
import { fill, h } from "./dom.js";
import { count, rate } from "./format.js";

/** Size of a box, and distances between boxes, in pixels. */
const BOX = { width: 150, height: 40 }, GAP = { column: 134, row: 14 }, EDGE = 138;
/** Maximum number of boxes of a column; the others are one box. */
const MOST = 14;

const PORTS = /^(ether|wlan|wifi|lte|veth|w60g|sfp)/;
const TUNNELS = /^(gre|ipip|eoip|wg|wireguard|l2tp|pptp|sstp|ovpn|vxlan|6to4|ipsec)/;

function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const natural = (one, other) => one.name.localeCompare(other.name, undefined, { numeric: true });

/**
 * Returns the columns of boxes. `list`: interfaces as GET /history lists them; `types` and `addresses` by name;
 * `sessions`: number of dynamic interfaces.
 */
export function columns(list, types, addresses, sessions) {
  const nodes = new Map(list.filter((one) => types.get(one.name) !== "loopback").map((one) => [one.name,
    { ...one, type: types.get(one.name) ?? "", address: addresses.get(one.name) ?? "", inputs: [] }]));
  for (const node of nodes.values()) {
    if (node.parent) node.inputs.push(node.parent);
    if (node.master) nodes.get(node.master)?.inputs.push(node.name);
  }
  const depths = new Map();
  const depth = (node, above = new Set()) => {
    if (depths.has(node.name)) return depths.get(node.name);
    // A loop of parents has no depth.
    if (above.has(node.name)) return 0;
    const inputs = node.inputs.map((name) => nodes.get(name)).filter(Boolean);
    const own = inputs.length ? 1 + Math.max(...inputs.map((one) => depth(one, new Set([...above, node.name])))) : PORTS.test(node.type) ? 0 : 1;
    depths.set(node.name, own);
    return own;
  };
  const isTunnel = (node) => TUNNELS.test(node.type) && !node.inputs.length;
  const last = 1 + Math.max(0, ...[...nodes.values()].filter((node) => !isTunnel(node)).map((node) => depth(node)));
  const all = [];
  for (const node of nodes.values()) (all[isTunnel(node) ? last : depth(node)] ??= []).push(node);
  if (sessions) (all[last] ??= []).push({ name: `${count(sessions)} ${sessions === 1 ? "session" : "sessions"}`, type: "sessions", inputs: [], running: true, address: "", link: "/ppp/active" });
  return all.filter(Boolean).map((column, at) => cut(column.sort((one, other) => order(one, other, at, all))));
}

/** Orders boxes near what they are connected with. */
function order(one, other, at, all) {
  const rank = (node) => {
    if (!at) return node.master ?? "";
    const names = all[at - 1]?.map((input) => input.name) ?? [];
    return Math.min(Infinity, ...node.inputs.map((name) => names.indexOf(name)).filter((position) => position >= 0));
  };
  const [left, right] = [rank(one), rank(other)];
  if (!at) return left.localeCompare(right, undefined, { numeric: true }) || natural(one, other);
  return (left === right ? 0 : left - right) || natural(one, other);
}

/** Replaces boxes beyond the limit by one; running ones stay. */
function cut(column) {
  if (column.length <= MOST) return column;
  const kept = new Set(column.toSorted((one, other) => other.running - one.running || other.rx + other.tx - one.rx - one.tx).slice(0, MOST - 1));
  const rest = column.filter((node) => !kept.has(node));
  return [...column.filter((node) => kept.has(node)), { name: `${count(rest.length)} more`, type: "more", inputs: [], address: "",
    running: rest.some((node) => node.running), link: "/interface" }];
}

/** Creates the picture. `draw` takes what `columns` returns. */
export function topology() {
  const element = h("div", { class: "topology", tabindex: "0", role: "group", "aria-label": "Interfaces and their connections" });
  let shape = "", lines = new Map();
  return { element, draw };

  function draw(all) {
    const next = JSON.stringify(all.map((column) => column.map(({ name, type, inputs, running, address }) => [name, type, inputs, running, address])));
    if (next !== shape) {
      shape = next;
      build(all);
    }
    for (const node of all.flat()) {
      const line = lines.get(node.name);
      if (!line || node.rx === undefined) continue;
      const text = node.rx || node.tx ? `▼ ${rate(node.rx)}  ▲ ${rate(node.tx)}` : "";
      if (line.text.textContent !== text) line.text.textContent = text;
      const width = node.rx + node.tx ? Math.min(7, 1.5 + Math.log10(1 + (node.rx + node.tx) / 1e4)) : 1.5;
      for (const path of line.paths) path.setAttribute("stroke-width", width.toFixed(1));
    }
  }

  function build(all) {
    lines = new Map();
    const rows = Math.max(...all.map((column) => column.length), 1);
    const height = rows * (BOX.height + GAP.row) + GAP.row;
    const width = EDGE + all.length * (BOX.width + GAP.column) - 6;
    const spots = new Map();
    all.forEach((column, at) => {
      const room = height / column.length;
      column.forEach((node, row) => spots.set(node.name, { x: EDGE + at * (BOX.width + GAP.column), y: room * (row + 0.5) }));
    });
    const picture = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
    const wires = s("g", { class: "wires" }), boxes = s("g");
    for (const node of all.flat()) {
      wires.append(...wire(node, spots));
      boxes.append(box(node, spots.get(node.name)));
    }
    picture.append(wires, boxes);
    fill(element, picture);
  }

  /** Returns the lines of a box, of which one bears its rates. */
  function wire(node, spots) {
    const spot = spots.get(node.name), end = spot.x + BOX.width;
    const inputs = node.inputs.map((name) => spots.get(name)).filter(Boolean);
    const kind = node.running ? "wire" : "wire down";
    const curves = inputs.map((from) => {
      const start = from.x + BOX.width, middle = (start + spot.x) / 2;
      return s("path", { class: kind, d: `M${start} ${from.y}C${middle} ${from.y} ${middle} ${spot.y} ${spot.x} ${spot.y}` });
    });
    const one = inputs.length === 1 && node.parent;
    const text = s("text", { class: "rate" });
    const put = (x, y, anchor) => { text.setAttribute("x", x); text.setAttribute("y", y); text.setAttribute("text-anchor", anchor); };
    let stub = null;
    if (one) put(spot.x - 6, spot.y - 6, "end");
    else if (!inputs.length && spot.x === EDGE) {
      stub = s("path", { class: kind, d: `M4 ${spot.y}H${spot.x}` });
      put(4, spot.y - 6, "start");
    } else {
      stub = s("path", { class: kind, d: `M${end} ${spot.y}h${GAP.column - 12}` });
      put(end + 6, spot.y - 6, "start");
    }
    lines.set(node.name, { text, paths: stub ? [stub] : curves });
    return [...curves, ...(stub ? [stub] : []), text];
  }

  function box(node, { x, y }) {
    const top = y - BOX.height / 2;
    const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
    const link = s("a", { href: `#${node.link ?? "/interface"}`, class: node.running ? "box" : "box down" },
      s("title", {}, [node.name, node.type, node.address, node.running ? "running" : "not running"].filter(Boolean).join(" · ")),
      s("rect", { x, y: top, width: BOX.width, height: BOX.height, rx: 7 }),
      s("circle", { cx: x + 13, cy: y - (node.type ? 6 : 0), r: 4 }),
      s("text", { x: x + 24, y: y - 2, class: "name" }, short(node.name, 17)),
      s("text", { x: x + 24, y: y + 13, class: "what" }, short(node.address || (/^(more|sessions)$/.test(node.type) ? "" : node.type), 21)));
    return link;
  }
}
