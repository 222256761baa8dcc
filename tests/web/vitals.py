"""How fast a page is for somebody with a slow machine and line: what Lighthouse measures, straight from Chromium."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.support.browser_pages import PATIENCE

CPU, MEGABITS, LATENCY = 4, 10, 40
"""The machine is so many times slower; the line has so many megabits a second and milliseconds there and back."""
WATCH = """
window.vitals = { paint: 0, largest: 0, blocking: 0 };
const watch = (type, see) => {
  new PerformanceObserver((list) => list.getEntries().forEach(see)).observe({ type, buffered: true });
};
watch("paint", (one) => { vitals.paint = vitals.paint || one.startTime; });
watch("largest-contentful-paint", (one) => { vitals.largest = one.startTime; });
watch("longtask", (one) => { vitals.blocking += Math.max(0, one.duration - 50); });
"""
QUIET = """() => new Promise((done) => {
  requestIdleCallback(() => setTimeout(() => requestIdleCallback(() => done(true)), 300));
})"""


@dataclass(frozen=True)
class Vitals:
    """Milliseconds until something and until the largest part is drawn, and those in which the page was blocked by
    tasks beyond their first 50; kilobytes over the line without the data's pictures."""

    paint: float
    largest: float
    blocking: float
    kilobytes: float


def measured(browser, url: str) -> Vitals:
    """One visit of a browser that knows nothing of the site."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.add_init_script(WATCH)
    line = context.new_cdp_session(page)
    addresses: dict[str, str] = {}
    taken: dict[str, float] = {}
    line.on("Network.responseReceived", lambda event: addresses.update({event["requestId"]: event["response"]["url"]}))
    line.on("Network.loadingFinished", lambda event: taken.update({event["requestId"]: event["encodedDataLength"]}))
    line.send("Network.enable")
    speed = MEGABITS * 1_000_000 / 8
    limits = {"offline": False, "latency": LATENCY, "downloadThroughput": speed, "uploadThroughput": speed}
    line.send("Network.emulateNetworkConditions", limits)
    line.send("Emulation.setCPUThrottlingRate", {"rate": CPU})
    page.goto(url, wait_until="load")
    page.wait_for_function("() => window.vitals.largest > 0")
    # What scripts do when there is time counts too.
    page.wait_for_function(QUIET)
    found = page.evaluate("window.vitals")
    context.close()
    ours = [
        size for request, size in taken.items() if not urlsplit(addresses.get(request, "")).path.startswith("/pictures")
    ]
    return Vitals(found["paint"], found["largest"], found["blocking"], sum(ours) / 1000)
