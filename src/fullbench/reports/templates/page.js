document.querySelectorAll("main table").forEach(sortable);
