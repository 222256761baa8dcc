// The form of a new study: beside it, the first task as an annotator would see it and what the study takes.
(() => {
  "use strict";
  const form = document.getElementById("new-study");
  const panel = document.getElementById("sketch");
  if (!form || !panel) return;
  panel.hidden = false;
  const shown = document.getElementById("sketched");
  const status = document.getElementById("sketch-status");
  const words = panel.dataset;
  const csrf = document.querySelector('meta[name="csrf"]').content;
  const SMALL = 8 * 1024 * 1024; // what is larger is sent when somebody asks for it
  let turn = 0;
  let later = 0;

  const chosen = () => [...form.querySelectorAll("input[type=file][name]")].flatMap((input) => [...input.files]);
  const bytes = () => chosen().reduce((sum, file) => sum + file.size, 0);
  const isReady = () => Boolean(words.ledger || form.elements.parcel?.value || form.elements.items?.files.length || form.elements.queue?.files.length);
  const tooLarge = () => bytes() > Number(words.limit);

  async function draw() {
    const mine = ++turn;
    if (!isReady()) return;
    if (tooLarge()) { status.textContent = words.large; return; }
    status.textContent = words.drawing;
    try {
      const answer = await fetch("/organise/new/sketch", { method: "POST", body: new FormData(form), headers: { "X-CSRF-Token": csrf } });
      if (answer.redirected || !answer.ok) throw new Error(String(answer.status));
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
      if (mine !== turn) return;
      // A parser without scripts makes real fields of what stands in <noscript>.
      fresh.querySelectorAll("noscript").forEach((part) => part.remove());
      shown.replaceChildren(...fresh.childNodes);
      status.textContent = "";
    } catch {
      if (mine === turn) status.textContent = words.broken;
    }
  }
  form.addEventListener("change", () => {
    clearTimeout(later);
    later = setTimeout(() => { if (bytes() <= SMALL && !form.elements.parcel?.value) draw(); }, 400);
  });
  document.getElementById("sketch-again").addEventListener("click", draw);
  // What the server would refuse for its size is said here, and nothing that was typed is lost.
  form.addEventListener("submit", (event) => {
    if (!tooLarge()) return;
    event.preventDefault();
    status.textContent = words.large;
    panel.scrollIntoView({ block: "center" });
  });
})();
