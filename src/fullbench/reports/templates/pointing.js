"use strict";
// What is pointed at, for pages of the web app and for reports: cells and marks of charts say their values, and a mark
// and the row of the same figures light together.

// Cells say their interval when one points at them, comes to them by keyboard or taps them.
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("role", "status");
document.body.append(tip);
const point = (event) => {
  const cell = event.target.closest?.("[data-tip]");
  tip.hidden = !cell;
  if (!cell) return;
  const whole = document.fullscreenElement;
  (whole ?? document.body).append(tip);
  tip.textContent = cell.dataset.tip;
  const place = cell.getBoundingClientRect();
  const left = Math.min(Math.max(4, place.left), document.documentElement.clientWidth - tip.offsetWidth - 4);
  tip.style.left = `${left + (whole ? 0 : scrollX)}px`;
  tip.style.top = `${place.top + (whole ? 0 : scrollY) - tip.offsetHeight - 4}px`;
};
for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, point);
// Where there is no pointing, the first tap on a cell says its interval and the second follows it.
let touch = false;
let tapped = null;
document.addEventListener("pointerdown", (event) => { touch = event.pointerType === "touch"; }, true);
document.addEventListener("click", (event) => {
  const cell = event.target.closest?.("[data-tip]");
  if (touch && cell && cell !== tapped) { event.preventDefault(); point(event); }
  tapped = cell;
}, true);
document.addEventListener("focusout", () => { tip.hidden = true; });

// The marks of a chart say what their figures are. One of those that lead somewhere is reached by Tab, the others from
// there by arrows; several marks of one figure are one. Whether any leads somewhere is answered.
const speaking = (drawn) => {
  const axes = '[class*="role-axis"], [class*="role-legend"], [class*="role-title"]';
  for (const mark of drawn.querySelectorAll('[role="graphics-symbol"][aria-label]')) {
    if (!mark.matches(axes)) mark.setAttribute("data-tip", mark.getAttribute("aria-label"));
  }
  const links = [...drawn.querySelectorAll("a")];
  if (!links.length) return false;
  const said = new Map(links.map((link) => [link.querySelector("[data-tip]")?.getAttribute("data-tip") ?? "", link]));
  for (const link of links) link.setAttribute("tabindex", "-1");
  for (const link of links) if (![...said.values()].includes(link)) link.setAttribute("aria-hidden", "true");
  for (const [words, link] of said) link.setAttribute("aria-label", words);
  said.values().next().value.setAttribute("tabindex", "0");
  return true;
};
const arrows = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
document.addEventListener("keydown", (event) => {
  const link = event.target.closest?.(".values a");
  if (!link || !arrows[event.key]) return;
  event.preventDefault();
  const all = [...link.closest("svg").querySelectorAll("a[aria-label]:not([aria-hidden])")];
  const next = all[(all.indexOf(link) + arrows[event.key] + all.length) % all.length];
  link.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
});

// A mark and a row of the same figures lead to the same place; in a report the mark leads to the row itself.
let pointed = null;
const leadsOf = (row) => [...row.querySelectorAll("a[href]")].map((link) => link.getAttribute("href")).concat(row.id ? [`#${row.id}`] : []);
const light = (part) => {
  for (const one of document.querySelectorAll(".lit")) one.classList.remove("lit");
  if (!part) return;
  const section = part.closest("section");
  const leads = new Set(part.matches("tr") ? leadsOf(part) : [part.getAttribute("href")]);
  for (const mark of section.querySelectorAll(".values a")) mark.classList.toggle("lit", leads.has(mark.getAttribute("href")));
  if (part.matches("tr")) return;
  for (const row of section.querySelectorAll("tbody tr")) row.classList.toggle("lit", leadsOf(row).some((lead) => leads.has(lead)));
};
// What is scrolled below a pointer that rests, as when keys reach a mark, is not pointed at.
let rests = "";
const pair = (event) => {
  if (event.type === "pointerover") {
    const place = `${event.clientX} ${event.clientY}`;
    if (place === rests && document.activeElement?.matches(".values a")) return;
    rests = place;
  }
  const part = event.target.closest?.(".values a, section tbody tr") ?? null;
  if (part === pointed) return;
  pointed = part;
  light(part);
};
for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, pair);
