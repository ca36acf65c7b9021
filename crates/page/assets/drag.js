// Moving rows by their handles: with mouse, pen or finger.

/** Distance to the edge of the box at which it scrolls, and pixels per step. */
const EDGE = 32, STEP = 12;

/**
 * Lets rows of a table be dragged by `.handle`. `scroll` is the box that scrolls. `began` and `ended` are called
 * around a drag; `move(id, before)` gets the dragged row and the row that follows its new place, or none at the end.
 */
export function draggable(body, scroll, { began, ended, move }) {
  let drag = null;
  body.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest(".handle"), row = handle?.closest("tr[data-row]");
    if (!row || event.button > 0) return;
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    drag = { row, handle, pointer: event.pointerId, target: null, after: false, y: event.clientY, timer: 0 };
    row.classList.add("dragged");
    began();
  });
  body.addEventListener("pointermove", (event) => {
    if (!drag || event.pointerId !== drag.pointer) return;
    drag.y = event.clientY;
    aim();
    drag.timer ||= setInterval(roll, 30);
  });
  body.addEventListener("pointerup", (event) => { if (event.pointerId === drag?.pointer) end(true); });
  body.addEventListener("pointercancel", (event) => { if (event.pointerId === drag?.pointer) end(false); });
  addEventListener("keydown", cancel);

  function cancel(event) {
    if (!body.isConnected) return removeEventListener("keydown", cancel);
    if (event.key === "Escape" && drag) end(false);
  }
  /** Finds the row under the pointer, and marks the edge where the dragged one would go. */
  function aim() {
    const box = scroll.getBoundingClientRect();
    const y = Math.min(Math.max(drag.y, box.top + 34), box.bottom - 2);
    const row = document.elementFromPoint(box.left + Math.min(120, box.width / 2), y)?.closest("tr[data-row]");
    if (!row || !body.contains(row)) return;
    const own = row.getBoundingClientRect();
    mark(row, y > own.top + own.height / 2);
  }
  function mark(row, after) {
    drag.target?.classList.remove("before", "after");
    Object.assign(drag, { target: row, after });
    row?.classList.add(after ? "after" : "before");
  }
  /** Scrolls while the pointer is near an edge. */
  function roll() {
    if (!drag) return;
    const box = scroll.getBoundingClientRect();
    const way = drag.y < box.top + EDGE + 34 ? -1 : drag.y > box.bottom - EDGE ? 1 : 0;
    if (!way) return;
    scroll.scrollTop += way * STEP;
    aim();
  }
  function end(done) {
    const { row, target, after, timer } = drag;
    clearInterval(timer);
    mark(null, false);
    row.classList.remove("dragged");
    drag = null;
    ended();
    if (!done || !target || target === row) return;
    const next = after ? following(target) : target;
    if (next !== row) move(row.dataset.row, next?.dataset.row);
  }
  /** Returns the next row of the same group. */
  function following(row) {
    const next = row.nextElementSibling;
    return next?.dataset.row ? next : null;
  }
}
