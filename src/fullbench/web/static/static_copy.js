"use strict";
// The list of cases of a static copy: data come as scripts, since a page opened from disk may fetch nothing.
const list = document.getElementById("list");
const SHAPES = { one: [0], several: [1, 2], choice: [1], ranking: [2] };
const FAULTS = ["none", "refused", "unreadable", "abstained"];
const FLAGS = ["split", "swapped", "met", "opposed", "both", "again", "decided", "clear"];
const PAGE = 30;
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

// What the list can be narrowed to from here, and its orders. Counts are those of the whole list.
const { order = "newest", ...filters } = wanted;
const address = (some) => `verdicts.html${Object.keys(some).length ? `?${new URLSearchParams(some)}` : ""}`;
const unfiltered = Object.keys(filters).length === 0 && Boolean(list.dataset.all);
const offered = new Set();
for (const link of document.querySelectorAll(".facets a")) {
  const [[name, value]] = [...new URL(link.href).searchParams].filter(([each]) => each !== "study");
  const { [name]: had, ...rest } = wanted;
  link.href = address(had === value ? rest : { ...rest, [name]: value });
  link.removeAttribute("aria-current");
  if (had === value) {
    link.setAttribute("aria-current", "true");
    offered.add(name);
  }
  if (!unfiltered) link.querySelector(".tally")?.remove();
}
for (const link of document.querySelectorAll("[data-order]")) {
  link.href = address({ ...filters, ...(link.dataset.order === "newest" ? {} : { order: link.dataset.order }) });
  link.removeAttribute("aria-current");
  if (link.dataset.order === order) link.setAttribute("aria-current", "true");
}

// The form shows what the address asks for.
for (const field of document.querySelectorAll(".filters [name]")) {
  if (field.type === "checkbox") field.checked = wanted[field.name] === "1";
  else field.value = wanted[field.name] || "";
  if (wanted[field.name] && field.closest("details") && !offered.has(field.name)) field.closest("details").open = true;
}
if (order !== "newest") document.querySelector(".filters").append(Object.assign(document.createElement("input"), { type: "hidden", name: "order", value: order }));

const { names, called, kinds, items } = window.fullbench;
const cases = new Map();
const number = (name, kind) => (wanted[name] === undefined ? undefined : names.findIndex((one, place) => one === wanted[name] && kinds[place] === kind));
const asked = {
  judge: number("judge", "judge"), beside: number("beside", "judge"), contestant: number("contestant", "contestant"), other: number("other", "contestant"),
  criterion: number("criterion", "criterion"), ballot: number("ballot", "ballot"),
};
const plain = (text) => text.normalize("NFKC").toLowerCase();
const parts = plain(wanted.q || "").split(/\s+/).filter(Boolean);
let texts = null;
// Response sets in which the judge `beside` has a verdict.
const beside = new Set();

const has = (row) => {
  const [responseSet, , judge, item, ballot, criterion, fault, shape, shown, flags] = row;
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
  if (asked.beside !== undefined && !beside.has(responseSet)) return false;
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
const whose = (name, [shown, full]) => {
  const made = element("span", name, shown);
  if (shown !== full) made.title = full;
  return made;
};

// Who is ahead of whom, as the served list says it: best first, equals beside each other.
const placing = (levels, contestants) => {
  const made = element("span", "placing");
  levels.forEach((group, rank) => {
    if (rank) made.append(" ", element("span", "over", ">"), " ");
    group.forEach((who, index) => {
      if (index) made.append(" = ");
      const won = group.length === 1 && !rank && levels.length > 1;
      made.append(whose(`whose seat seat-${contestants[who][2]}${won ? " won" : ""}`, contestants[who]));
    });
  });
  if (levels.length === 1) made.append(" ", element("span", "muted", said.tie));
  return made;
};

// A dot for each judge, in the colour of the answer that it put first; faint if the filter matches none of its verdicts.
const dot = ([judge, rater, told, turned, anchor], outcomes, href, matched, first) => {
  const made = element("a", `dot${rater === null ? "" : " by-people"}${turned ? " turned" : ""}${matched ? "" : " faint"}`);
  const spoken = told.map((place) => {
    const [kind, words] = outcomes[place];
    return (kind === "fault" ? said[words] : words) + (kind === "tie" ? ` (${said.tie})` : "");
  });
  const name = rater === null ? called[judge] ?? names[judge] : `${said.votes} ${rater.slice(0, 12)}`.trim();
  made.title = `${name}: ${spoken.join("; ")}${turned ? ` (${said.turned})` : ""}`;
  made.ariaLabel = made.title;
  made.href = `${href}#${anchor}`;
  if (!first) made.tabIndex = -1;
  for (const place of told.slice(0, 3)) {
    const [kind, words, seat] = outcomes[place];
    made.append(element("i", kind === "won" ? `won seat-${seat}` : kind, kind === "mark" ? words : undefined));
  }
  const around = element("li");
  around.append(made);
  return around;
};

const caseRow = ([responseSet, found]) => {
  const [key, item, criterion, , flags, contestants, people, levels, joint, outcomes, dots, verdicts] = cases.get(responseSet);
  const made = element("li");
  const link = element("a", "case-link");
  link.href = key ? `cases/${encodeURIComponent(key)}.html` : "about.html";
  link.append(element("span", "item-name", items[item][0]), ` ${items[item][1] || said.unasked}`);
  const outcome = element("div", "ruling");
  if (levels.length || joint.length) outcome.append(element("span", "muted", people ? said.people : said.judges));
  if (levels.length) outcome.append(placing(levels, contestants));
  else contestants.forEach((name, who) => {
    const one = element("span", "shown");
    one.append(whose(`whose seat seat-${name[2]}`, name));
    for (const [place, mark] of joint) if (place === who) one.append(" ", element("b", "", mark));
    outcome.append(one);
  });
  if (flags & 1) outcome.append(element("span", "badge", said.split));
  if (flags & 2) outcome.append(element("span", "badge", said.opposed));
  if (criterion !== "overall") outcome.append(element("span", "muted", criterion));
  const most = Number(list.dataset.dots);
  const strip = element("div", "strip");
  const all = element("ul", "dots");
  const asked_for = new Set(found.map(([, place]) => place));
  all.append(...dots.slice(0, most).map((one, place) => dot(one, outcomes, link.getAttribute("href"), asked_for.has(place), !place)));
  strip.append(all);
  if (dots.length > most) strip.append(element("span", "muted", `+${dots.length - most}`));
  const tally = element("span", "muted", (found.length < verdicts ? said.some : verdicts === 1 ? said.single : said.all).replace("{matched}", found.length.toLocaleString("en")).replace("{count}", verdicts.toLocaleString("en")));
  tally.dataset.matched = found.length;
  strip.append(tally);
  const what = element("div", "what");
  what.append(link, outcome, strip);
  const thumb = items[item][3];
  if (thumb && key) {
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
  const impossible = Object.values(asked).includes(-1);
  const rows = [];
  for (let place = 0; place < Number(list.dataset.chunks) && !impossible; place += 1) {
    const [some, met] = await load(`verdicts-${place}`);
    rows.push(...some);
    for (const [id, one] of Object.entries(met)) cases.set(Number(id), one);
  }
  for (const [responseSet, , judge, , , , fault] of rows) if (judge === asked.beside && fault === 0) beside.add(responseSet);
  const found = rows.filter(has);
  const grouped = new Map();
  for (const row of found) grouped.get(row[0])?.push(row) ?? grouped.set(row[0], [row]);
  const doubt = (responseSet) => (order === "doubt" ? cases.get(responseSet)[3] : 0);
  const listed = [...grouped].toSorted(([one], [two]) => doubt(two) - doubt(one) || two - one);
  document.getElementById("count").textContent = found.length.toLocaleString("en");
  let shown = 0;
  const more = document.getElementById("more");
  const show = () => {
    list.append(...listed.slice(shown, shown + PAGE).map(caseRow));
    shown += PAGE;
    more.hidden = shown >= listed.length;
  };
  if (!found.length) list.append(element("li", "muted", said.nothing));
  more.addEventListener("click", show);
  show();
};
run();
