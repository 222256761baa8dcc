// An organiser's page of a campaign: its figures are loaded again when something changed, at most every two seconds.
(() => {
  "use strict";
  const board = document.getElementById("board");
  if (!board) return;
  let due = false;
  async function load() {
    due = false;
    if (board.contains(document.activeElement)) { later(); return; }
    try {
      const answer = await fetch(board.dataset.from);
      if (answer.status >= 500) { later(); return; } // busy: the change is still to be shown
      if (!answer.ok || answer.redirected) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
      board.replaceChildren(...fresh.childNodes);
    } catch {
      later();
    }
  }
  function later() {
    if (due) return;
    due = true;
    setTimeout(load, 2000);
  }
  const news = new EventSource("/events?" + new URLSearchParams({ topic: board.dataset.topic }));
  news.onmessage = later;
  window.addEventListener("pagehide", () => news.close());
})();
