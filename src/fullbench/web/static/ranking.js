// Putting responses in order, on the annotation page and where a lead rules: numbers or taps in order, arrows, or drag.
(() => {
  "use strict";
  const listOf = (form) => form.querySelector("ol.rank");
  let picked = [];
  let changed = () => {};

  function note(form) {
    form.elements.order.value = [...listOf(form).children].map((line) => line.dataset.place).join(",");
    changed();
  }

  // One step up or down; whether there was somewhere to go.
  function step(form, line, way) {
    const other = way === "up" ? line.previousElementSibling : way === "down" ? line.nextElementSibling : null;
    if (!other) return false;
    other[way === "up" ? "before" : "after"](line);
    note(form);
    return true;
  }

  // The next place goes to this number; whether there is such a one.
  function pick(form, number) {
    const list = listOf(form);
    const line = list && list.querySelector(`[data-number="${CSS.escape(number)}"]`);
    if (!line) return false;
    if (picked.length >= list.children.length) picked = []; // all have their places: begin anew
    if (picked.includes(number)) return true;
    if (picked.length) list.querySelector(`[data-number="${picked.at(-1)}"]`).after(line);
    else list.prepend(line);
    picked.push(number);
    for (const part of list.children) part.classList.toggle("picked", picked.includes(part.dataset.number));
    note(form);
    return true;
  }

  function start(form, onChange = () => {}) {
    picked = [];
    changed = onChange;
    const list = listOf(form);
    if (!list) return;
    const order = form.elements.order.value.split(",").filter(Boolean);
    for (const at of order) list.append(list.querySelector(`[data-place="${CSS.escape(at)}"]`));
    let moving = null;
    list.addEventListener("dragstart", (event) => { moving = event.target.closest("li"); });
    list.addEventListener("dragover", (event) => {
      event.preventDefault();
      const over = event.target.closest("li");
      if (!moving || !over || over === moving) return;
      const frame = over.getBoundingClientRect();
      over[event.clientX > frame.left + frame.width / 2 ? "after" : "before"](moving);
    });
    list.addEventListener("drop", (event) => { event.preventDefault(); note(form); });
    list.addEventListener("click", (event) => {
      const line = event.target.closest("li");
      const way = event.target.closest("button[data-move]")?.dataset.move;
      if (line && way) step(form, line, way);
      else if (line) pick(form, line.dataset.number);
    });
    list.addEventListener("keydown", (event) => {
      const line = event.target.closest("li");
      const way = { ArrowUp: "up", ArrowLeft: "up", ArrowDown: "down", ArrowRight: "down" }[event.key];
      if (!line || !way || !step(form, line, way)) return;
      event.preventDefault();
      event.stopPropagation();
      line.focus();
    });
  }

  // An order that nobody touched is sent when it is confirmed; whether this is the first time.
  function isUntouched(form) {
    if (!listOf(form) || form.elements.order.value) return false;
    note(form);
    return true;
  }

  window.fullbenchRanking = { start, pick, isUntouched };
  const decision = document.querySelector(".lead form.vote");
  if (decision) {
    start(decision);
    if (listOf(decision) && !decision.elements.order.value) note(decision);
  }
})();
