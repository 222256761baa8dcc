"use strict";
// `sortable` comes from sorting.js, which pages load first.
document.querySelectorAll("table.figures").forEach(sortable);

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

// News: where the numbers of a page moved, they are fetched and put in their place.
const topic = document.querySelector("[data-topic]");
if (topic && location.protocol !== "file:" && typeof EventSource === "function") {
  let waiting = 0;
  const later = (pause) => { waiting = waiting || setTimeout(renew, pause); };
  const renew = async () => {
    waiting = 0;
    if (document.activeElement.matches("main :is(input, select, textarea)")) { later(2000); return; }
    let text;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) return;
      text = await answer.text();
    } catch {
      later(2000); // no connection at the moment, or the page is being left
      return;
    }
    const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("main");
    const main = document.querySelector("main");
    const sorted = [...main.querySelectorAll("table.figures th[aria-sort]")]
      .map((head) => [head.closest("table").caption.textContent, head.cellIndex, head.getAttribute("aria-sort")]);
    main.replaceChildren(...fresh.childNodes);
    for (const table of main.querySelectorAll("table.figures")) {
      sortable(table);
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
