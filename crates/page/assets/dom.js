// Creates elements without markup in strings: values from the router are always inserted as text.

/** Creates an element. `properties`: `class`, `on` (listeners), `data`, `value`, attributes. Children may be nested. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else if (name === "class") {
      element.className = value;
    } else if (name === "value") {
      element.value = value;
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child !== undefined && child !== null && child !== false) element.append(child);
  }
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Asks a question in a dialog; resolves to true if the button labelled `yes` was chosen. */
export function asks(question, yes) {
  return new Promise((answer) => {
    const dialog = h("dialog", { class: "card", "aria-label": question, on: { close: () => { dialog.remove(); answer(dialog.returnValue === "yes"); } } },
      h("form", { method: "dialog" }, h("p", {}, question), h("div", { class: "bar" },
        h("button", { class: "main", id: "answer-yes", value: "yes" }, yes),
        h("button", { id: "answer-no", value: "no" }, "Cancel"))));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Repeats a job while an element is in the document and the page is visible. */
export function whileShown(element, milliseconds, job) {
  let due = null;
  const turn = async () => {
    if (!element.isConnected) return;
    if (!document.hidden) {
      try { await job(); } catch { /* the next turn tries again */ }
    }
    due = setTimeout(turn, milliseconds);
  };
  queueMicrotask(turn);
  return () => clearTimeout(due);
}
