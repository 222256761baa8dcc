// Votes that wait in this browser until the server has them. They are sent from any page of the person who cast them,
// each under a key of its own, so that two tabs neither overwrite nor lose one: the server takes a key once.
(() => {
  "use strict";
  const person = document.querySelector('meta[name="person"]')?.content;
  if (!person) return;
  const own = `fullbench.${person}.`;
  const WAITING = own + "vote.";
  const REFUSED = own + "refused.";
  const memory = new Map(); // where the browser's store is full or forbidden
  let csrf = document.querySelector('meta[name="csrf"]').content;
  let sending = null;

  const tell = (name, detail = {}) => document.dispatchEvent(new CustomEvent(`votes:${name}`, { detail }));
  const stored = () => {
    try { return Object.keys(localStorage); } catch { return []; }
  };
  const read = (name) => {
    try { return JSON.parse(memory.get(name) ?? localStorage.getItem(name)); } catch { return null; }
  };
  function write(name, value) {
    try { localStorage.setItem(name, JSON.stringify(value)); } catch { memory.set(name, JSON.stringify(value)); }
  }
  function remove(name) {
    memory.delete(name);
    try { localStorage.removeItem(name); } catch { /* it was never there */ }
  }
  const listed = (prefix) => [...new Set([...stored(), ...memory.keys()])]
    .filter((name) => name.startsWith(prefix))
    .map((name) => ({ name, ...read(name) }))
    .filter((vote) => vote.fields)
    .sort((one, two) => one.at - two.at);
  const waiting = () => listed(WAITING);
  const refused = () => listed(REFUSED);

  function add(url, fields) {
    write(WAITING + fields.key, { url, fields, at: Date.now() });
  }

  function send() {
    sending ??= deliver().finally(() => { sending = null; });
    return sending;
  }

  async function deliver() {
    let renewed = false;
    for (let votes = waiting(); votes.length; votes = waiting()) {
      const vote = votes[0];
      let answer;
      try {
        answer = await fetch(vote.url, {
          method: "POST", body: new URLSearchParams(vote.fields), headers: { "X-CSRF-Token": csrf, "X-Work": "1" },
        });
      } catch {
        tell("waiting", { count: votes.length });
        return;
      }
      if (answer.redirected && new URL(answer.url).pathname === "/login") { tell("signin", { count: votes.length }); return; }
      if (answer.status === 403 && !renewed) {
        // The token of a page is bound to its session: after a new sign-in this page needs the new one.
        const who = await renew();
        if (who === null) { tell("waiting", { count: votes.length }); return; }
        if (who !== person) { tell("signin", { count: votes.length }); return; }
        renewed = true;
        continue;
      }
      if (answer.status >= 500 || answer.status === 429) { tell("waiting", { count: votes.length }); return; }
      if (answer.ok) {
        remove(vote.name);
        const { revision = 1 } = await answer.json().catch(() => ({}));
        tell("saved", { count: waiting().length, changed: revision > 1, vote });
        continue;
      }
      // What the server does not take stays here, with the reason, until its owner sends it again or lets it go.
      const why = (await answer.json().catch(() => ({}))).detail || String(answer.status);
      write(REFUSED + vote.fields.key, { url: vote.url, fields: vote.fields, at: vote.at, why });
      remove(vote.name);
      tell("refused", { why, vote });
    }
  }

  // Who is signed in now, "" for nobody, null where the server does not answer; and the token of their session.
  async function renew() {
    try {
      const page = new DOMParser().parseFromString(await (await fetch("/account")).text(), "text/html");
      csrf = page.querySelector('meta[name="csrf"]')?.content ?? csrf;
      return page.querySelector('meta[name="person"]')?.content ?? "";
    } catch {
      return null;
    }
  }

  function again() {
    for (const vote of refused()) {
      write(WAITING + vote.fields.key, { url: vote.url, fields: vote.fields, at: vote.at });
      remove(vote.name);
    }
    return send();
  }

  window.fullbenchVotes = { add, send, waiting, refused, again, forget: () => refused().forEach((vote) => remove(vote.name)), read, write, remove };

  // On every page: how many wait, and which were not taken.
  const note = document.getElementById("unsent");
  function show(words, count) {
    if (!note) return;
    note.hidden = !words;
    note.querySelector(".words").textContent = words ? words.replace("{count}", count) : "";
    const lost = refused();
    note.querySelector(".refused").hidden = !lost.length;
    note.querySelector(".why").textContent = [...new Set(lost.map((vote) => vote.why))].join(" ");
    if (lost.length) note.hidden = false;
  }
  // The annotation page says itself that votes wait, beside the progress.
  const now = () => show(waiting().length && !document.getElementById("work") ? note?.dataset.waiting : "", waiting().length);
  document.addEventListener("votes:waiting", now);
  document.addEventListener("votes:signin", () => show(note?.dataset.signin, waiting().length));
  document.addEventListener("votes:saved", (event) => {
    if (event.detail.count) now();
    else show(document.getElementById("work") ? "" : note?.dataset.sent, 0);
  });
  document.addEventListener("votes:refused", now);
  note?.querySelector("[data-again]").addEventListener("click", again);
  note?.querySelector("[data-forget]").addEventListener("click", () => { window.fullbenchVotes.forget(); now(); });
  window.addEventListener("online", send);
  setInterval(() => { if (waiting().length) send(); }, 5000);
  now();
  if (waiting().length) send();
})();
