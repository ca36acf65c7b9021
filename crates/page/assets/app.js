// Entry point of the page: login, frame, and routing between parts of the page.
import * as api from "./api.js";
import { calculators } from "./calculators.js";
import { changes, pending } from "./changes.js";
import { dashboard } from "./dashboard.js";
import { doctor } from "./doctor.js";
import { asks, fill, h, whileShown } from "./dom.js";
import { failed } from "./live.js";
import { navigation, search } from "./nav.js";
import { quickSet } from "./quickset.js";
import { listenForShortcuts, showShortcuts } from "./shortcuts.js";
import { menuPage } from "./table.js";
import { terminal } from "./terminal.js";
import { tools } from "./tools.js";
import { walk } from "./walk.js";
import { watch } from "./watch.js";

const page = document.getElementById("page");
/** Views beside the menus: titles, and the functions that draw them. */
const PLACES = { quickset: ["Quick Set", quickSet],
  tools: ["Tools", tools], watch: ["Watch", watch], changes: ["Changes", changes], walk: ["Packet walk", walk], doctor: ["Doctor", doctor], terminal: ["Terminal", terminal],
  calculators: ["Calculators", calculators] };

/** State shared by all parts of the page. */
const world = { user: null, policies: [], menus: new Map(), spaces: {}, may: (policy) => world.policies.includes(policy), load };

/** Loads the properties of a menu; menus have none before. */
async function load(menu) {
  menu.loading ??= api.properties(menu.path).then((properties) => { menu.properties = properties; }, (refused) => {
    delete menu.loading;
    throw refused;
  });
  await menu.loading;
}

function theme(next) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  let now = localStorage.getItem("theme") || dark;
  if (next) {
    now = now === "dark" ? "light" : "dark";
    localStorage.setItem("theme", now);
  }
  document.documentElement.dataset.theme = now;
}

function login(message = "") {
  const error = h("p", { class: "error", role: "alert" }, message);
  const user = h("input", { id: "user", name: "user", autocomplete: "username", required: true, value: "admin" });
  const password = h("input", { id: "password", type: "password", autocomplete: "current-password" });
  const enter = async (event) => {
    event.preventDefault();
    try {
      await begin(await api.session.begin(user.value, password.value));
    } catch (refused) {
      error.textContent = refused.status === 401 ? "Invalid user name or password." : refused.message;
      password.value = "";
      password.focus();
    }
  };
  fill(page, h("main", {}, h("form", { class: "card login", on: { submit: enter } },
    h("h1", {}, "ferroute"),
    h("label", {}, "User", user), h("label", {}, "Password", password), error,
    h("button", { class: "main", id: "login" }, "Log in"))));
  password.focus();
}

/** Time between attempts to begin. */
const RETRY = 1000;

/** Begins with the session of before, or asks for a login; tries again if the router does not answer. */
async function start() {
  try {
    await begin(await api.session.get());
  } catch (refused) {
    if (refused.status === 401) return login();
    if (!(refused instanceof api.Refused)) throw refused;
    fill(page, h("p", { class: "login", role: "status" }, `The page cannot begin: ${refused.message}. It tries again.`));
    setTimeout(start, RETRY);
  }
}

async function begin(session) {
  Object.assign(world, { user: session.user, policies: session.policies });
  if (!world.menus.size) {
    const told = await api.schema();
    world.menus = new Map(told.menus.map((menu) => [menu.path, { ...menu, properties: [] }]));
    world.spaces = told.spaces;
    world.calculators = told.calculators;
  }
  const identity = await api.print("/system/identity").catch(() => ({ name: "" }));
  document.title = `${identity.name || "router"} – ferroute`;
  frame(identity.name);
  show();
}

function frame(name) {
  const nav = h("nav", { "aria-label": "Menus", id: "nav" });
  const toggle = () => nav.classList.toggle("open");
  const out = async () => { await api.session.end().catch(() => {}); world.user = null; login(); };
  const undo = h("button", { id: "undo", on: { click: () => walkHistory("undo") } }, "Undo");
  const redo = h("button", { id: "redo", on: { click: () => walkHistory("redo") } }, "Redo");
  const safe = h("button", { id: "safe", "aria-pressed": "false", title: "Undo all changes if the session ends unexpectedly",
    on: { click: () => act("/safe-mode/toggle").then(look) } }, "Safe mode");
  /** Changes that undo and redo would apply, as last shown. */
  let next = {};
  const lookBack = async () => {
    next = changesNext(await api.changes());
    for (const [button, word, change] of [[undo, "Undo", next.undo], [redo, "Redo", next.redo]]) {
      button.title = change ? `${word}: ${told(change)}` : `Nothing to ${word.toLowerCase()}`;
    }
  };
  const walkHistory = async (command) => {
    try { await lookBack(); } catch (refused) { notice.textContent = refused.message; return; }
    const change = next[command];
    if (!change) return act("/" + command);
    const verb = command === "undo" ? "Undo" : "Redo";
    if (change.by !== world.user && !await asks(`${verb} a change of another user: ${told(change)}?`, verb)) return;
    await act("/" + command, { revision: String(parseInt(change[".id"].slice(1), 16)) }, `${command}: ${told(change)}`);
    lookBack().catch(() => {});
  };
  const look = async () => {
    lookBack().catch(() => {});
    const [state] = [].concat(await api.run("/safe-mode/print"));
    const on = state.enabled === "true";
    world.safe = on && state.current === "true";
    safe.setAttribute("aria-pressed", String(on));
    safe.className = on ? "main" : "";
    safe.disabled = on && state.current !== "true";
    unroll.hidden = !(on && state.current === "true");
    safe.textContent = !on ? "Safe mode" : state.current === "true" ? "Keep changes" : `Safe mode: ${state.user}`;
  };
  const unroll = h("button", { id: "unroll", hidden: true, on: { click: () => act("/safe-mode/unroll").then(look) } }, "Undo changes");
  const notice = h("span", { id: "notice", class: "error", role: "status" });
  const fault = h("p", { id: "fault", class: "error", role: "alert", hidden: true });
  const lookForFault = async () => {
    const [state] = [].concat(await api.print("/system/configuration"));
    fault.hidden = !state?.fault;
    fill(fault, state?.fault, " ", world.may("policy") && h("button", { id: "accept", on: { click: () => act("/system/configuration/accept").then(lookForFault) } }, "Accept the recovered state"));
  };
  const act = async (command, values = {}, done = "") => {
    notice.className = "error";
    try {
      await api.run(command, values);
      Object.assign(notice, { textContent: done, className: "faint" });
      // Tables follow the router by themselves.
      if (!document.getElementById("rows")) show();
    } catch (refused) { notice.textContent = refused.message; }
  };
  const skip = () => document.getElementById("main").focus();
  fill(page, h("div", { class: "frame" }, h("button", { class: "skip", on: { click: skip } }, "Skip to the content"),
    h("header", { class: "top" },
      h("button", { id: "menu-button", "aria-label": "Show menus", on: { click: toggle } }, "☰"),
      h("a", { class: "name", href: "#/" }, name || "ferroute"), search(world),
      world.may("write") && [undo, redo, safe, unroll], pending(world, act), notice,
      h("span", { class: "faint" }, world.user),
      h("button", { id: "keys", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)", on: { click: showShortcuts } }, "?"),
      h("button", { id: "theme", "aria-label": "Switch between light and dark theme", on: { click: () => theme(true) } }, "◐"),
      h("button", { id: "logout", on: { click: out } }, "Log out"), fault),
    nav, h("main", { id: "main", tabindex: "-1" })));
  whileShown(fault, 5000, lookForFault);
  whileShown(fault, 4000, failed);
  if (world.may("write")) whileShown(safe, 5000, look);
  navigation(nav, world, Object.entries(PLACES).map(([place, [title]]) => [place, title]));
}

/** Finds the next changes to undo and to redo in the rows of the history, which are sorted newest first. */
function changesNext(rows) {
  return { undo: rows.find((row) => row.undoable === "true" || row["floating-undo"] === "true"),
    redo: rows.findLast((row) => row.redoable === "true") };
}

/** Describes a change: action, user and time. */
function told(change) {
  return `${change.action}, by ${change.by || "the router"}, ${change.time}`;
}

function show() {
  const main = document.getElementById("main");
  if (!main) return;
  const [place, query = ""] = decodeURI(location.hash.slice(1) || "/").split("?");
  const arguments_ = new URLSearchParams(query);
  document.getElementById("nav").classList.remove("open");
  for (const link of document.querySelectorAll("#nav a")) {
    const own = link.getAttribute("href").slice(1);
    const is = own === place || (own !== "/" && place.startsWith(own + "/*"));
    if (is) {
      link.setAttribute("aria-current", "page");
      for (let up = link.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    } else link.removeAttribute("aria-current");
  }
  if (PLACES[place]) return PLACES[place][1](main, world, arguments_);
  if (place === "/") return dashboard(main, world);
  const [, path, id] = place.match(/^(.*?)(?:\/(\*[0-9A-Fa-f]+|new))?$/);
  const menu = world.menus.get(path);
  if (!menu) return fill(main, h("h1", {}, "Menu not found"), h("p", {}, place));
  menuPage(main, world, menu, id, arguments_);
}

/** Says that the router does not answer, until it does. */
function banner(absent) {
  let element = document.getElementById("gone");
  if (!element) document.body.prepend(element = h("div", { id: "gone", role: "alert" }));
  element.textContent = absent ? "The router does not answer. The figures below are old; the page continues by itself." : "";
}

theme(false);
listenForShortcuts();
// A hidden page sends no requests of its own, but its safe mode must last.
setInterval(() => { if (world.user && world.safe && document.hidden) api.session.get().catch(() => {}); }, 20_000);
// A page that a browser kept has lost its streams.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
addEventListener("router-gone", () => banner(true));
addEventListener("router-back", () => {
  banner(false);
  if (!world.user) return;
  // A router that was started again has no session of this page.
  api.session.get().then(() => {
    // Tables continue by themselves; what is written in a form stays.
    if (!document.querySelector("#rows, #form")) show();
  }, (refused) => {
    if (refused.status === 401) dispatchEvent(new Event("session-over"));
  });
});
addEventListener("hashchange", () => {
  show();
  // Keyboards and screen readers continue in the new view.
  if (!document.activeElement?.closest("main")) document.getElementById("main")?.focus({ preventScroll: true });
});
addEventListener("session-over", () => { if (world.user) { world.user = null; login("The session has ended. Log in again."); } });
start();
