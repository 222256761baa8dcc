document.querySelectorAll("main table").forEach(sortable);
document.querySelectorAll(".values svg").forEach(speaking);
document.querySelectorAll(".tools").forEach((one) => { one.hidden = false; });
