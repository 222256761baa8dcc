// A picture of one's own is sent as soon as it is chosen; the vote then names it by its digest.
(() => {
  "use strict";
  const root = document.getElementById("work");
  if (!root) return;
  const words = root.dataset;
  const csrf = document.querySelector('meta[name="csrf"]').content;
  const status = document.getElementById("status");
  root.addEventListener("change", async (event) => {
    const input = event.target;
    if (!input.dataset.brings || !input.files.length) return;
    const form = input.form;
    const sent = new FormData();
    sent.append("file", input.files[0]);
    // While it is on its way the form is not complete, and cannot be sent.
    input.setCustomValidity(words.sending);
    try {
      const answer = await fetch(words.base + "/picture", {
        method: "POST", body: sent, headers: { "X-CSRF-Token": csrf },
      });
      const told = await answer.json();
      if (!answer.ok) throw new Error(told.detail);
      const field = form.elements[input.dataset.brings];
      field.value = told.picture;
      const image = new Image();
      image.src = "/pictures/" + told.picture + "?size=240";
      image.alt = words.brought;
      form.querySelector(`[data-brought="${input.dataset.brings}"]`).replaceChildren(image);
      field.dispatchEvent(new Event("input", { bubbles: true }));
    } catch (error) {
      input.value = "";
      status.textContent = error instanceof TypeError ? words.unsent : error.message;
    }
    input.setCustomValidity("");
  });
})();
