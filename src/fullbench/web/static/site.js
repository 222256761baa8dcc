"use strict";
// The list of verdicts of a static copy: data come as scripts, since a page opened from disk may fetch nothing.
const list = document.getElementById("list");
const SHAPES = { one: [0], several: [1, 2], choice: [1], ranking: [2] };
const FAULTS = ["none", "refused", "unreadable", "recused"];
const FLAGS = ["split", "swapped", "met", "opposed", "both", "again", "decided", "clear"];
const PAGE = 50;
const wanted = Object.fromEntries([...new URLSearchParams(location.search)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value));
const said = Object.fromEntries([...document.getElementById("words").content.querySelectorAll("li")].map((one) => [one.dataset.word, one.textContent]));
const waiting = new Map();
window.fullbench = { ...window.fullbench, chunk: (name, value) => waiting.get(name)(value) };

const load = (name) => new Promise((done, failed) => {
  waiting.set(name, done);
  const script = document.createElement("script");
  script.src = `data/${name}.js`;
  script.addEventListener("error", () => failed(new Error(name)));
  document.head.append(script);
});

// The cases before the list are for whoever has asked for nothing yet.
if (Object.keys(wanted).length) document.querySelector(".gallery")?.closest("section").remove();

// The form shows what the address asks for.
for (const field of document.querySelectorAll(".filters [name]")) {
  if (field.type === "checkbox") field.checked = wanted[field.name] === "1";
  else field.value = wanted[field.name] || "";
  if (wanted[field.name] && field.closest("details")) field.closest("details").open = true;
}

const { names, called, kinds, items, cases } = window.fullbench;
const number = (name, kind) => (wanted[name] === undefined ? undefined : names.findIndex((one, place) => one === wanted[name] && kinds[place] === kind));
const asked = {
  judge: number("judge", "judge"), beside: number("beside", "judge"), contestant: number("contestant", "contestant"), other: number("other", "contestant"),
  criterion: number("criterion", "criterion"), ballot: number("ballot", "ballot"),
};
const plain = (text) => text.normalize("NFKC").toLowerCase();
const parts = plain(wanted.q || "").split(/\s+/).filter(Boolean);
let texts = null;
// Where verdicts meet: item, ballot, criterion and the set of contestants; and where the judge `beside` ruled.
const meeting = ([, , , , item, ballot, criterion, , , shown]) => [item, ballot, criterion, ...shown.toSorted((a, b) => a - b)].join();
const beside = new Set();

const has = (row) => {
  const [, , judge, , item, ballot, criterion, fault, shape, shown, , flags] = row;
  if (asked.judge !== undefined && judge !== asked.judge) return false;
  if (asked.criterion !== undefined && criterion !== asked.criterion) return false;
  if (asked.ballot !== undefined && ballot !== asked.ballot) return false;
  for (const name of ["contestant", "other"]) if (asked[name] !== undefined && !shown.includes(asked[name])) return false;
  if (wanted.item && items[item][0] !== wanted.item) return false;
  if (wanted.tag) {
    const value = items[item][2][wanted.tag];
    if (value === undefined || (wanted.value && value !== wanted.value)) return false;
  }
  if (wanted.fault && (wanted.fault === "any" ? fault === 0 : FAULTS[fault] !== wanted.fault)) return false;
  if (wanted.shown && !(SHAPES[wanted.shown] || []).includes(shape)) return false;
  if (FLAGS.some((name, place) => wanted[name] === "1" && !(flags & (1 << place)))) return false;
  if (asked.beside !== undefined && !beside.has(meeting(row))) return false;
  if (parts.length) {
    const [question, answers] = texts[item] || ["", {}];
    const all = plain([items[item][0], question, ...shown.map((who) => answers[who] || "")].join("\n"));
    if (!parts.every((part) => all.includes(part))) return false;
  }
  return true;
};

const element = (tag, name, text) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};

// A name as pages show it; whoever points at it sees the full one.
const whose = (name, who) => {
  const made = element("span", name, called[who] ?? names[who]);
  if (called[who] !== undefined) made.title = names[who];
  return made;
};

// Who is ahead of whom, as the served list says it: best first, equals beside each other.
const placing = (shown, marks) => {
  const made = element("span", "placing");
  const levels = [...new Set(marks)].toSorted((a, b) => b - a);
  levels.forEach((level, rank) => {
    const group = shown.filter((_, index) => marks[index] === level);
    if (rank) made.append(" ", element("span", "over", ">"), " ");
    group.forEach((who, index) => {
      if (index) made.append(" = ");
      made.append(whose(group.length === 1 && !rank && levels.length > 1 ? "whose won" : "whose", who));
    });
  });
  if (levels.length === 1) made.append(" ", element("span", "muted", said.tie));
  return made;
};

const line = (row) => {
  const [, place, judge, trial, item, ballot, criterion, fault, , shown, marks, flags] = row;
  const made = element("li");
  const link = element("a", "case-link");
  link.href = cases[place] ? `cases/${encodeURIComponent(cases[place])}.html` : "about.html";
  link.append(element("span", "item-name", items[item][0]), ` ${items[item][1] || said.unasked}`);
  const ruling = element("div", "ruling");
  ruling.append(whose("judge-name", judge));
  if (marks && shown.length > 1 && /^(choice|ranking)/.test(names[ballot])) ruling.append(placing(shown, marks));
  else shown.forEach((who, index) => {
    const one = element("span", "shown");
    one.append(whose("whose", who));
    if (marks) one.append(element("b", "", ` ${Number(marks[index].toPrecision(4))}`));
    ruling.append(one);
  });
  if (fault) ruling.append(element("span", "badge warn", said[FAULTS[fault]]));
  if (flags & 1) ruling.append(element("span", "badge", said.split));
  if (flags & 2) ruling.append(element("span", "badge", said.swapped));
  if (flags & 8) ruling.append(element("span", "badge", said.opposed));
  if (names[criterion] !== "overall") ruling.append(element("span", "muted", names[criterion]));
  if (trial) ruling.append(element("span", "muted", `#${trial}`));
  const what = element("div", "what");
  what.append(link, ruling);
  const thumb = items[item][3];
  if (thumb && cases[place]) {
    const frame = element("a", "thumb");
    frame.href = link.href;
    frame.tabIndex = -1;
    frame.ariaHidden = "true";
    frame.append(Object.assign(document.createElement("img"), { src: thumb, alt: "", loading: "lazy" }));
    made.append(frame);
  }
  made.append(what);
  return made;
};

const run = async () => {
  if (parts.length) texts = Object.assign({}, ...(await Promise.all(window.fullbench.texts.map(load))));
  const found = [];
  const impossible = Object.values(asked).includes(-1);
  const rows = [];
  for (let place = 0; place < Number(list.dataset.chunks) && !impossible; place += 1) rows.push(...(await load(`verdicts-${place}`)));
  for (const row of rows) if (row[2] === asked.beside && row[7] === 0) beside.add(meeting(row));
  for (const row of rows) if (has(row)) found.push(row);
  document.getElementById("count").textContent = found.length.toLocaleString("en");
  let shown = 0;
  const more = document.getElementById("more");
  const show = () => {
    list.append(...found.slice(shown, shown + PAGE).map(line));
    shown += PAGE;
    more.hidden = shown >= found.length;
  };
  if (!found.length) list.append(element("li", "muted", said.nothing));
  more.addEventListener("click", show);
  show();
};
run();
