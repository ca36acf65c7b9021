// Changes with confidence: what is pending, with its countdown; history; export, import with a dry run; backups.
import * as api from "./api.js";
import { copyButton, save } from "./command.js";
import { asks, fill, h, whileShown } from "./dom.js";
import { interval } from "./format.js";

/** Time to confirm a change of the whole configuration. */
const CONFIRM = "5m";
/** Rows of the history that are shown. */
const SHOWN = 200;

/** Creates the part of the header that shows a change to be confirmed, with its countdown. `act` runs a command. */
export function pending(world, act) {
  const element = h("span", { id: "pending", role: "status", hidden: true });
  const left = h("strong", { class: "count" });
  let until = 0, text = "";
  const look = async () => {
    const [state] = [].concat(await api.print("/system/configuration"));
    const own = state?.by === world.user;
    until = state?.unconfirmed ? performance.now() + 1000 * seconds(state["confirm-within"]) : 0;
    const now = until ? `${state.unconfirmed} ${own}` : "";
    if (now !== text) {
      text = now;
      element.hidden = !until;
      fill(element, until > 0 && [h("a", { href: "#changes" }, "Unconfirmed change"), " is undone in ", left,
        own && [" ", button("confirm", "Keep", "main"), " ", button("cancel", "Undo now")]]);
    }
    tick();
  };
  const button = (command, label, kind = "") => h("button", { id: "change-" + command, class: kind,
    on: { click: () => act("/system/configuration/" + command).then(look) } }, label);
  const tick = () => {
    const rest = Math.max(0, Math.round((until - performance.now()) / 1000));
    left.textContent = `${Math.floor(rest / 60)}:${String(rest % 60).padStart(2, "0")}`;
  };
  whileShown(element, 3000, look);
  whileShown(element, 500, tick);
  return element;
}

/** Seconds of a time interval of the router. */
function seconds(text) {
  const found = [...(text ?? "").matchAll(/(\d+)([wdhms])/g)];
  return found.reduce((sum, [, number, unit]) => sum + Number(number) * { w: 604800, d: 86400, h: 3600, m: 60, s: 1 }[unit], 0);
}

/** Shows the view of all changes. */
export function changes(main, world) {
  const card = (id, title, part) => h("section", { class: "card part", id: "changes-" + id }, h("h2", {}, title), part);
  fill(main, h("div", { class: "title" }, h("h1", {}, "Changes"), h("p", { class: "faint" }, "What is pending, what was changed, and the whole configuration as text.")),
    world.may("sensitive") && card("pending", "Pending", pendingPart()),
    card("history", "History", historyPart(world)),
    world.may("sensitive") && card("export", "Export", exportPart()),
    world.may("write") && world.may("ftp") && card("import", "Import", importPart(world)),
    world.may("policy") && world.may("ftp") && card("backup", "Backup", backupPart()));
}

/** Runs a job of a button; shows its error. */
function attempts(error, job) {
  return async (event) => {
    event?.preventDefault();
    error.textContent = "";
    try { await job(); } catch (refused) { error.textContent = refused.message; }
  };
}

const errorLine = () => h("p", { class: "error", role: "alert" });

/** Returns commands of a difference with their signs in colours. */
function difference(text) {
  const kind = { "+": "plus", "-": "minus" };
  return h("pre", { class: "mono difference" }, text.split("\n").filter(Boolean).map((line) => h("span", { class: kind[line[0]] }, line + "\n")));
}

/** The difference that is pending: what keeping it would keep. */
function pendingPart() {
  const body = h("div");
  let shown = null;
  whileShown(body, 3000, async () => {
    const [[safe], [state]] = (await Promise.all([api.run("/safe-mode/print"), api.print("/system/configuration")])).map((answer) => [].concat(answer));
    const since = safe?.current === "true" ? safe.revision : state?.unconfirmed && String(Number(state.unconfirmed) - 1);
    const key = `${since} ${state?.revision}`;
    if (key === shown) return;
    shown = key;
    if (!since) return fill(body, h("p", { class: "faint" }, "Nothing is pending. In safe mode, changes are undone unless they are kept."));
    const told = await api.run("/system/configuration/diff", { revision: since });
    const undo = (told?.ret ?? "").trim();
    fill(body, h("p", { class: "faint" }, safe?.current === "true" ? "Changes of safe mode. “Undo changes” reverts them, “Keep changes” keeps them."
      : "Changes that are undone unless they are confirmed."), undo ? difference(inverted(undo)) : h("p", {}, "No change so far."));
  });
  return body;
}

/** Turns the way back into what was changed. */
const inverted = (text) => text.split("\n").map((line) => line.replace(/^[+-]/, (sign) => (sign === "+" ? "-" : "+"))).join("\n");

/** The history: newest first, with undo and redo up to a row. */
function historyPart(world) {
  const error = errorLine(), body = h("tbody"), table = h("div", { class: "scroll live", tabindex: "0", role: "region", "aria-label": "History" },
    h("table", { id: "history" }, h("thead", {}, h("tr", {}, ["time", "by", "action"].map((name) => h("th", { scope: "col" }, name)), h("th", { scope: "col" }, h("span", { class: "hidden" }, "Undo or redo")))), body));
  let shown = "";
  const look = async () => {
    const rows = (await api.changes()).slice(0, SHOWN);
    const now = JSON.stringify(rows);
    if (now === shown) return;
    shown = now;
    fill(body, rows.map((row) => line(row, rows)));
    if (!rows.length) fill(body, h("tr", {}, h("td", { colspan: "4", class: "faint" }, "No change since the start.")));
  };
  const isUndoable = (row) => row.undoable === "true" || row["floating-undo"] === "true";
  function line(row, rows) {
    const at = rows.indexOf(row), undoes = isUndoable(row), redoes = row.redoable === "true";
    const steps = undoes ? rows.slice(0, at + 1).filter(isUndoable) : rows.slice(at).filter((other) => other.redoable === "true").reverse();
    const label = `${undoes ? "Undo" : "Redo"}${steps.length > 1 ? ` ${steps.length} changes` : ""}`;
    const walk = attempts(error, async () => {
      const foreign = steps.filter((step) => step.by !== world.user).length;
      if ((steps.length > 1 || foreign) && !await asks(`${label}${foreign ? `, ${foreign} of them by other users` : ""}?`, label)) return;
      for (const step of steps) await api.run(undoes ? "/undo" : "/redo", { revision: String(parseInt(step[".id"].slice(1), 16)) });
      await look();
    });
    return h("tr", { class: redoes ? "disabled" : "" }, h("td", {}, row.time), h("td", {}, row.by || "the router"), h("td", { title: row.action }, row.action),
      h("td", {}, world.may("write") && (undoes || redoes) && h("button", { class: "small", on: { click: walk } }, label)));
  }
  whileShown(body, 2000, look);
  return [error, table];
}

/** The configuration as text: shown, copied, saved. */
function exportPart() {
  const error = errorLine(), text = h("pre", { class: "mono export", id: "export-text", tabindex: "0", hidden: true });
  const secrets = h("input", { type: "checkbox", id: "export-secrets" }), all = h("input", { type: "checkbox", id: "export-verbose" });
  const read = async () => {
    const told = await api.run("/export", { ...(secrets.checked && { "show-sensitive": "" }), ...(all.checked && { verbose: "" }) });
    text.hidden = false;
    text.textContent = told?.ret ?? "";
    return text.textContent;
  };
  const name = () => `${document.title.split(" ")[0]}-${new Date().toISOString().slice(0, 10)}.rsc`;
  return [h("div", { class: "bar" }, h("button", { class: "main", id: "export-show", on: { click: attempts(error, read) } }, "Show"),
    h("button", { id: "export-save", on: { click: attempts(error, async () => save(name(), await read())) } }, "Save as file"),
    copyButton(() => text.textContent, "Copy what is shown"),
    h("label", {}, secrets, " with passwords and keys"), h("label", {}, all, " with default values")), error, text];
}

/** Import of a file or a text: first a dry run, then the commands, or the replacement of the whole configuration. */
function importPart(world) {
  const error = errorLine(), result = h("div", { id: "import-result" }), answers = h("div", { class: "bar" });
  const text = h("textarea", { id: "import-text", class: "mono", rows: "8", spellcheck: "false", "aria-label": "Commands to import",
    placeholder: "/ip firewall filter\nadd chain=forward action=drop comment=\"an example\"" });
  const picker = h("input", { type: "file", id: "import-file", accept: ".rsc,.txt", "aria-label": "File to import", on: { change: async () => {
    if (picker.files[0]) text.value = await picker.files[0].text();
    forget();
  } } });
  const forget = () => { fill(result); fill(answers); error.textContent = ""; };
  text.addEventListener("input", forget);
  /** Runs a job with the text as a file on the router, which is removed afterwards. */
  const withFile = async (job) => {
    const name = `page-import-${crypto.getRandomValues(new Uint32Array(2)).join("")}.rsc`;
    await api.upload(name, new Blob([text.value]));
    try { return await job(name); } finally { api.remove("/file", name).catch(() => {}); }
  };
  const check = attempts(error, async () => {
    forget();
    const told = await withFile((name) => api.run("/import", { "file-name": name, verbose: "yes", "dry-run": "" }));
    const lines = (told?.ret ?? "").split(/^#changes.*\n/m).at(-1).split("\n").filter((line) => /^[-+~>] /.test(line)).join("\n");
    fill(result, h("p", {}, lines ? "The commands are valid. They would change:" : "The commands are valid, and would change nothing."), lines && difference(lines));
    fill(answers, h("button", { class: "main", id: "import-run", on: { click: run } }, "Run the commands"));
  });
  const run = attempts(error, async () => {
    await withFile((name) => api.run("/import", { "file-name": name }));
    forget();
    fill(result, h("p", { class: "good" }, "The commands have run. History shows them as one change."));
  });
  const compare = attempts(error, async () => {
    forget();
    const told = await withFile((name) => api.run("/system/configuration/diff", { file: name }));
    const lines = (told?.ret ?? "").trim();
    fill(result, h("p", {}, lines ? "Replacing the whole configuration by this text would change:" : "The configuration is as this text says."), lines && difference(lines));
    if (lines) fill(answers, h("button", { class: "main", id: "import-apply", on: { click: apply } }, `Apply, and undo unless confirmed within ${interval(CONFIRM)}`));
  });
  const apply = attempts(error, async () => {
    await withFile((name) => api.run("/system/configuration/apply", { file: name, confirm: CONFIRM }));
    forget();
    fill(result, h("p", { class: "good" }, "Applied. “Keep” in the header confirms it."));
  });
  return [h("div", { class: "bar" }, picker), text, h("div", { class: "bar" },
    h("button", { class: "main", id: "import-check", on: { click: check } }, "Show what would change"),
    world.may("policy") && world.may("sensitive") && h("button", { id: "import-compare", title: "Compares the text as a whole configuration", on: { click: compare } }, "Compare as whole configuration")),
  error, result, answers];
}

/** Backups: to and from the user's computer. */
function backupPart() {
  const error = errorLine(), done = h("p", { class: "faint", role: "status" });
  const password = h("input", { type: "password", id: "backup-password", autocomplete: "new-password", placeholder: "none: not encrypted" });
  const picker = h("input", { type: "file", id: "backup-file", accept: ".backup", "aria-label": "Backup to restore" });
  const store = attempts(error, async () => {
    const name = `page-${new Date().toISOString().slice(0, 10)}`;
    await api.run("/system/backup/save", { name, ...(password.value ? { password: password.value } : { "dont-encrypt": "yes" }) });
    const file = `${name}.backup`;
    try { save(file, await api.download(file)); } finally { api.remove("/file", file).catch(() => {}); }
    done.textContent = "The backup is saved on this computer.";
  });
  const restore = attempts(error, async () => {
    const file = picker.files[0];
    if (!file) throw new Error("Choose a backup file first.");
    if (!await asks(`Restore ${file.name}? It replaces the configuration, users included.`, "Restore")) return;
    await api.upload(file.name, file);
    await api.run("/system/backup/load", { name: file.name, password: password.value });
    done.textContent = "The backup is restored.";
  });
  return [h("form", { class: "bar", on: { submit: store } }, h("label", {}, "Password ", password),
    h("button", { class: "main", id: "backup-save" }, "Save a backup on this computer")),
  h("div", { class: "bar" }, picker, h("button", { id: "backup-restore", on: { click: restore } }, "Restore …")), error, done];
}
