"use strict";
// Light, dark or as the device is: kept in this browser, and set before anything is drawn. That scripts run is set with
// it: what needs them is there from the start, so that nothing is moved about later.
(() => {
  document.documentElement.classList.add("scripted");
  const place = "fullbench:scheme";
  const kept = () => { try { return localStorage.getItem(place) || ""; } catch { return ""; } };
  const apply = (scheme) => {
    if (scheme) document.documentElement.dataset.scheme = scheme;
    else delete document.documentElement.dataset.scheme;
    for (const button of document.querySelectorAll(".schemes button")) button.setAttribute("aria-pressed", String(button.value === scheme));
  };
  apply(kept());
  document.addEventListener("DOMContentLoaded", () => {
    const group = document.querySelector(".schemes");
    if (!group) return;
    group.hidden = false;
    apply(kept());
    group.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      try { localStorage.setItem(place, button.value); } catch { /* a browser that keeps nothing forgets it with the page */ }
      apply(button.value);
    });
  });
})();
// Whether the words in which two answers differ are marked: a reader's choice for all pages, kept like the colours. The
// button's words follow from the page's class alone, so that a task that comes later needs nothing more.
(() => {
  const place = "fullbench:unmarked";
  const page = document.documentElement.classList;
  try { page.toggle("unmarked", localStorage.getItem(place) === "yes"); } catch { /* marked, then */ }
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.(".differing-switch button")) return;
    const unmarked = page.toggle("unmarked");
    try { localStorage.setItem(place, unmarked ? "yes" : ""); } catch { /* forgotten with the page */ }
  });
})();
