// Text of console commands, and copying it.
import { h } from "./dom.js";

/** Quotes a value where the console needs it. */
export const quoted = (text) => (/^[\w.:/,!*%-]+$/.test(text) ? text : `"${text.replace(/["\\$]/g, "\\$&").replace(/\n/g, "\\n")}"`);

/** Returns a command with its arguments: `/tool/ping address=192.0.2.1 count=4`. */
export const commandText = (path, values) => [path, ...Object.entries(values).map(([name, value]) => `${name}=${quoted(value)}`)].join(" ");

/** Copies a text to the clipboard; browsers offer the newer way on secure pages only. */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = h("textarea", { class: "hidden", value: text });
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  const before = document.activeElement;
  area.select();
  document.execCommand("copy");
  area.remove();
  before?.focus();
}

/** Creates a button that copies the text that `read` returns. */
export function copyButton(read, label = "Copy") {
  const button = h("button", { type: "button", class: "copy", on: { click: async () => {
    await copy(read());
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  } } }, label);
  return button;
}

/** Saves bytes or text as a file of the user's computer. */
export function save(name, ...parts) {
  const place = URL.createObjectURL(new Blob(parts));
  h("a", { href: place, download: name }).click();
  URL.revokeObjectURL(place);
}
