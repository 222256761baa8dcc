// The form of a new campaign: beside it, the first task as an annotator would see it and what the campaign takes.
(() => {
  "use strict";
  const form = document.getElementById("new-study");
  const panel = document.getElementById("sketch");
  if (!form || !panel) return;
  panel.hidden = false;
  const shown = document.getElementById("sketched");
  const status = document.getElementById("sketch-status");
  const words = panel.dataset;
  let csrf = document.querySelector('meta[name="csrf"]').content;
  const SMALL = 8 * 1024 * 1024; // what is larger is sent when somebody asks for it
  let turn = 0;
  let later = 0;

  const chosen = () => [...form.querySelectorAll("input[type=file][name]")].flatMap((input) => [...input.files]);
  const bytes = () => chosen().reduce((sum, file) => sum + file.size, 0);
  const isReady = () => Boolean(words.ledger || form.elements.upload?.value || form.elements.items?.files.length || form.elements.queue?.files.length);
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
  // While somebody types, too: a field that keeps the focus tells nobody that it changed.
  for (const kind of ["input", "change"]) {
    form.addEventListener(kind, () => {
      clearTimeout(later);
      later = setTimeout(() => { if (bytes() <= SMALL && !form.elements.upload?.value) draw(); }, 400);
    });
  }
  document.getElementById("sketch-again").addEventListener("click", draw);
  // A zip file or a folder that is there is small enough to be looked at, whatever its pictures weigh.
  form.addEventListener("upload:ready", draw);

  // The form is sent from here, so that a mistake loses nothing: a page that is loaded again has no files chosen.
  const refused = document.getElementById("refused");
  const buttons = [...form.querySelectorAll(".actions button")];
  function refuse(...parts) {
    refused.replaceChildren(...parts);
    refused.scrollIntoView({ block: "center" });
  }
  function problem(text) {
    const line = document.createElement("p");
    line.className = "problem";
    line.textContent = text;
    return line;
  }
  const post = (body) => fetch(form.action, { method: "POST", body, headers: { "X-CSRF-Token": csrf, "X-Form": "1" } });
  // Who signed in again in another tab has another token; false where nobody is signed in.
  async function renewed() {
    const answer = await fetch(location.href);
    if (answer.redirected || !answer.ok) return false;
    csrf = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector('meta[name="csrf"]').content;
    return true;
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (tooLarge()) { refuse(problem(words.large)); return; }
    const body = new FormData(form, event.submitter);
    buttons.forEach((button) => { button.disabled = true; });
    try {
      let answer = await post(body);
      if (answer.status === 403 && await renewed()) answer = await post(body);
      if (answer.status === 201) { location.assign(answer.headers.get("location")); return; }
      if (answer.redirected || answer.status === 403) refuse(problem(refused.dataset.signin));
      else refuse(...new DOMParser().parseFromString(await answer.text(), "text/html").querySelectorAll(".problem, main p"));
    } catch {
      refuse(problem(refused.dataset.unsent));
    }
    buttons.forEach((button) => { button.disabled = false; });
  });
})();
