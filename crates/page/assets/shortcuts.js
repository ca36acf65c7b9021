// The keys of the page, in a dialog that `?` opens.
import { h } from "./dom.js";

/** [where, [keys, what they do]] */
const KEYS = [
  ["Everywhere", [["Ctrl K or /", "search tasks, menus, addresses, comments"], ["?", "these shortcuts"], ["Tab", "next control; the first one skips to the content"],
    ["Esc", "closes a dialog, ends searching"]]],
  ["Search", [["↓ ↑", "next and previous result"], ["Enter", "opens it"]]],
  ["Tables", [["↓ ↑", "next and previous row"], ["Space", "selects the row"], ["Enter", "edits the row"], ["c", "writes the comment"], ["Delete", "removes the selected rows"]]],
  ["Terminal", [["Tab", "completes"], ["F1", "helps"], ["Ctrl C", "stops a command"], ["Ctrl X", "safe mode"], ["Shift Tab", "leaves the terminal"]]],
];

/** Opens the dialog. A modal dialog keeps the focus, closes with Esc, and gives the focus back. */
export function showShortcuts() {
  if (document.getElementById("shortcuts")) return;
  const dialog = h("dialog", { class: "card", id: "shortcuts", "aria-labelledby": "shortcuts-title", on: { close: () => dialog.remove() } },
    h("form", { method: "dialog" }, h("h2", { id: "shortcuts-title" }, "Keyboard shortcuts"),
      h("div", { class: "shortcuts" }, KEYS.map(([where, keys]) => h("section", {}, h("h3", {}, where),
        h("dl", {}, keys.map(([key, does]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)]))))),
      h("div", { class: "bar" }, h("button", { class: "main", id: "shortcuts-close" }, "Close"))));
  document.body.append(dialog);
  dialog.showModal();
}

/** Opens the dialog by `?`, except while text is typed. */
export function listenForShortcuts() {
  addEventListener("keydown", (event) => {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key !== "?" || event.ctrlKey || event.altKey || event.metaKey || isTyping || !document.getElementById("main")) return;
    event.preventDefault();
    showShortcuts();
  });
}
