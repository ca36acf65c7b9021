// Live rows of a menu: the stream of changes from the router, and whether the router answers.

/** Time without any byte after which the router counts as gone; it sends a heartbeat every two seconds. */
const SILENCE = 7000;
/** Time between attempts to reach the router again. */
const RETRY = 1000;

/** Whether the router answers; changes are events `router-gone` and `router-back` of the window. */
export const router = { answers: true };

const answers = async () => {
  const found = await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(3000) }).catch(() => null);
  return Boolean(found?.ok);
};

/** Notes that a request failed: the router is gone if it does not answer another one. */
export async function failed() {
  if (router.answers && !await answers()) gone();
}

/** Notes that the router does not answer, and waits for it in the background. */
function gone() {
  if (!router.answers) return;
  router.answers = false;
  document.documentElement.dataset.router = "gone";
  dispatchEvent(new Event("router-gone"));
  const look = async () => {
    if (!await answers()) return setTimeout(look, RETRY);
    router.answers = true;
    delete document.documentElement.dataset.router;
    dispatchEvent(new Event("router-back"));
  };
  setTimeout(look, RETRY);
}

/** Returns the parameters of a view as the router reads them. */
function parameters(view) {
  const set = Object.entries(view).filter(([, value]) => value !== "" && value !== undefined);
  return set.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
}

/**
 * Follows a view of a menu until `close()`. `view`: parameters of GET /events. `opened` is called when a stream
 * begins, `changed` receives each message, `period` the time between messages in milliseconds if it grows, `refused` an error of the router.
 */
export function follow(view, listener) {
  return run(parameters(view), [listener], listener);
}

/** Follows several views in one stream, each with its listener as in `follow`. */
export function followAll(views, listeners) {
  const query = views.map((view) => "view=" + encodeURIComponent(parameters(view))).join("&");
  const all = { opened: () => listeners.forEach((one) => one.opened()), refused: (text) => listeners.forEach((one) => one.refused(text)) };
  return run(query, listeners, all);
}

/** Keeps a stream open until `close()`. Events go to `listeners` by number, an error of the whole stream to `all`. */
function run(query, listeners, all) {
  const stop = new AbortController();
  // Browsers keep a page for "back", with its connections.
  addEventListener("pagehide", () => stop.abort(), { signal: stop.signal });
  const turn = async () => {
    while (!stop.signal.aborted) {
      await (router.answers ? stream(query, stop.signal, listeners, all) : undefined);
      if (!stop.signal.aborted) await new Promise((done) => setTimeout(done, RETRY));
    }
  };
  turn();
  return { close: () => stop.abort() };
}

/** Returns the rows of a view as they are now; none if the router refuses. */
export function first(view) {
  return new Promise((done) => {
    const end = (rows) => { stream.close(); done(rows); };
    const stream = follow(view, { opened() {}, period() {}, refused: () => end([]),
      changed: ({ order, rows }) => end(order.map((id) => ({ ".id": id, ...rows[id] }))) });
  });
}

/** Reads one stream to its end. */
async function stream(query, stop, listeners, all) {
  const silence = new AbortController();
  let watch = setTimeout(() => silence.abort(), SILENCE);
  try {
    const response = await fetch("/events?" + query, { headers: { "X-Ferroute": "page" }, credentials: "same-origin",
      signal: AbortSignal.any([stop, silence.signal]) });
    if (response.status === 401) dispatchEvent(new Event("session-over"));
    if (!response.ok) {
      const fault = await response.json().catch(() => ({}));
      return all.refused(fault.detail ?? fault.message ?? response.statusText);
    }
    all.opened();
    await readEvents(response, (event, data) => receive(event, data, listeners), () => {
      clearTimeout(watch);
      watch = setTimeout(() => silence.abort(), SILENCE);
    });
  } catch {
    if (silence.signal.aborted) gone();
    else if (!stop.aborted) failed();
  } finally { clearTimeout(watch); }
}

/** Reads server-sent events to the end of a response. `received` gets the name and data of each, `alive` is called for all bytes. */
export async function readEvents(response, received, alive) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    alive();
    const events = (text + value).split("\n\n");
    text = events.pop();
    for (const event of events) {
      const field = (name) => event.split("\n").find((line) => line.startsWith(name + ": "))?.slice(name.length + 2);
      const data = field("data");
      if (data !== undefined) received(field("event"), data);
    }
  }
}

/** Passes an event to the listener of its view. */
function receive(event, data, listeners) {
  const [name, number] = (event ?? "changes").split(" ");
  const listener = listeners[Number(number ?? 0)];
  if (name === "period") listener.period(Number(data));
  else if (name === "refused") listener.refused(JSON.parse(data).detail);
  else listener.changed(JSON.parse(data));
}

/** Rows of a view, from its messages. */
export class Rows {
  #rows = new Map();
  #fresh = true;
  #order = [];
  /** Number of rows of the menu, and of those that pass the filter. */
  total = 0;
  matched = 0;
  /** Error of the router; empty if there is none. */
  fault = "";

  /** Listener for `follow`; calls `drawn` after each message. */
  listener(drawn) {
    return {
      opened: () => { this.#fresh = true; },
      period() {},
      refused: (text) => { this.fault = text; drawn(); },
      changed: (message) => { this.#receive(message); drawn(); },
    };
  }
  #receive({ total, matched, order, rows }) {
    if (this.#fresh) this.#rows.clear();
    this.#fresh = false;
    Object.assign(this, { total, matched, fault: "" });
    this.#order = order ?? this.#order;
    for (const [id, changed] of Object.entries(rows)) {
      const row = this.#rows.get(id) ?? { ".id": id };
      for (const [name, value] of Object.entries(changed)) if (value === null) delete row[name]; else row[name] = value;
      this.#rows.set(id, row);
    }
    const shown = new Set(this.#order);
    for (const id of this.#rows.keys()) if (!shown.has(id)) this.#rows.delete(id);
  }
  /** The rows in their order. */
  get all() { return this.#order.map((id) => this.#rows.get(id)).filter(Boolean); }
}
