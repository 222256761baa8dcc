// A zip file or a folder for a new campaign, sent in pieces: it goes on where it was, also after the page was loaded again.
(() => {
  "use strict";
  const part = document.getElementById("upload-part");
  if (!part) return;
  part.hidden = false; // without this script there is nothing that could send it
  const PIECE = 4 * 1024 * 1024;
  const csrf = document.querySelector('meta[name="csrf"]').content;
  const field = document.getElementById("upload");
  const bar = document.getElementById("upload-progress");
  const status = document.getElementById("upload-status");
  const buttons = [...document.querySelectorAll("#new-study button")];
  let sending = 0;

  // The same files have the same id, so that they are found again.
  async function idOf(files) {
    const told = files.map((file) => [pathOf(file), file.size, file.lastModified].join("\n")).join("\n");
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(told)).catch(() => null);
    const bytes = digest ? new Uint8Array(digest) : crypto.getRandomValues(new Uint8Array(16));
    return [...bytes].slice(0, 16).map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }
  const pathOf = (file) => file.webkitRelativePath || file.name;

  async function piece(base, file, at) {
    const address = base + "?" + new URLSearchParams({ path: pathOf(file), at, size: file.size });
    const body = file.slice(at, at + PIECE);
    for (let turn = 0; ; turn += 1) {
      try {
        const answer = await fetch(address, { method: "POST", body, headers: { "X-CSRF-Token": csrf } });
        if (answer.ok || answer.status === 409) return (await answer.json()).have;
        if (answer.status < 500) throw Object.assign(new Error(String(answer.status)), { last: true });
      } catch (error) {
        if (error.last || turn >= 5) throw error;
      }
      await new Promise((done) => setTimeout(done, 500 * 2 ** turn));
    }
  }

  async function send(files) {
    if (!files.length) return;
    const mine = ++sending;
    const all = files.reduce((sum, file) => sum + file.size, 0);
    const mega = (bytes) => (bytes / 1e6).toFixed(1);
    const id = await idOf(files);
    const base = "/organise/uploads/" + id;
    buttons.forEach((button) => { button.disabled = true; });
    bar.hidden = false;
    bar.max = Math.max(all, 1);
    let done = 0;
    try {
      for (const file of files) {
        let have = (await (await fetch(base + "?" + new URLSearchParams({ path: pathOf(file) }))).json()).have;
        do {
          if (mine !== sending) return;
          bar.value = done + have;
          status.textContent = part.dataset.sending.replace("{done}", mega(done + have)).replace("{all}", mega(all));
          if (have < file.size || file.size === 0) have = await piece(base, file, have);
        } while (have < file.size);
        done += file.size;
      }
      bar.value = bar.max;
      field.value = id;
      status.textContent = part.dataset.ready.replace("{all}", mega(all));
      field.dispatchEvent(new Event("upload:ready", { bubbles: true }));
    } catch {
      status.textContent = part.dataset.broken;
    }
    buttons.forEach((button) => { button.disabled = false; });
  }
  for (const name of ["zip", "folder"]) {
    document.getElementById(name).addEventListener("change", (event) => send([...event.target.files]));
  }
})();
