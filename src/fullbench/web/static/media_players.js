// Videos and recordings on pages: one sounds at a time, two next to each other play in sync, time stamps seek.
(() => {
  "use strict";
  const FRAME = 1 / 25;
  const all = (root = document) => [...root.querySelectorAll(".player video, .player audio")];
  // The answers of a task or case are compared, so they play together; the question's own video plays alone.
  const compared = (player) => {
    const group = player.closest(".candidates, .answers");
    return group ? all(group) : [player];
  };
  const others = (player) => compared(player).filter((other) => other !== player);
  const isPlayer = (target) => target.matches?.(".player video, .player audio");

  // Events of those that follow come later, so each handler changes only what is not so already.
  document.addEventListener("play", (event) => {
    const player = event.target;
    if (!isPlayer(player) || others(player).some((other) => !other.paused)) return;
    all().filter((other) => !compared(player).includes(other)).forEach((other) => other.pause());
    player.muted = false;
    others(player).forEach((other) => {
      other.muted = true; // two sounds at once say nothing
      other.currentTime = player.currentTime;
      other.play().catch(() => {});
    });
  }, true);
  document.addEventListener("pause", (event) => {
    if (isPlayer(event.target) && !event.target.ended) others(event.target).forEach((other) => other.pause());
  }, true);
  document.addEventListener("seeked", (event) => {
    const player = event.target;
    if (!isPlayer(player)) return;
    const drift = player.paused ? FRAME : 0.3;
    others(player).filter((other) => Math.abs(other.currentTime - player.currentTime) > drift
      && player.currentTime <= other.duration).forEach((other) => { other.currentTime = player.currentTime; });
  }, true);

  // The video that a key or a time stamp means: the one that played last, else the first of the answers or the page.
  let last = null;
  document.addEventListener("play", (event) => { if (all().includes(event.target)) last = event.target; }, true);
  const chosen = () => (last?.isConnected ? last : all(document.querySelector(".candidates, .answers") ?? document)[0] ?? all()[0]);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input:not([type=radio]), textarea, select")) return;
    const player = chosen();
    if (!player) return;
    if (event.key === "p") {
      if (player.paused) player.play().catch(() => {});
      else player.pause();
    } else if (event.key === "," || event.key === ".") {
      player.pause();
      player.currentTime = Math.max(0, player.currentTime + (event.key === "." ? FRAME : -FRAME));
    } else if (event.key === "<" || event.key === ">") {
      player.currentTime = Math.max(0, player.currentTime + (event.key === ">" ? 1 : -1));
    } else return;
    event.preventDefault();
  });

  // "[12.0 s]" and "1:05" in texts become buttons that seek.
  const STAMP = /\[(\d+(?:\.\d+)?) ?s\]|\b(?:(\d{1,2}):)?(\d{1,2}):([0-5]\d)\b/g;
  function link(root) {
    if (!all().length) return;
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) {
      const parent = walker.currentNode.parentElement;
      if (parent?.closest(".said, .words, .turn, pre") && !parent.closest("button, a, textarea")) texts.push(walker.currentNode);
    }
    texts.forEach((text) => {
      const found = [...text.data.matchAll(STAMP)];
      if (!found.length) return;
      const pieces = [];
      let end = 0;
      found.forEach((match) => {
        const seconds = match[1] === undefined
          ? Number(match[2] ?? 0) * 3600 + Number(match[3]) * 60 + Number(match[4]) : Number(match[1]);
        const button = document.createElement("button");
        button.type = "button";
        button.className = "seek";
        button.dataset.seek = String(seconds);
        button.textContent = match[0];
        pieces.push(text.data.slice(end, match.index), button);
        end = match.index + match[0].length;
      });
      text.replaceWith(...pieces, text.data.slice(end));
    });
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button.seek");
    if (!button) return;
    const near = button.closest(".candidate, .answer");
    const player = (near && all(near)[0]) ?? all()[0];
    if (!player) return;
    player.currentTime = Number(button.dataset.seek);
    player.scrollIntoView({ block: "nearest" });
  });
  link(document.body);
  const place = document.getElementById("task");
  if (place) new MutationObserver(() => { last = null; link(place); }).observe(place, { childList: true });
})();
