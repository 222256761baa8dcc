// Pictures on the annotation page: the wheel zooms where the pointer is, dragging moves, a click opens them large.
(() => {
  "use strict";
  const MOST = 12;
  const views = new WeakMap();
  const box = document.getElementById("lightbox");
  const large = box?.querySelector("img");

  function show(image, view) {
    const { width, height } = view;
    view.x = Math.min(0, Math.max(width * (1 - view.scale), view.x));
    view.y = Math.min(0, Math.max(height * (1 - view.scale), view.y));
    image.style.transform = view.scale === 1 ? "" : `translate(${view.x}px, ${view.y}px) scale(${view.scale})`;
    image.classList.toggle("zoomed", view.scale > 1);
  }

  function viewOf(image) {
    let view = views.get(image);
    if (!view || view.scale === 1) {
      view = { scale: 1, x: 0, y: 0, width: image.clientWidth, height: image.clientHeight };
      views.set(image, view);
    }
    return view;
  }

  // The small copy of a picture makes room for the whole one, in the same place on the page.
  function sharpen(image) {
    const whole = image.closest("a.zoom")?.href;
    if (!whole || image.src === whole) return;
    image.style.width = `${image.clientWidth}px`;
    image.style.height = `${image.clientHeight}px`;
    image.src = whole;
  }

  const zoomable = (event) => (event.target.matches?.("a.zoom img, #lightbox img") ? event.target : null);

  document.addEventListener("wheel", (event) => {
    const image = zoomable(event);
    if (!image || !event.deltaY) return;
    const view = viewOf(image);
    const scale = Math.min(MOST, Math.max(1, view.scale * (event.deltaY < 0 ? 1.2 : 1 / 1.2)));
    if (scale === view.scale) return; // a picture that is whole again lets the page scroll
    event.preventDefault();
    const frame = image.getBoundingClientRect();
    const ratio = scale / view.scale;
    view.x -= (event.clientX - frame.left) * (ratio - 1);
    view.y -= (event.clientY - frame.top) * (ratio - 1);
    view.scale = scale < 1.01 ? 1 : scale;
    if (view.scale > 1) sharpen(image);
    show(image, view);
  }, { passive: false });

  let drag = null;
  document.addEventListener("pointerdown", (event) => {
    const image = event.button === 0 ? zoomable(event) : null;
    const view = image && views.get(image);
    drag = view && view.scale > 1 ? { image, view, x: event.clientX, y: event.clientY, moved: false } : null;
  });
  document.addEventListener("pointermove", (event) => {
    if (!drag) return;
    drag.moved ||= Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 4;
    if (!drag.moved) return;
    drag.view.x += event.clientX - (drag.lastX ?? drag.x);
    drag.view.y += event.clientY - (drag.lastY ?? drag.y);
    drag.lastX = event.clientX;
    drag.lastY = event.clientY;
    show(drag.image, drag.view);
  });
  document.addEventListener("dragstart", (event) => { if (zoomable(event)) event.preventDefault(); });
  // The click that ends a drag is none.
  document.addEventListener("click", (event) => {
    if (drag?.moved) { event.preventDefault(); event.stopPropagation(); }
    drag = null;
  }, { capture: true });

  if (!box) return;
  function open(link) {
    large.src = link.href;
    zoomed = links().indexOf(link);
    large.classList.remove("whole");
    views.delete(large);
    show(large, viewOf(large));
    if (!box.open) box.showModal();
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.zoom");
    if (!link || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    open(link);
  });
  box.addEventListener("click", (event) => {
    if (event.target !== large) { box.close(); return; }
    if (views.get(large)?.scale > 1) { views.delete(large); show(large, viewOf(large)); }
    else large.classList.toggle("whole");
  });
  // `z` goes from one picture to the next; shift and a digit open the picture with that number. While one is open,
  // digits and arrows alone go to another. True if the key was for a picture.
  let zoomed = -1;
  const links = () => [...document.querySelectorAll("#work a.zoom")];
  box.addEventListener("close", () => { zoomed = -1; });
  function byKey(event) {
    const all = links();
    const digit = /^Digit([1-9])$/.exec(event.code)?.[1] ?? /^[1-9]$/.exec(event.key)?.[0];
    let next = null;
    if (event.key === "z") next = zoomed + 1;
    else if (digit && (event.shiftKey || box.open)) next = digit - 1;
    else if (box.open && event.key === "ArrowRight") next = Math.min(zoomed + 1, all.length - 1);
    else if (box.open && event.key === "ArrowLeft") next = Math.max(zoomed - 1, 0);
    if (next === null) return false;
    event.preventDefault();
    if (event.key === "z" && next >= all.length) box.close();
    else if (all[next]) open(all[next]);
    return true;
  }
  window.fullbenchZoom = { box, byKey };
})();
