"use strict";
// Sorting, for pages of the web app and for reports: a click on a column's head sorts its table; gaps stay last whichever way it is sorted.
const sortable = (table) => {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells].filter((head) => head.tagName === "TH");
  heads.forEach((head) => {
    const there = head.querySelector("button");
    const button = there || document.createElement("button");
    button.type = "button";
    if (there) {
      // The page brought it along.
    } else if (head.querySelector("a")) {
      // A head that leads somewhere keeps its link; a mark beside it sorts.
      button.className = "sort";
      button.textContent = "↕";
      button.setAttribute("aria-label", `${head.textContent.trim()} ↕`);
    } else button.append(...head.childNodes);
    if (!there) head.append(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("number");
      const first = numeric ? "descending" : "ascending";
      const second = numeric ? "ascending" : "descending";
      const way = head.getAttribute("aria-sort") === first ? second : first;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", way);
      const sign = way === "ascending" ? 1 : -1;
      const place = head.cellIndex;
      const gap = (cell) => cell.classList.contains("gap");
      const rows = [...table.rows].filter((row) => row.parentElement !== table.tHead).sort((one, two) => {
        const a = one.cells[place], b = two.cells[place];
        const apart = one.classList.contains("apart") - two.classList.contains("apart"); // below the others in any order
        if (apart) return apart;
        if (gap(a) || gap(b)) return gap(a) - gap(b);
        if (numeric) return sign * (Number(a.dataset.sort) - Number(b.dataset.sort));
        return sign * a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
      });
      body.append(...rows);
    });
  });
};
