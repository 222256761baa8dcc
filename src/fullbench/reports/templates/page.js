document.querySelectorAll("main table").forEach(sortable);
document.querySelectorAll(".values svg").forEach(speaking);
