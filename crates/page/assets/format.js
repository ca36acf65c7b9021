// Values of the router as people read them: units, digits, times.

const SIZES = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];
const RATES = [["Tbps", 1e12], ["Gbps", 1e9], ["Mbps", 1e6], ["kbps", 1e3]];

function scaled(number, units, least) {
  for (const [unit, step] of units) {
    if (number >= step) return `${(number / step).toLocaleString(undefined, { maximumFractionDigits: number < 10 * step ? 1 : 0 })} ${unit}`;
  }
  return `${Math.round(number)} ${least}`;
}

/** Formats bytes: 1536 as `1.5 KiB`. */
export const bytes = (number) => scaled(number, SIZES, "B");
/** Formats a rate: 1234567 bits per second as `1.2 Mbps`. */
export const rate = (bits) => scaled(bits, RATES, "bps");
/** Formats a number with separators of thousands. */
export const count = (number) => Number(number).toLocaleString();

/** Formats a time interval by its two largest units: `3d4h5m` as `3 d 4 h`. */
export function interval(text) {
  const clock = /^(?:(\d+)w)?(?:(\d+)d)?(\d+):(\d+):(\d+)$/.exec(text);
  const spelled = /^(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text);
  const found = clock ?? (text ? spelled : null);
  if (!found) return text;
  const parts = found.slice(1).map((digits, at) => [Number(digits ?? 0), "wdhms"[at]]);
  const first = parts.findIndex(([number]) => number > 0);
  if (first < 0) return "0 s";
  return parts.slice(first, first + 2).filter(([number]) => number > 0).map(([number, unit]) => `${number} ${unit}`).join(" ");
}

const DIGITS = /^\d+$/;
const KINDS = [
  [/(^|-)(bytes?|size|memory|space)$|^(rx|tx)$/, bytes],
  [/(^|-)packets?$|dropped$|(^|-)(drop|error)s?$|link-downs|count$/, count],
  [/packet-rate$/, (number) => `${count(number)} p/s`],
  [/(^|-)(rate|max-limit|limit-at|burst-limit|burst-threshold)$/, rate],
];
const INTERVALS = /(time|timeout|age|uptime|interval|after|expires|handshake|seen|expires-in|ttl|since)$/;
const NO_SIZES = /^(packet-size|key-size|cache-size|mtu)$/;

/** Returns a time of today without its date, as the log of RouterOS does; other texts stay. */
function clock(text) {
  const now = new Date(), two = (number) => String(number).padStart(2, "0");
  const today = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())} `;
  return text.startsWith(today) ? text.slice(today.length) : text;
}

/** Formats the value of a property; texts without a unit stay as they are. `a/b` formats both parts. */
export function value(name, text) {
  if (text === undefined || text === "") return "";
  const format = NO_SIZES.test(name) ? null : KINDS.find(([pattern]) => pattern.test(name))?.[1];
  const parts = text.split("/");
  if (format && parts.every((part) => DIGITS.test(part))) return parts.map((part) => format(Number(part))).join(" / ");
  if (name === "time" && text.includes("-")) return clock(text);
  if (INTERVALS.test(name)) return interval(text);
  if (text === "true") return "yes";
  if (text === "false") return "no";
  return text;
}

/** Returns true if the values of a property are numbers, which stand at the right. */
export const isNumeric = (name) => name.startsWith("~") || /^(priority|distance|vlan-id|pvid|mtu|actual-mtu|run-count|spi)$/.test(name)
  || KINDS.some(([pattern]) => pattern.test(name));

const UNITS = { bps: 1, kbps: 1e3, Mbps: 1e6, Gbps: 1e9, Tbps: 1e12 };

/** Returns the bits per second of a rate as the router prints it: `1.2Mbps` or plain digits; 0 for other texts. */
export function bits(text) {
  const found = /^([\d.]+)(bps|kbps|Mbps|Gbps|Tbps)?$/.exec(text ?? "");
  return found ? Number(found[1]) * UNITS[found[2] ?? "bps"] : 0;
}

/** Returns the seconds of a time interval: `1w2d03:04:05` or `3d4h5m`; undefined for other texts. */
export function seconds(text) {
  const found = /^(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+):(\d+):(\d+))?$/.exec(text ?? "");
  if (!text || !found) return undefined;
  return [604800, 86400, 3600, 60, 1, 3600, 60, 1].reduce((sum, factor, at) => sum + factor * Number(found[at + 1] ?? 0), 0);
}
