// Widths of columns: the natural ones if they fit, otherwise long cells are cut to a common width.

/** Least width of a column that may be cut, in pixels, and of one in a narrow window. */
const LEAST = 58, LEAST_NARROW = 92, NARROW = 700;

/** Greatest natural width of a column, padding of a cell, and width of the column of checkboxes, in pixels. */
const MOST = 420, PADDING = 16, BOX = 34;

/**
 * Returns widths that fit `available`. Columns are `{ natural, rigid, weight }`; rigid ones keep their natural width,
 * others are cut to a common width times their weight, but not below `least`. The last column takes what is left.
 */
export function fitted(columns, available, least) {
  const width = ({ natural, rigid, weight = 1 }, cap) => (rigid ? natural : Math.min(natural, Math.max(cap * weight, least)));
  const total = (cap) => columns.reduce((sum, column) => sum + width(column, cap), 0);
  let [low, high] = [least / 2, Math.max(least, ...columns.map(({ natural }) => natural))];
  if (total(high) > available) {
    for (let turn = 0; turn < 20; turn += 1) {
      const middle = (low + high) / 2;
      if (total(middle) > available) high = middle; else low = middle;
    }
    high = low;
  }
  const widths = columns.map((column) => Math.floor(width(column, high)));
  const rest = Math.floor(available - widths.reduce((sum, one) => sum + one, 0));
  if (rest > 0) widths[widths.length - 1] += rest;
  return widths;
}

/** Addresses and comments tell rows apart: they are cut less than other texts; the ends of connections least. */
const ENDS = "[data-sort='+from'], [data-sort='+to']", RULE_ENDS = "[data-sort='+source'], [data-sort='+destination']";
const weightOf = (cell) => (cell.querySelector(ENDS) ? 2.4 : cell.matches(":last-child") || cell.querySelector(RULE_ENDS) ? 1.6 : 1);

/** Keeps the columns of a table within its box. Natural widths grow only, so that changing numbers do not shift it. */
export function keeper(table, box) {
  const group = document.createElement("colgroup");
  let natural = [], shape = "", measured = 0;
  new ResizeObserver(() => apply()).observe(box);
  return { measure, reset };

  function reset() { natural = []; measured = 0; }

  /** Measures the contents of all cells, at most once in `pause` milliseconds. */
  function measure(pause = 0) {
    const now = performance.now();
    if (!table.isConnected || !table.tHead?.rows[0] || (measured && now - measured < pause)) return;
    measured = now;
    const range = document.createRange();
    const rows = [table.tHead.rows[0], ...table.querySelectorAll("tr[data-row]")];
    const widths = rows[0].cells.length === natural.length ? [...natural] : new Array(rows[0].cells.length).fill(0);
    for (const row of rows) {
      for (const cell of row.cells) {
        range.selectNodeContents(cell);
        // The heading of the checkboxes is read aloud, not shown.
        const width = cell.matches(".choose") ? BOX : Math.min(MOST, Math.ceil(range.getBoundingClientRect().width) + PADDING);
        if (width > widths[cell.cellIndex]) widths[cell.cellIndex] = width;
      }
    }
    natural = widths;
    apply();
  }
  function apply(cells = [...table.tHead?.rows[0]?.cells ?? []]) {
    if (!natural.length || cells.length !== natural.length) return;
    const least = box.clientWidth < NARROW ? LEAST_NARROW : LEAST;
    const columns = cells.map((cell, at) => ({ natural: natural[at], rigid: cell.matches(".choose, .state, .number"), weight: weightOf(cell) }));
    const widths = fitted(columns, box.clientWidth, least);
    const next = widths.join();
    if (next === shape && group.isConnected) return;
    shape = next;
    group.replaceChildren(...widths.map((width) => {
      const column = document.createElement("col");
      column.style.width = `${width}px`;
      return column;
    }));
    table.prepend(group);
    table.style.width = `${widths.reduce((sum, width) => sum + width, 0)}px`;
  }
}
