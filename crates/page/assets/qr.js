// QR codes: the router's half blocks as a picture that a phone can scan.
import { h } from "./dom.js";

/** Size of a module in pixels. */
const MODULE = 5;

/**
 * Creates the picture of a QR code. `text`: lines of half blocks, light on dark: each character has two modules above
 * each other.
 */
export function qrPicture(text) {
  const lines = text.split("\n").filter(Boolean);
  const canvas = h("canvas", { class: "qr", role: "img", "aria-label": "QR code of the configuration, for the camera of a phone" });
  canvas.width = MODULE * Math.max(...lines.map((line) => line.length));
  // The last line has one row of modules, its lower half is margin.
  canvas.height = MODULE * 2 * lines.length;
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = "#000";
  const dark = (column, row) => context.fillRect(MODULE * column, MODULE * row, MODULE, MODULE);
  lines.forEach((line, row) => [...line].forEach((block, column) => {
    if (block === "▄" || block === " ") dark(column, 2 * row);
    if ((block === "▀" || block === " ") && row < lines.length - 1) dark(column, 2 * row + 1);
  }));
  return canvas;
}

/** Creates the configuration of a WireGuard device as a code and as text. `row`: answer of `show-client-config`. */
export function deviceConfiguration(row) {
  const isCode = /[▀▄█]/.test(row.qr ?? "");
  return h("div", { class: "device", id: "device" }, isCode && qrPicture(row.qr), h("pre", { class: "mono" }, (row.conf ?? "").trim()));
}
