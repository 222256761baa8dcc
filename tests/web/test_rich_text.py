"""Texts of strangers in a page: rendered, and able to do nothing."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.web.rich_text import is_marked_up, render_prose

ALLOWED = {
    "p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "h3", "h4", "h5", "h6",
    "table", "thead", "tbody", "tr", "th", "td", "span", "div",
}  # fmt: skip


class Tags(HTMLParser):
    """The tags and attributes that a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def check_harmless(text: str) -> None:
    for tag, attributes in Tags(str(render_prose(text))).tags:
        assert tag in ALLOWED or tag.startswith("m"), tag
        assert not {name for name in attributes if name.startswith("on") or name in {"style", "src", "srcset", "id"}}
        assert (attributes.get("href") or "https://").startswith(("http://", "https://", "mailto:", "#", "/"))
        if tag == "a":
            assert "noopener" in (attributes["rel"] or "")


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1)) [b](data:text/html,x) [c](vbscript:x)",
    "![a](https://elsewhere.example/pixel.png)",
    '[a](https://x.example "onmouseover=alert(1)")',
    "<https://x.example> <javascript:alert(1)>",
    r"$\href{javascript:alert(1)}{x}$ $\style{color:red}{x}$ $\unicode{x}$",
    "$$\\text{</math><script>alert(1)</script>}$$",
    "```html\n</code></pre><script>alert(1)</script>\n```",
    "| <b>a</b> | b |\n|:-:|--:|\n| <svg onload=alert(1)> | 2 |",
    '<a href="javascript:alert(1)">x</a><svg/onload=alert(1)><math><mi href="javascript:alert(1)">x',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_does_nothing(text):
    check_harmless(text)


@given(st.text(max_size=200) | st.lists(st.sampled_from([*HOSTILE, "\n", "$", "`", "|", "<", "\\(", "]"])).map("".join))
def test_no_text_at_all_does_anything(text):
    check_harmless(text)


def test_tables_code_and_formulas_are_rendered_and_chinese_stays():
    shown = render_prose(
        "## 答案\n\n**重点** \\( \\frac{1}{2} \\)\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```py\nx < 1\n```\n"
    )
    for part in ("<h5>答案</h5>", "<strong>重点</strong>", "<mfrac>", '<td class="right">2</td>', "x &lt; 1"):
        assert part in shown
    assert is_marked_up("**b**")
    assert not is_marked_up("It costs $5 and $6.\nNo more.")


def test_a_picture_of_another_host_is_a_link():
    assert "<img" not in render_prose("![x](https://elsewhere.example/p.png)")
    assert 'href="https://elsewhere.example/p.png"' in render_prose("![x](https://elsewhere.example/p.png)")
