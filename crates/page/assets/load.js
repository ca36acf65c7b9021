// Loads the page again if one of its scripts did not arrive: a module that is missing keeps all others from running.

/** Time until the next attempt. */
const RETRY = 2000;

addEventListener("error", ({ target }) => {
  if (!(target instanceof HTMLScriptElement)) return;
  document.getElementById("page").textContent = "A part of the page did not arrive. The page loads again.";
  setTimeout(() => location.reload(), RETRY);
}, true);
