// Loads the page again if its script did not arrive.

/** Time until the next attempt. */
const RETRY = 2000;

addEventListener("error", ({ target }) => {
  if (!(target instanceof HTMLScriptElement)) return;
  document.getElementById("page").textContent = "A part of the page did not arrive. The page loads again.";
  setTimeout(() => location.reload(), RETRY);
}, true);
