"""The pages' own font: preloaded under the address that the style asks for, small, licensed, for Latin alone."""

from __future__ import annotations

import re

from fullbench.web.page_rendering import static_file, static_url
from fullbench.web.results.site.static_site import STATIC

FONTS = ("roboto-regular.woff2", "roboto-bold.woff2")


def test_the_font_comes_from_us_once_and_is_kept_for_ever(client):
    style = static_file("shared.css").read_text(encoding="utf-8")
    asked = [f"/static/{name}" for name in re.findall(r'url\("([^"]+)"\)', style)]
    assert asked == [static_url(name) for name in FONTS]
    preload = re.compile(r'<link rel="preload" href="([^"]+)" as="font" type="font/woff2" crossorigin>')
    assert preload.findall(client.get("/login").text) == asked
    sizes = []
    for address in asked:
        answer = client.get(address)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "font/woff2"
        assert "immutable" in answer.headers["cache-control"]
        assert answer.content.startswith(b"wOF2")
        sizes.append(len(answer.content))
    assert sum(sizes) < 60_000
    assert style.count("font-display: optional") == len(FONTS)


def test_a_copy_takes_font_and_licence_along():
    assert {*FONTS, "roboto-LICENSE.txt"} <= set(STATIC)
    assert "Apache License" in static_file("roboto-LICENSE.txt").read_text(encoding="utf-8")


def test_chinese_asks_for_no_font():
    """The ranges of the style hold no Chinese character, sign or full-width form."""
    ranges = re.findall(r"unicode-range: ([^;]+);", static_file("shared.css").read_text(encoding="utf-8"))
    spans = [
        tuple(int(end, 16) for end in (span.strip().removeprefix("U+").split("-") * 2)[:2])
        for listed in ranges
        for span in listed.split(",")
    ]
    assert spans
    for sign in "中文方块，。！？「」《》（）：；":
        assert not [span for span in spans if span[0] <= ord(sign) <= span[1]], sign
