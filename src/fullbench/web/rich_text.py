"""Render Markdown, tables, code and formulas as HTML that cannot run scripts or load other sites' files.

Answers come from models and from people who may want to manipulate a reader. So raw HTML is shown as text, pictures of
other hosts become links, and nh3 cleans the rendered HTML with an allow-list of tags and attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_OWN_PICTURE = re.compile(r"/pictures/([0-9a-f]{64})(?:\?v=[0-9]+)?")
LONGEST = 100_000
"""Longer texts are shown as they are: nobody reads them rendered, and a page must not wait for them."""
_MATH = {
    *("math", "mrow", "mi", "mo", "mn", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup"),
    *("munder", "mover", "munderover", "mtable", "mtr", "mtd", "mpadded", "mphantom", "mstyle", "menclose"),
}
_TAGS = _MATH | {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "h3", "h4", "h5", "h6"),
    *("table", "thead", "tbody", "tr", "th", "td", "span", "div"),
}
_OF_MATH = {
    *("display", "stretchy", "linethickness", "mathvariant", "accent", "fence", "separator", "columnalign", "width"),
}
_ATTRIBUTES: dict[str, set[str]] = {
    **dict.fromkeys(_MATH, _OF_MATH),
    "a": {"href"},
    "ol": {"start"},
    "th": {"class"},
    "td": {"class"},
    "code": {"class"},
    "pre": {"tabindex"},
}


@lru_cache(maxsize=2048)
def render_prose(text: str) -> Markup:
    r"""Render a text as safe HTML.

    >>> str(render_prose("**Short:** 3 < 4 <script>alert(1)</script>"))
    '<p><strong>Short:</strong> 3 &lt; 4 &lt;script&gt;alert(1)&lt;/script&gt;</p>\n'
    >>> "<math" in render_prose("It is $\\frac{1}{2}$.")
    True
    """
    return _render_markdown(text)


@lru_cache(maxsize=256)
def render_guideline(text: str) -> Markup:
    """Render a guideline written by leads: pictures of this site are shown, others are links.

    >>> str(render_guideline("![a cat](/pictures/" + "ab" * 32 + ")")).startswith('<p><img src="/pictures/abab')
    True
    >>> "<img" in render_guideline("![a cat](https://elsewhere.example/cat.png)")
    False
    """
    return _render_markdown(text, own_pictures=True)


def _render_markdown(text: str, *, own_pictures: bool = False) -> Markup:
    import nh3

    if len(text) > LONGEST:
        return Markup('<pre tabindex="0">{}</pre>').format(text)
    html = _markdown_renderer(own_pictures).render(_brackets_to_dollars(text))
    clean = nh3.clean(
        html,
        tags=_TAGS | {"img"} if own_pictures else _TAGS,
        attributes=_ATTRIBUTES | {"img": {"src", "alt"}} if own_pictures else _ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)  # noqa: S704 - cleaned by nh3 in the line above


def is_marked_up(text: str) -> bool:
    """Return True if rendering changes more than paragraphs, so that readers may want the source text.

    >>> is_marked_up("plain words"), is_marked_up("**bold** words")
    (False, True)
    """
    return any(f"<{tag}" in render_prose(text) for tag in _TAGS - {"p", "br"})


def _brackets_to_dollars(text: str) -> str:
    r"""Replace \( x \) and \[ x \], which many models write, by dollar signs outside of code."""
    if "\\(" not in text and "\\[" not in text:
        return text
    parts = text.split("```")
    for place in range(0, len(parts), 2):
        for opening, closing, dollars in (("\\(", "\\)", "$"), ("\\[", "\\]", "$$")):
            before, *pieces = parts[place].split(opening)
            for later in pieces:
                inside, separator, after = later.partition(closing)
                before += f"{dollars}{inside.strip()}{dollars}{after}" if separator else opening + later
            parts[place] = before
    return "```".join(parts)


@lru_cache(maxsize=2)
def _markdown_renderer(own_pictures: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    renderer = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    renderer.use(dollarmath_plugin, allow_space=False, allow_digits=False, renderer=_render_formula)
    renderer.add_render_rule("image", _render_own_picture if own_pictures else _render_picture_link)
    # On the page an answer has a heading of level 3 above it, a guideline one of level 2.
    heading = _heading_below(2 if own_pictures else 3)
    for name in ("heading_open", "heading_close"):
        renderer.add_render_rule(name, heading)
    for name in ("fence", "code_block"):
        renderer.add_render_rule(name, _render_code)
    renderer.add_render_rule("th_open", _render_cell)
    renderer.add_render_rule("td_open", _render_cell)
    return renderer


def _render_formula(text: str, options: dict[str, Any]) -> str:
    from latex2mathml.converter import convert

    try:
        return str(convert(text, display="block" if options.get("display_mode") else "inline"))
    except Exception:  # noqa: BLE001 - the library raises whatever it meets in the text of a stranger
        return f"<code>{escape(text)}</code>"


def _render_picture_link(_self: Any, tokens: Any, place: int, _options: Any, _env: Any) -> str:
    """A link, so that no reader's IP address reaches a host that an answer names."""
    token = tokens[place]
    return f'<a href="{escape(token.attrGet("src") or "")}">{escape(token.content or token.attrGet("src") or "")}</a>'


def _render_own_picture(_self: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    from fullbench.web.picture_checks_storage_and_serving import picture_url

    token = tokens[place]
    url_match = _OWN_PICTURE.fullmatch(str(token.attrGet("src") or ""))
    if url_match is None:
        return _render_picture_link(_self, tokens, place, options, env)
    return f'<img src="{picture_url(url_match[1])}" alt="{escape(token.content)}">'


def _render_code(_self: Any, tokens: Any, place: int, _options: Any, _env: Any) -> str:
    """Keyboard users can scroll code with long lines."""
    token = tokens[place]
    language = f' class="language-{escape(token.info.split()[0])}"' if token.info.strip() else ""
    return f'<pre tabindex="0"><code{language}>{escape(token.content)}</code></pre>\n'


def _heading_below(page: int) -> Callable[..., str]:
    """Return a render rule that puts headings of a text below heading level `page`."""

    def heading(_self: Any, tokens: Any, place: int, _options: Any, _env: Any) -> str:
        token = tokens[place]
        level = min(6, int(token.tag[1]) + page)
        return f"<h{level}>" if token.nesting == 1 else f"</h{level}>\n"

    return heading


def _render_cell(_self: Any, tokens: Any, place: int, _options: Any, _env: Any) -> str:
    """The alignment becomes a class because the page forbids inline styles."""
    token = tokens[place]
    side = str(token.attrGet("style") or "").removeprefix("text-align:")
    return f'<{token.tag} class="{escape(side)}">' if side else f"<{token.tag}>"
