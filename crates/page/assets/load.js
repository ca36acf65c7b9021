// Loads the page again if one of its files did not arrive: browsers cancel requests when the network changes.

/** Time until the next attempt. */
const RETRY = 2000;

addEventListener("error", ({ target }) => {
  if (!(target instanceof HTMLScriptElement || target.rel === "stylesheet")) return;
  const page = document.getElementById("page");
  if (page) page.textContent = "A part of the page did not arrive. The page loads again.";
  setTimeout(() => location.reload(), RETRY);
}, true);
