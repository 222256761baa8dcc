"use strict";
// `sortable` comes from sorting.js, what is pointed at from pointing.js and what is saved from saving.js, which pages load first. Tables are made ready one after the other when there is time:
// a page with many must not stand still.
const copied = document.documentElement.hasAttribute("data-copy"); // a folder of files, with no server that would answer
const idle = (work) => (window.requestIdleCallback ? requestIdleCallback(work, { timeout: 1000 }) : setTimeout(work, 0));

// Long tables can be searched, cut to rows with enough behind them, to chosen columns and to rows that are compared. All
// that is needed for it came with the page; rows beyond the first become elements when somebody asks.
const whole = (table) => {
  const section = table.closest("section");
  const rest = section?.querySelector("noscript.rest");
  if (!rest) return;
  // To a page that runs scripts it is text; in one that was fetched and parsed it has become elements.
  const parsed = rest.firstElementChild ? rest : new DOMParser().parseFromString(rest.textContent, "text/html");
  const rows = [...parsed.querySelectorAll("tbody tr")];
  const heads = [...table.tHead.rows[0].cells]; // they know which columns somebody chose
  for (const row of rows) heads.forEach((head, place) => { row.cells[place].hidden = head.hidden; });
  table.tBodies[0].append(...rows);
  rest.remove();
  section.querySelector(".more-rows")?.remove();
};
const columnWishes = new Map();
const enrich = (table) => {
  const section = table.closest("section");
  if (!section) return;
  section.querySelector("[data-more]")?.addEventListener("click", () => whole(table));
  const wide = section.querySelector("[data-wide]");
  wide?.addEventListener("click", () => wide.setAttribute("aria-pressed", String(table.classList.toggle("wide"))));
  for (const button of table.tHead.querySelectorAll("button")) button.addEventListener("click", () => whole(table), true);
  const bar = section.querySelector(".tools");
  if (!bar) return;
  // Columns to choose: figures by tag are hidden at first. What somebody chose stays when news put other rows in place.
  const chosen = bar.querySelector(".columns");
  const heads = [...table.tHead.rows[0].cells].filter((cell) => cell.tagName === "TH").slice(2);
  const title = (head) => head.textContent.replace("↕", "").replace(/\s+/g, " ").trim();
  const wishes = columnWishes.get(table.caption.textContent) ?? new Map();
  columnWishes.set(table.caption.textContent, wishes);
  const wish = (head, shown) => {
    for (const row of table.rows) row.cells[head.cellIndex].hidden = !shown;
    if (shown && wide && !table.classList.contains("wide")) wide.click(); // a phone shows few columns until asked
  };
  for (const head of heads) if (wishes.has(title(head))) wish(head, wishes.get(title(head)));
  chosen?.addEventListener("toggle", () => {
    for (const head of heads) {
      const one = Object.assign(document.createElement("input"), { type: "checkbox", checked: !head.hidden });
      const label = document.createElement("label");
      label.append(one, ` ${title(head)}`);
      chosen.lastElementChild.append(label);
      one.addEventListener("change", () => { wishes.set(title(head), one.checked); wish(head, one.checked); });
    }
  }, { once: true });
  if (!bar.querySelector("[data-compare]")) return; // a short table has columns to choose, and no more
  const [search, least] = ["search", "number"].map((kind) => bar.querySelector(`input[type="${kind}"]`));
  const compare = bar.querySelector("[data-compare]");
  const left = bar.querySelector("output");
  const behind = (row) => Math.max(0, ...[...row.querySelectorAll("[data-n]")].map((one) => Number(one.dataset.n)));
  const names = (row) => [...row.cells].slice(0, 3).map((cell) => `${cell.textContent} ${fullName(cell)}`).join(" ").toLowerCase();
  const apply = () => {
    whole(table);
    const wanted = search.value.trim().toLowerCase();
    const rows = [...table.tBodies[0].rows];
    rows.forEach((row, place) => { row.dataset.place ??= place; });
    if (!table.tHead.querySelector("[aria-sort]")) rows.sort((one, two) => one.dataset.place - two.dataset.place);
    const apart = [];
    let shown = 0;
    for (const row of rows) {
      const marked = row.querySelector(".pick input").checked;
      const few = Boolean(least?.value) && behind(row) < Number(least.value);
      row.classList.toggle("pinned", marked && !compare.checked);
      row.classList.toggle("apart", few);
      row.classList.remove("line");
      row.hidden = !(names(row).includes(wanted) && (!compare.checked || marked));
      shown += !row.hidden;
      if (few && !row.hidden) apart.push(row);
    }
    // Whoever has too little behind it stands apart, below the others; all of the others keep their order.
    table.tBodies[0].append(...rows.filter((row) => !row.classList.contains("apart")), ...rows.filter((row) => row.classList.contains("apart")));
    apart[0]?.classList.add("line");
    for (const cell of table.querySelectorAll("[data-few]")) delete cell.dataset.few;
    apart[0]?.querySelector("td.words, th.words")?.setAttribute("data-few", bar.dataset.few);
    const said = [];
    if (shown < rows.length) said.push(bar.dataset.left.replace("{shown}", shown).replace("{all}", rows.length));
    if (apart.length) said.push(bar.dataset.apart.replace("{count}", apart.length).replace("{n}", least.value));
    left.textContent = said.join(" · ");
  };
  for (const button of table.tHead.querySelectorAll("button")) button.addEventListener("click", () => { if (least?.value) apply(); });
  bar.querySelector("[data-csv]")?.addEventListener("click", (event) => {
    whole(table);
    saveCsv(event.currentTarget.dataset.csv, table);
  });
  for (const one of [search, least, compare]) one?.addEventListener("input", apply);
  table.addEventListener("change", (event) => { if (event.target.closest(".pick")) apply(); });
  if (search.value || compare.checked) apply(); // typed before anybody listened, or kept by the browser on the way back
};
// Wins between contestants is too wide for a phone: there one contestant is chosen, and its opponents are listed.
const matches = (table) => {
  const list = table.closest("section")?.querySelector(".matches");
  if (!list || !table.classList.contains("square")) return;
  const [select, opponents] = [list.querySelector("select"), list.querySelector("ol")];
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  const rows = [...table.tBodies[0].rows];
  select.replaceChildren(...rows.map((row) => new Option(row.cells[0].textContent.trim())));
  const show = () => {
    const row = rows[select.selectedIndex];
    const met = [...row.cells].slice(1).filter((cell) => cell.querySelector("a"));
    opponents.replaceChildren(...met.map((cell) => {
      const one = document.createElement("li");
      one.className = cell.className.match(/\b(?:more|less)-\d\b/)?.[0] || "";
      const link = Object.assign(document.createElement("a"), { href: cell.querySelector("a").href, textContent: cell.textContent.trim() });
      const rest = document.createElement("span");
      rest.className = "interval";
      rest.textContent = (cell.dataset.tip || "").slice(`${row.cells[0].textContent.trim()}, ${heads[cell.cellIndex]}: `.length + link.textContent.length);
      const name = document.createElement("span");
      name.className = "whose";
      name.textContent = heads[cell.cellIndex];
      one.append(name, link, rest);
      return one;
    }));
  };
  select.addEventListener("change", show);
  show();
};
document.querySelectorAll("table.figures").forEach((table) => idle(() => { sortable(table); enrich(table); matches(table); }));

// Pictures: a click opens all pictures of the case side by side, beginning with this one; + and - zoom, 0 fits.
const zooms = [...document.querySelectorAll("a.zoom")];
if (zooms.length && typeof HTMLDialogElement === "function") {
  const dialog = document.createElement("dialog");
  dialog.className = "viewer";
  dialog.setAttribute("aria-label", document.title);
  const bar = document.createElement("form");
  bar.method = "dialog";
  const stage = document.createElement("div");
  stage.className = "stage";
  stage.tabIndex = 0;
  stage.setAttribute("role", "group");
  const level = document.createElement("output");
  let scale = 1;
  const fit = () => {
    for (const image of stage.querySelectorAll("img")) {
      const whole = Math.min(image.parentElement.clientWidth / image.naturalWidth, stage.clientHeight / image.naturalHeight);
      image.style.width = `${Math.max(1, image.naturalWidth * whole * scale)}px`;
    }
    level.textContent = `${Math.round(scale * 100)}%`;
  };
  const turn = (factor) => { scale = factor === 0 ? 1 : Math.min(16, Math.max(0.25, scale * factor)); fit(); };
  const button = (label, name, act) => {
    const made = document.createElement("button");
    made.type = act ? "button" : "submit";
    made.className = "quiet small";
    made.textContent = label;
    made.setAttribute("aria-label", name);
    if (act) made.addEventListener("click", act);
    return made;
  };
  bar.append(button("+", "+", () => turn(1.5)), button("−", "-", () => turn(1 / 1.5)), button("1:1", "0", () => turn(0)), level, button("✕", "✕"));
  dialog.append(bar, stage);
  document.body.append(dialog);
  dialog.addEventListener("keydown", (event) => {
    const factor = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, "0": 0 }[event.key];
    if (factor !== undefined) { event.preventDefault(); turn(factor); }
  });
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    turn(event.deltaY < 0 ? 1.2 : 1 / 1.2);
  }, { passive: false });
  const show = (chosen) => {
    scale = 1;
    const order = [chosen, ...zooms.filter((one) => one !== chosen)].slice(0, 4);
    stage.replaceChildren(...order.map((one) => {
      const image = document.createElement("img");
      image.src = one.href;
      image.alt = one.querySelector("img").alt;
      image.addEventListener("load", fit);
      const figure = document.createElement("figure");
      figure.tabIndex = 0;
      figure.setAttribute("aria-label", image.alt);
      figure.append(image);
      return figure;
    }));
    dialog.showModal();
    stage.focus();
  };
  for (const one of zooms) one.addEventListener("click", (event) => { event.preventDefault(); show(one); });
}

// The marks of charts say their values when there is time.
const speakingCharts = () => document.querySelectorAll(".values svg").forEach((drawn) => idle(() => speaking(drawn)));
speakingCharts();

// Links choose one of several matrices without a script (see results.css); which one it is stands on the links by this.
const markChosen = () => {
  const links = [...document.querySelectorAll(".criteria a")];
  const chosen = links.find((link) => link.hash === location.hash) || links[0];
  for (const link of links) link.toggleAttribute("aria-current", link === chosen);
  chosen?.setAttribute("aria-current", "true");
};
addEventListener("hashchange", markChosen);
markChosen();

// The cases of a list can be turned over one by one, by `j` and `k`.
const turning = "fullbench:cases";
const listed = [...document.querySelectorAll(".verdict-list .case-link")].map((one) => one.href);
try {
  if (listed.length) sessionStorage.setItem(turning, JSON.stringify([...new Set(listed)]));
  const turn = document.querySelector("[data-turn]");
  const some = turn ? JSON.parse(sessionStorage.getItem(turning) || "[]") : [];
  const place = some.indexOf(location.href.split("#")[0]);
  if (turn && place >= 0 && some.length > 1) {
    const ways = { j: [some[place + 1], "[data-next]"], k: [some[place - 1], "[data-previous]"] };
    for (const [href, where] of Object.values(ways)) {
      const link = turn.querySelector(where);
      if (href) link.href = href;
      else link.remove();
    }
    turn.hidden = false;
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest?.("input, textarea, select, dialog");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const [href] = ways[event.key] || [];
      if (href) location.assign(href);
    });
  }
} catch { /* a browser that keeps nothing does without */ }

// Of a strip of dots one is reached by Tab, the others by arrows.
document.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const here = step && event.target.closest?.(".dot");
  if (!here) return;
  const dots = [...here.closest(".dots").querySelectorAll(".dot")];
  const next = dots[dots.indexOf(here) + step];
  if (!next) return;
  event.preventDefault();
  here.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});

// News: where the numbers of a page moved, they are fetched and put in their place.
const topic = document.querySelector("[data-topic]");
if (topic && !copied && typeof EventSource === "function") {
  let waiting = 0;
  const later = (pause) => { waiting = waiting || setTimeout(renew, pause); };
  const renew = async () => {
    waiting = 0;
    const typing = () => document.activeElement.matches("main :is(input, select, textarea)");
    if (typing()) { later(2000); return; }
    let text;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) return;
      text = await answer.text();
    } catch {
      later(2000); // no connection at the moment, or the page is being left
      return;
    }
    if (typing()) { later(2000); return; } // somebody began meanwhile
    const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("main");
    const main = document.querySelector("main");
    const searches = () => [...main.querySelectorAll('.tools input[type="search"]')];
    const searched = searches().map((one) => one.value);
    const sorted = [...main.querySelectorAll("table.figures th[aria-sort]")]
      .map((head) => [head.closest("table").caption.textContent, head.cellIndex, head.getAttribute("aria-sort")]);
    main.replaceChildren(...fresh.childNodes);
    searches().forEach((one, place) => { one.value = searched[place] || ""; });
    markChosen();
    speakingCharts();
    for (const table of main.querySelectorAll("table.figures")) {
      sortable(table);
      enrich(table);
      matches(table);
      // Tables stay sorted as somebody has sorted them: a first click sorts one way, a second the other.
      const [, place, way] = sorted.find(([name]) => name === table.caption.textContent) || [];
      const head = table.tHead.rows[0].cells[place];
      while (head && head.getAttribute("aria-sort") !== way) head.querySelector("button").click();
    }
    main.dataset.renewed = String(Number(main.dataset.renewed || 0) + 1);
  };
  const source = new EventSource(`/events?topic=${encodeURIComponent(topic.dataset.topic)}`);
  source.addEventListener("message", () => later(300));
}
