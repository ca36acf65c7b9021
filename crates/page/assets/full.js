// The full texts of a row whose cells are cut, below the row that has the focus or rests under the pointer.
import { fill, h } from "./dom.js";

/** Time for which the pointer rests before the texts appear, in milliseconds. */
const REST = 500;

/** Shows the texts for rows of a table. `scroll` is the box that scrolls. */
export function fullText(body, scroll) {
  const box = h("div", { class: "full", hidden: true, "aria-hidden": "true" });
  let due = 0, shown = null;
  const leave = () => { clearTimeout(due); box.hidden = true; shown = null; };
  const show = (row) => {
    if (row === shown || !row.isConnected) return;
    leave();
    const cut = [...row.cells].filter((cell) => !cell.matches(".state, .choose") && cell.scrollWidth > cell.clientWidth + 1 && cell.textContent.trim());
    if (!cut.length) return;
    const heads = row.closest("table").tHead.rows[0].cells;
    fill(box, cut.map((cell) => h("div", {}, h("span", { class: "faint" }, `${heads[cell.cellIndex]?.textContent.trim()} `), cell.textContent.trim())));
    if (!box.isConnected) document.body.append(box);
    const place = row.getBoundingClientRect(), edge = scroll.getBoundingClientRect();
    box.hidden = false;
    const under = place.bottom + box.offsetHeight < innerHeight;
    box.style.left = `${edge.left + 40}px`;
    box.style.maxWidth = `${edge.width - 60}px`;
    box.style.top = `${under ? place.bottom + 2 : place.top - box.offsetHeight - 2}px`;
    shown = row;
  };
  body.addEventListener("focusin", (event) => {
    const row = event.target.closest("tr[data-row]");
    if (row && event.target.matches(":focus-visible")) show(row);
  });
  body.addEventListener("focusout", leave);
  body.addEventListener("pointerover", (event) => {
    const row = event.target.closest("tr[data-row]");
    if (!row || row === shown || event.pointerType === "touch") return;
    clearTimeout(due);
    due = setTimeout(() => show(row), REST);
  });
  body.addEventListener("pointerleave", leave);
  body.addEventListener("pointerdown", leave);
  scroll.addEventListener("scroll", leave);
  addEventListener("hashchange", () => { leave(); box.remove(); }, { once: true });
}
