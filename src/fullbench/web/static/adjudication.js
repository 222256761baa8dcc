// The page on which a lead decides a split: the keys of the annotation page. Nothing is sent before Enter.
(() => {
  "use strict";
  const form = document.querySelector(".lead form.vote");
  const { box, byKey: zoomByKey } = window.fullbenchZoom ?? {};
  if (!form) return;
  form.closest(".task").classList.toggle("numbered", form.querySelectorAll("a.zoom").length > 1);
  const rated = [...form.querySelectorAll("[data-rate]")];
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.matches("textarea, select, input:not([type=radio])");
    if (event.key === "Enter" && (!isTyping || event.ctrlKey || event.metaKey) && !event.target.closest("a, button, summary")) {
      event.preventDefault();
      form.requestSubmit();
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (box && (zoomByKey(event) || box.open)) return;
    if (/^[1-9]$/.test(event.key) && window.fullbenchRanking.pick(form, event.key)) return;
    const pressed = CSS.escape(event.key);
    const open = rated.find((one) => !one.querySelector("input:checked"));
    const found = (open ?? form).querySelector(`[data-key="${pressed}"], [data-mark="${pressed}"], [data-arrow="${pressed}"]`);
    if (!found) return;
    event.preventDefault();
    found.checked = true;
    found.focus();
  });
})();
