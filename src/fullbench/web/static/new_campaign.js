// The form of a new campaign: one step at a time, next to it what the campaign takes, and at the end the first task.
(() => {
  "use strict";
  const form = document.getElementById("new-study");
  const panel = document.getElementById("sketch");
  if (!form || !panel) return;
  panel.hidden = false;
  const shown = document.getElementById("sketched");
  const totals = document.getElementById("totals");
  const status = document.getElementById("sketch-status");
  const words = panel.dataset;
  let csrf = document.querySelector('meta[name="csrf"]').content;
  const SMALL = 8 * 1024 * 1024; // what is larger is sent when somebody asks for it
  let turn = 0;
  let later = 0;

  const chosen = () => [...form.querySelectorAll("input[type=file][name]")].flatMap((input) => [...input.files]);
  const bytes = () => chosen().reduce((sum, file) => sum + file.size, 0);
  const source = () => form.querySelector("[name=source]:checked")?.value;
  const isReady = () => Boolean((words.ledger && (source() ?? "ledger") === "ledger") || form.elements.upload?.value || form.elements.items?.files.length || form.elements.queue?.files.length);
  const tooLarge = () => bytes() > Number(words.limit);

  const [noTotals, noTask] = [totals, shown].map((part) => [...part.childNodes]);
  async function draw() {
    const mine = ++turn;
    if (!isReady()) { totals.replaceChildren(...noTotals); shown.replaceChildren(...noTask); return; }
    if (tooLarge()) { status.textContent = words.large; return; }
    status.textContent = words.drawing;
    try {
      const answer = await fetch("/organise/new/sketch", { method: "POST", body: new FormData(form), headers: { "X-CSRF-Token": csrf } });
      if (answer.redirected || !answer.ok) throw new Error(String(answer.status));
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
      if (mine !== turn) return;
      // A parser without scripts makes real fields of what stands in <noscript>.
      fresh.querySelectorAll("noscript").forEach((part) => part.remove());
      // The totals stay next to every step; the task is part of the last one. What is wrong replaces both.
      const sums = fresh.querySelectorAll(":scope > .forecast, :scope > .hint, :scope > .problem");
      totals.replaceChildren(...sums);
      if (fresh.children.length) shown.replaceChildren(...fresh.childNodes);
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
  const buttons = [...form.querySelectorAll("button.creates")];
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

  // One step at a time, by its address: the browser's own way back works, and without this script all steps are there.
  const steps = [...form.querySelectorAll(".step-part")];
  const links = [...document.querySelectorAll(".steps a")];
  const placeOf = (part) => steps.indexOf(part.closest(".step-part"));
  const current = () => steps.findIndex((step) => step.classList.contains("now"));
  function show(place) {
    steps.forEach((step, at) => step.classList.toggle("now", at === place));
    links.forEach((link, at) => {
      if (at === place) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
      link.classList.toggle("done", at < place);
    });
    if (place === steps.length - 1) list();
  }
  function follow() {
    const place = steps.findIndex((step) => "#" + step.id === location.hash);
    show(Math.max(place, 0));
    if (place >= 0) { steps[place].focus({ preventScroll: true }); scrollTo(0, 0); }
  }
  const isComplete = (place) => [...steps[place].querySelectorAll("input, select, textarea")].every((field) => field.reportValidity());
  form.addEventListener("click", (event) => {
    if (event.target.closest("a.next") && !isComplete(current())) event.preventDefault();
  });
  // Enter in a field leads to the next step; without this it would create the campaign.
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.tagName !== "INPUT" || event.target.type === "file") return;
    event.preventDefault();
    if (current() < steps.length - 1 && isComplete(current())) location.hash = steps[current() + 1].id;
  });
  // A field that cannot be sent as it is: its step is shown, so that the browser can point at it.
  form.addEventListener("invalid", (event) => {
    if (placeOf(event.target) !== current()) history.replaceState(null, "", "#" + event.target.closest(".step-part").id);
    show(placeOf(event.target));
  }, true);
  addEventListener("hashchange", follow);

  // What was chosen, each with a link to its step; what is as usual is not repeated.
  const chosenList = document.getElementById("chosen");
  function valueOf(field) {
    if (field.type === "file") return [...field.files].map((file) => file.name).slice(0, 3).join(", ") + (field.files.length > 3 ? " + " + (field.files.length - 3) : "");
    if (field.type === "checkbox" || field.type === "radio") return field.checked ? "✓" : "";
    if (field.tagName === "SELECT") return field.selectedIndex > 0 || field.id === "settled_by" ? field.selectedOptions[0].textContent : "";
    return field.value.trim();
  }
  function list() {
    const rows = [];
    for (const field of form.querySelectorAll("input:not([type=hidden]), select, textarea")) {
      const isFolder = field.closest("details:not([open])");
      const value = valueOf(field);
      const isUsual = field.defaultValue === field.value && !["radio", "checkbox", "file"].includes(field.type);
      if (!value || !field.labels?.length || (isFolder && isUsual)) continue;
      const row = document.createElement("div");
      const [term, said, link] = ["dt", "dd", "a"].map((name) => document.createElement(name));
      const legend = field.type === "radio" ? field.closest("fieldset")?.querySelector("legend") : null;
      term.textContent = (legend ?? field.labels[0]).textContent.trim();
      said.textContent = (legend ? field.labels[0].textContent.trim() : value) + " ";
      link.href = "#" + field.closest(".step-part").id;
      link.textContent = chosenList.dataset.change;
      link.setAttribute("aria-label", chosenList.dataset.change + ": " + term.textContent);
      said.append(link);
      row.append(term, said);
      rows.push(row);
    }
    chosenList.replaceChildren(...rows);
    chosenList.hidden = false;
  }
  // Files that are chosen choose their source; another source lets them go, so that what is shown is what is sent.
  document.getElementById("upload-choice")?.removeAttribute("hidden");
  form.addEventListener("change", (event) => {
    const part = event.target.closest(".source-part");
    const radio = part && event.target.type === "file" && event.target.files.length
      ? form.querySelector(`[name=source][value=${part.classList.contains("of-files") ? "files" : "upload"}]`) : null;
    if (radio) radio.checked = true;
  }, true);
  follow();
  if (isReady()) draw();
})();
