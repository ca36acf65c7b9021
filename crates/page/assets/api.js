// Requests to the router.
import { failed } from "./live.js";

/** Error with the router's own message. */
export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** Time after which a request of the page's start is repeated, in milliseconds: the page shows nothing before. */
const START = 15_000;

/** Sends a request; `limit` is the longest time until the answer in milliseconds. */
async function ask(method, path, body, limit) {
  const request = { method, headers: { "X-Ferroute": "page" }, credentials: "same-origin" };
  if (body !== undefined) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  if (limit) request.signal = AbortSignal.timeout(limit);
  let response, text;
  try {
    response = await fetch(path, request);
    text = await response.text();
  } catch {
    failed();
    throw new Refused(0, "the router does not answer");
  }
  let answer = null;
  try { answer = text ? JSON.parse(text) : null; } catch { /* it is no JSON */ }
  if (response.ok) return answer;
  if (response.status === 401 && path !== "/session") dispatchEvent(new Event("session-over"));
  throw new Refused(response.status, answer?.detail || answer?.message || response.statusText);
}

const escaped = (path) => path.split("/").map((part) => encodeURIComponent(part)).join("/");

export const session = {
  get: () => ask("GET", "/session", undefined, START),
  begin: (user, password) => ask("POST", "/session", { user, password }),
  end: () => ask("DELETE", "/session"),
};
/** The index of the menus, the properties of one, and the names of all properties. */
export const schema = () => ask("GET", "/schema.json", undefined, 4 * START);
export const tools = () => ask("GET", "/tools.json");
export const properties = (menu) => ask("GET", "/properties" + menu);
export const searched = () => ask("GET", "/properties.json");
/** History of traffic and load; `query` as URLSearchParams takes it. */
export const history = (query) => ask("GET", "/history?" + new URLSearchParams(query).toString().replaceAll("+", "%20"));
export const print = (menu) => ask("GET", "/rest" + menu);
export const add = (menu, values) => ask("PUT", "/rest" + menu, values);
export const set = (menu, id, values) => ask("PATCH", "/rest" + menu + (id ? "/" + escaped(id) : ""), values);
export const remove = (menu, id) => ask("DELETE", `/rest${menu}/${escaped(id)}`);
export const changes = () => ask("GET",
  "/rest/system/history?.proplist=.id,action,by,time,undoable,redoable,floating-undo");
const BYTES = "application/octet-stream";
/** Downloads a file of the router. */
export async function download(name) {
  const response = await fetch("/rest/file/" + escaped(name),
    { headers: { "X-Ferroute": "page", Accept: BYTES }, credentials: "same-origin" });
  if (!response.ok) throw new Refused(response.status, (await response.json()).detail || response.statusText);
  return response.blob();
}
/** Creates or replaces a file on the router. */
export async function upload(name, file) {
  const response = await fetch("/rest/file/" + escaped(name), { method: "PUT", body: file,
    headers: { "X-Ferroute": "page", "Content-Type": BYTES }, credentials: "same-origin" });
  if (!response.ok) throw new Refused(response.status, (await response.json()).detail || response.statusText);
}
export const run = (command, values = {}) => ask("POST", "/rest" + command, values);
