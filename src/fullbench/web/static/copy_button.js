// Copies a link or a citation. Without the right to the clipboard (plain HTTP, a strict browser) the text is selected.
(() => {
  "use strict";
  const select = (part) => {
    const range = document.createRange();
    range.selectNodeContents(part);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };
  async function copy(text, part) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      select(part);
      return document.execCommand("copy");
    }
  }
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy-of]");
    if (!button) return;
    const part = document.getElementById(button.dataset.copyOf);
    const isCopied = await copy(part.textContent.trim(), part);
    button.querySelector("span").textContent = isCopied ? button.dataset.copied : button.dataset.selected;
  });
})();
