// Commands of the router that go on until they are stopped: POST /run/….
import { failed, readEvents } from "./live.js";

/**
 * Starts a command. `rows` receives the rows of each update, `ended` an error text or "" when the command has ended.
 * It is stopped by `stop()`, and when `element` leaves the document; the router ends it with the stream.
 */
export function start(command, values, { element, rows, ended }) {
  const stop = new AbortController();
  const left = () => { if (!element.isConnected) stop.abort(); };
  addEventListener("hashchange", left, { signal: stop.signal });
  // Browsers keep a page for "back", with its connections.
  addEventListener("pagehide", () => stop.abort(), { signal: stop.signal });
  const run = async () => {
    const response = await fetch("/run" + command, { method: "POST", body: JSON.stringify(values), signal: stop.signal,
      headers: { "X-Ferroute": "page", "Content-Type": "application/json" }, credentials: "same-origin" });
    if (response.status === 401) dispatchEvent(new Event("session-over"));
    if (!response.ok) return (await response.json().catch(() => ({}))).detail ?? response.statusText;
    let error = "";
    await readEvents(response, (event, data) => {
      const told = JSON.parse(data);
      if (event === "refused") error = told.detail;
      else if (event !== "end") rows(told);
    }, left);
    return error;
  };
  run().then(ended, () => {
    if (stop.signal.aborted) return ended("");
    failed();
    ended("The connection to the router is lost.");
  }).finally(() => stop.abort());
  return { stop: () => stop.abort() };
}
