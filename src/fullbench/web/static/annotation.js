// The annotation page at which people vote: keys, zoom, drafts, loading ahead, and votes that wait for the connection.
// Everything also works without this script, one page a vote.
(() => {
  "use strict";
  const root = document.getElementById("work");
  if (!root) return;
  const words = root.dataset;
  const base = words.base;
  const place = document.getElementById("task");
  const status = document.getElementById("status");
  const votes = window.fullbenchVotes;
  const mine = "fullbench." + words.person + ".";
  const { read, write } = votes;
  const queue = votes.waiting;
  const send = votes.send;
  const csrf = document.querySelector('meta[name="csrf"]').content;
  let ahead = [];
  let loading = null;
  let waiting = false;
  let began = Date.now();

  const say = (text) => { if (status) status.textContent = text; };
  const task = () => place && place.querySelector(".task");
  const form = () => place && place.querySelector("form.vote");
  const fieldsOf = (one, button) => {
    const fields = Object.fromEntries([...new FormData(one)].filter(([, value]) => typeof value === "string"));
    if (button && button.name) fields[button.name] = button.value;
    return fields;
  };
  const body = (fields) => new URLSearchParams(fields);
  const post = (path, fields) => fetch(base + path, {
    method: "POST", body: body(fields), headers: { "X-CSRF-Token": csrf, "X-Work": "1" },
  });
  const signedOut = (answer) => answer.redirected && new URL(answer.url).pathname === "/login";

  // Votes: first into this browser's store (unsent_votes.js), then on to the server, in order, each until it is acknowledged.

  document.addEventListener("votes:saved", ({ detail }) => {
    say(detail.changed ? words.changed : task()?.dataset.quick ? words.undo : words.saved);
    // A vote that is changed on a page of its own is followed by another page, which says so.
    if (detail.changed && words.change) write(mine + "changed", true);
    // A second tab had voted on this task before: this one counted it as new.
    else if (detail.changed && detail.vote.fields.replaces === "0") count(-1);
  });
  // What a single key or tap has just sent is shown in the head of the page for a while, with a link back to it.
  const toast = document.getElementById("toast");
  let gone = 0;
  function offerUndo(chosen, lease) {
    toast.querySelector("b").textContent = chosen;
    toast.querySelector("a").href = base + "/votes/" + lease;
    toast.hidden = false;
    clearTimeout(gone);
    gone = setTimeout(() => { toast.hidden = true; }, 8000);
  }
  document.addEventListener("votes:waiting", (event) => say(words.waiting.replace("{count}", event.detail.count)));
  document.addEventListener("votes:signin", () => say(words.signin));
  document.addEventListener("votes:refused", (event) => {
    say(words.refused + " " + event.detail.why);
    if (event.detail.vote.fields.replaces === "0") count(-1);
  });
  // How far this person is, and how fast: counted here between two pages of the server's.
  const given = [];
  function count(more) {
    const done = document.getElementById("done");
    if (!done) return;
    done.textContent = String(Number(done.textContent) + more);
    const far = document.getElementById("far");
    far.value = Number(done.textContent);
    if (far.value > far.max) far.max = far.value;
    given.push(Date.now());
    if (given.length < 4 || given.at(-1) === given[0]) return;
    const hourly = Math.round((given.length - 1) / (given.at(-1) - given[0]) * 3600000);
    document.getElementById("hourly").textContent = words.pace.replace("{count}", hourly);
    const minutes = Math.ceil((far.max - far.value) * 60 / hourly);
    document.getElementById("rest").textContent = words.rest.replace("{minutes}", minutes);
  }

  // Loading ahead: the next tasks and their pictures.

  // One request at a time; whoever asks meanwhile waits for that one.
  function load() {
    loading ??= fetchNext().then((came) => {
      loading = null;
      if (came && waiting) go();
      else if (came && ahead.length < 2) load();
    });
    return loading;
  }

  async function fetchNext() {
    if (!place || words.change || words.preview || ahead.length >= 2) return false;
    try {
      const holding = [task(), ...ahead].filter(Boolean).map((one) => one.dataset.lease);
      holding.push(...queue().map((vote) => vote.fields.lease));
      const answer = await fetch(base + "/next?" + new URLSearchParams(holding.map((lease) => ["holding", lease])));
      if (!answer.ok || answer.status === 204 || signedOut(answer)) return false;
      const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".task");
      // A parser without scripts makes real, required fields of what stands in <noscript>.
      next?.querySelectorAll("noscript").forEach((part) => part.remove());
      if (!next || holding.includes(next.dataset.lease)) return false;
      next.dataset.pictures.split(" ").filter(Boolean).forEach((address) => { new Image().src = address; });
      ahead.push(next);
      return true;
    } catch {
      return false;
    }
  }

  async function go() {
    const next = ahead.shift();
    if (next) {
      waiting = false;
      place.replaceChildren(document.adoptNode(next));
      start();
      load();
      return;
    }
    waiting = true;
    await send();
    if (waiting) await load(); // somebody who is faster than the next task waits for that, not for a whole page
    if (!waiting) return; // the next task came meanwhile and is in view: loading the page again would take it away
    if (queue().length) { place.replaceChildren(); return; } // why they wait was said when they were sent
    try {
      const answer = await fetch(base, { headers: { "X-Work": "1" } });
      if (!waiting) return;
      if (!answer.ok) { say(words.offline); return; }
      // The new page repeats what the old one had no time to show.
      if (status.textContent === words.changed) write(mine + "changed", true);
      location.assign(base);
    } catch {
      if (!waiting) return;
      place.replaceChildren();
      say(words.offline);
    }
  }

  async function vote(button) {
    const one = form();
    if (!one || one.dataset.sent) return;
    if (!(button && button.formNoValidate) && !one.reportValidity()) return;
    if (!(button && button.formNoValidate) && untouched(one)) return;
    one.dataset.sent = "yes";
    if (words.preview) { location.assign(words.preview); return; }
    const fields = fieldsOf(one, button);
    fields.seconds = String((Date.now() - began) / 1000);
    votes.add(one.action, fields);
    votes.remove(mine + "draft." + fields.lease);
    if (fields.replaces === "0") count(1);
    const chosen = task().dataset.quick && one.querySelector("input[name=best]:checked + .point");
    if (chosen && !fields.abstained) offerUndo(chosen.firstChild.textContent.trim(), fields.lease);
    if (words.change) {
      await send();
      if (!queue().length) location.assign(base);
      return;
    }
    go();
    send();
  }

  // Drafts: at once in this browser, soon after on the server.

  let later = 0;
  function draft() {
    const one = form();
    if (!one || words.preview) return;
    const fields = fieldsOf(one);
    const lease = fields.lease;
    for (const name of ["csrf", "lease", "key", "replaces", "started"]) delete fields[name];
    write(mine + "draft." + lease, fields);
    clearTimeout(later);
    later = setTimeout(() => post("/draft", { ...fields, lease }).catch(() => {}), 800);
  }

  function fill(one, fields) {
    for (const [name, value] of Object.entries(fields)) {
      for (const input of one.querySelectorAll(`[name="${CSS.escape(name)}"]`)) {
        if (input.type === "radio") input.checked = input.value === value;
        else if (input.type !== "submit" && input.tagName !== "BUTTON") input.value = value;
      }
    }
  }

  // One task in view.

  function start() {
    began = Date.now();
    const one = form();
    if (!one) return;
    const kept = read(mine + "draft." + one.elements.lease.value);
    if (kept) fill(one, kept);
    ranking.start(one, draft);
    conditional(one);
    activate(0);
    task().classList.toggle("numbered", task().querySelectorAll("a.zoom").length > 1);
    const heading = task().querySelector(".asked");
    heading.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }

  function conditional(one) {
    for (const part of one.querySelectorAll("[data-when]")) {
      const [name, value] = part.dataset.when.split("=");
      const on = one.elements[name] && one.elements[name].value === value;
      part.hidden = !on;
      for (const input of part.querySelectorAll("select, input")) {
        input.disabled = !on;
        input.required = on && input.type === "radio";
      }
    }
  }

  // Ranking is ranking.js. An order that nobody touched is sent by a second Enter.
  const ranking = window.fullbenchRanking;
  function untouched(one) {
    if (!ranking.isUntouched(one)) return false;
    say(words.confirm);
    return true;
  }

  // Rating pictures: one of them is active, digits mark it and go on.

  let active = 0;
  const rated = () => [...root.querySelectorAll("[data-rate]")];
  function activate(at) {
    const all = rated();
    if (!all.length) return;
    active = Math.max(0, Math.min(all.length - 1, at));
    all.forEach((one, index) => one.classList.toggle("active", index === active));
    all[active].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // Zoom: picture_zoom.js opens the pictures, by click and by key.

  const { box, byKey: zoomByKey } = window.fullbenchZoom ?? {};

  // Keys.

  function key(event) {
    const typing = event.target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");
    if (event.key === "Enter" && (!typing || event.ctrlKey || event.metaKey) && !event.target.closest("a, button, summary")) {
      event.preventDefault();
      vote();
      return;
    }
    if (event.key === "Escape" && typing) { event.target.blur(); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (box && zoomByKey(event)) return;
    if (box && box.open) return;
    if (event.key === "g") { beside(); return; }
    if (event.key === "?") { 
      const keys = document.getElementById("keys");
      keys.open = !keys.open;
      if (keys.open) { beside(true); keys.scrollIntoView({ block: "nearest" }); }
      return;
    }
    const one = form();
    if (!one) return;
    if (event.key === "r" && one.elements.reason) { event.preventDefault(); one.elements.reason.focus(); return; }
    if (rated().length) {
      if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
        event.preventDefault();
        activate(active + (event.key === "ArrowRight" ? 1 : -1));
        return;
      }
      const mark = rated()[active].querySelector(`input[data-mark="${CSS.escape(event.key)}"]`);
      if (mark) { choose(mark); activate(active + 1); return; }
    }
    if (/^[1-9]$/.test(event.key) && ranking.pick(one, event.key)) return;
    const pressed = CSS.escape(event.key);
    const found = one.querySelector(`[data-key="${pressed}"]:not(:disabled), [data-arrow="${pressed}"]:not(:disabled)`);
    if (!found) return;
    event.preventDefault();
    if (found.type === "radio") choose(found);
    else found.click();
  }
  function choose(input) {
    input.checked = true;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }

  // The guidelines beside the task can be put away; the choice holds for the next page.
  function beside(on) {
    const part = document.getElementById("beside");
    part.hidden = on === undefined ? !part.hidden : !on;
    document.getElementById("beside-toggle").setAttribute("aria-expanded", String(!part.hidden));
    write(mine + "beside", part.hidden ? "away" : "shown");
  }
  const toggle = document.getElementById("beside-toggle");
  if (toggle) {
    if (read(mine + "beside") === "away") beside(false);
    toggle.addEventListener("click", () => beside());
  }

  document.addEventListener("keydown", key);
  root.addEventListener("input", () => { const one = form(); if (one) conditional(one); draft(); });
  // Where a campaign wants no confirmation, the choice itself is the vote: one key, one click, one tap.
  root.addEventListener("change", (event) => {
    if (event.target.type === "radio" && task()?.dataset.quick) vote();
  });
  root.addEventListener("click", async (event) => {
    const back = event.target.closest("a.back");
    if (back) {
      event.preventDefault();
      await send();
      if (queue().length) say(words.waiting.replace("{count}", queue().length));
      else location.assign(back.href);
    }
  });
  root.addEventListener("submit", (event) => { event.preventDefault(); vote(event.submitter); });
  async function resume() {
    await send();
    if (waiting && !queue().length) await go();
    else load();
  }
  window.addEventListener("online", resume);
  setInterval(() => { if (waiting) resume(); }, 5000);
  // A page that the back button brings out of the browser's memory shows a task that is done.
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

  start();
  if (read(mine + "changed")) { votes.remove(mine + "changed"); say(words.changed); }
  resume();
})();
