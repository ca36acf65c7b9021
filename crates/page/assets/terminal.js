// Terminal: the router's console, shown by xterm.js. Output is one streamed response, keys are requests in order.
// The console lives as long as the page: it stays open while other views are shown.
import { fill, h } from "./dom.js";
import { failed } from "./live.js";

/** Bytes of output that xterm.js may have pending before the stream waits, and bytes of keys in a request. */
const PENDING = 1 << 20, KEYS = 1 << 18;
/** Delay of a new size after the last change, in milliseconds. */
const SETTLED = 120;
/** Keys for touch screens: label, characters, meaning. */
const KEYPAD = [["Tab", "\t", "Complete"], ["Ctrl C", "\x03", "Stop the command"], ["Ctrl X", "\x18", "Safe mode"],
  ["↑", "\x1b[A", "Previous line"], ["↓", "\x1b[B", "Next line"], ["F1", "\x1bOP", "Help"]];
/** Colours of the console, readable on the background of the theme: black, red … white, then the bright ones. */
const COLOURS = {
  light: ["#1d1c1a", "#a3182b", "#1f6f3d", "#805300", "#1d5394", "#8a2a80", "#0c6670", "#5c5852",
    "#66625c", "#b3261e", "#256b2e", "#7a5200", "#1a57b0", "#93329a", "#096c74", "#3a3733"],
  dark: ["#57534e", "#f2929d", "#7fcf9b", "#e3b55c", "#79b4ec", "#d9a0e8", "#7ed0d6", "#d6d1cb",
    "#8f8a84", "#ffb0b8", "#9ee3b5", "#f2cd86", "#a3cdf7", "#e9bff5", "#a0e4e9", "#ffffff"],
};
const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

let current = null;

/** Shows the console of the page; starts one if there is none. */
export async function terminal(main, world) {
  const place = h("div", { class: "console", id: "terminal" });
  const state = h("span", { class: "faint", id: "terminal-state", role: "status" });
  const bar = h("div", { class: "bar" });
  fill(main, h("h1", {}, "Terminal"), bar, place,
    h("p", { class: "faint hint" }, "Tab completes, F1 helps, Ctrl C stops, Ctrl X is safe mode. Shift Tab leaves the terminal."));
  try { await load(); } catch { return fill(bar, h("p", { class: "error" }, "The terminal could not be loaded.")); }
  if (!place.isConnected) return;
  if (current && (current.user !== world.user || current.over)) { current.close(); current = null; }
  current ??= session(world.user);
  const shown = current;
  const key = ([label, keys, title]) => h("button", { type: "button", title, on: { click: () => { shown.type(keys); shown.focus(); } } }, label);
  const again = () => { shown.close(); current = null; terminal(main, world); };
  const end = h("button", { type: "button", id: "terminal-end", title: "End the session; changes in its safe mode are undone",
    on: { click: () => shown.end() } }, "End session");
  const restart = h("button", { type: "button", class: "main", id: "terminal-again", hidden: true, on: { click: again } }, "New session");
  fill(bar, h("div", { class: "keys", role: "group", "aria-label": "Keys" }, KEYPAD.map(key)), h("span", { class: "grow" }), state, restart, end);
  shown.show(place, (over) => {
    state.textContent = over;
    restart.hidden = !over;
    end.hidden = Boolean(over);
    // The focus stays at hand: Enter starts a new session.
    if (over && place.contains(document.activeElement)) restart.focus();
  });
}

/** Loads xterm.js once. */
async function load() {
  if (globalThis.Terminal) return;
  const style = h("link", { rel: "stylesheet", href: "/vendor/xterm.css" });
  const styled = new Promise((done, fail) => { style.onload = done; style.onerror = fail; });
  document.head.append(style);
  await Promise.all([import("./vendor/xterm.js"), styled]);
}

/** The document for xterm.js: the page's policy forbids style elements, so their rules go to a style sheet object. */
function styledDocument() {
  const element = (name) => {
    if (name !== "style") return document.createElement(name);
    const sheet = new CSSStyleSheet();
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    const stand = document.createElement("span");
    stand.hidden = true;
    Object.defineProperty(stand, "textContent", { set: (text) => sheet.replaceSync(text) });
    stand.remove = () => { document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet); };
    return stand;
  };
  return new Proxy(document, { get: (target, name) => {
    if (name === "createElement") return element;
    const value = target[name];
    return typeof value === "function" ? value.bind(target) : value;
  } });
}

function theme() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const colours = COLOURS[document.documentElement.dataset.theme] ?? COLOURS.light;
  const named = NAMES.flatMap((name, at) => [[name, colours[at]], [`bright${name[0].toUpperCase()}${name.slice(1)}`, colours[at + 8]]]);
  return { ...Object.fromEntries(named), background: colour("--card"), foreground: colour("--text"), cursor: colour("--accent"),
    cursorAccent: colour("--card"), selectionBackground: colour("--soft"), selectionForeground: colour("--text") };
}

/** Starts a console. */
function session(user) {
  const view = new globalThis.Terminal({ documentOverride: styledDocument(), theme: theme(), fontSize: 13, scrollback: 5000, cursorBlink: false,
    fontFamily: "ui-monospace, 'Liberation Mono', 'DejaVu Sans Mono', Menlo, monospace" });
  const host = h("div", { class: "screen" });
  const stop = new AbortController();
  const own = { user, over: "", show, type, focus: () => view.focus(), end, close };
  let token = "", keys = "", typing = false, heard = () => {}, due = 0, pending = 0, size = "";
  // Browsers keep a page for "back", with its connections.
  addEventListener("pagehide", () => stop.abort(), { signal: stop.signal });
  view.onData(type);
  view.attachCustomKeyEventHandler(isKey);
  new MutationObserver(() => { view.options.theme = theme(); }).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  new ResizeObserver(() => { clearTimeout(due); due = setTimeout(fit, SETTLED); }).observe(host);
  return own;

  function show(place, listener) {
    place.append(host);
    if (!view.element) {
      view.open(host);
      fit();
      run();
    }
    heard = listener;
    heard(own.over);
    view.focus();
  }
  /** Leaves Shift+Tab, copying a selection and pasting to the browser. */
  function isKey(event) {
    const ctrl = event.ctrlKey && !event.altKey && !event.shiftKey;
    if (event.key === "Tab" && event.shiftKey) return false;
    if (ctrl && event.key === "c" && view.hasSelection()) return false;
    return !(ctrl && event.key === "v");
  }
  /** Adapts columns and rows to the space. */
  function fit() {
    const screen = host.querySelector(".xterm-screen")?.getBoundingClientRect(), { clientWidth, clientHeight } = host;
    if (!screen?.width || !clientWidth) return;
    const scrollbar = 14;
    const columns = Math.max(20, Math.floor((clientWidth - scrollbar) / (screen.width / view.cols)));
    const rows = Math.max(5, Math.floor(clientHeight / (screen.height / view.rows)));
    if (columns !== view.cols || rows !== view.rows) view.resize(columns, rows);
    const now = `?columns=${columns}&rows=${rows}`;
    if (now === size) return;
    size = now;
    if (token && !own.over) send(size);
  }
  function send(query, body) {
    return fetch(`/terminal/${token}${query}`, { method: "POST", headers: { "X-Ferroute": "page" }, credentials: "same-origin", body });
  }
  async function type(text) {
    keys += text;
    if (typing || !token || own.over) return;
    typing = true;
    try {
      while (keys && !own.over) {
        const bytes = new TextEncoder().encode(keys.slice(0, KEYS));
        keys = keys.slice(KEYS);
        await send("", bytes);
      }
    } catch { failed(); }
    typing = false;
  }
  async function run() {
    try {
      const response = await fetch("/terminal" + size, { method: "POST", headers: { "X-Ferroute": "page" }, credentials: "same-origin",
        signal: stop.signal });
      if (response.status === 401) dispatchEvent(new Event("session-over"));
      if (!response.ok) return ended((await response.json().catch(() => ({}))).detail ?? response.statusText);
      token = response.headers.get("X-Terminal");
      host.dataset.token = token;
      fit();
      type("");
      for (const reader = response.body.getReader(); ;) {
        const { value, done } = await reader.read();
        if (done) break;
        pending += value.length;
        const shown = new Promise((drawn) => view.write(value, () => { pending -= value.length; drawn(); }));
        if (pending > PENDING) await shown;
      }
      ended("The session has ended.");
    } catch {
      ended("The connection is lost.");
      failed();
    }
  }
  function ended(text) {
    own.over = text;
    view.options.disableStdin = true;
    heard(text);
  }
  function end() {
    if (token) fetch(`/terminal/${token}`, { method: "DELETE", headers: { "X-Ferroute": "page" }, credentials: "same-origin" }).catch(() => {});
  }
  function close() {
    stop.abort();
    view.dispose();
    host.remove();
  }
}
