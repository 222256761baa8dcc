"use strict";
// What a reader takes along or looks at large, for pages of the web app and for reports: charts and tables.
const save = (name, blob) => {
  const link = Object.assign(document.createElement("a"), { download: name, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
// The full name of whom another name is shown of: what is saved has it, and a search finds it.
const fullName = (cell) => (cell.closest("tbody") ? cell.title || cell.querySelector("[title]")?.title || "" : "");
// A table as it stands, hidden rows and columns left out. A cell that a spreadsheet would take for a formula is text.
const asCsv = (table) => {
  const cell = (one) => {
    const text = (fullName(one) || one.textContent).replace("↕", "").replace(/\s+/g, " ").trim();
    const number = text !== "" && Number.isFinite(Number(text));
    return `"${(number ? text : text.replace(/^(?=[=+\-@])/, "'")).replaceAll('"', '""')}"`;
  };
  return [...table.rows].filter((row) => !row.hidden)
    .map((row) => [...row.cells].filter((one) => !one.hidden && !one.classList.contains("pick")).map(cell).join(",")).join("\r\n");
};
const saveCsv = (name, table) => save(name, new Blob(["\ufeff", asCsv(table)], { type: "text/csv" }));
// A chart of a page as a text that needs no page: in the colours and the font it is seen in.
const standing = (drawn) => {
  const copy = drawn.cloneNode(true);
  const parts = [...copy.querySelectorAll("*")];
  [...drawn.querySelectorAll("*")].forEach((one, place) => {
    const { fill, stroke, fontFamily } = getComputedStyle(one);
    parts[place].setAttribute("fill", fill);
    parts[place].setAttribute("stroke", stroke);
    if (one.nodeName === "text") parts[place].setAttribute("font-family", fontFamily.replace(/"Roboto Latin", /, ""));
  });
  return new XMLSerializer().serializeToString(copy);
};
const chartBeside = (button) => [...button.closest("figure").querySelectorAll("svg.marks")].find((one) => one.checkVisibility());
// Twice as large, so that words stay sharp.
const savePng = async (name, drawn) => {
  const { width, height } = drawn.viewBox.baseVal;
  const image = Object.assign(new Image(), { src: `data:image/svg+xml,${encodeURIComponent(standing(drawn))}` });
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => save(name, blob), "image/png");
};
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-png], [data-svg], [data-full]");
  if (!button) return;
  const { png, svg } = button.dataset;
  if (png) savePng(png, chartBeside(button));
  else if (svg) save(svg, new Blob([standing(chartBeside(button))], { type: "image/svg+xml" }));
  else if (document.fullscreenElement) document.exitFullscreen();
  else button.closest("figure").requestFullscreen();
});
// Not every browser has a full screen for parts of a page.
if (!document.fullscreenEnabled) document.documentElement.classList.add("no-full-screen");
