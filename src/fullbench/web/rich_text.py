"""Texts as people read them: Markdown, tables, code and formulas; what comes out can run and fetch nothing.

Answers are written by models, and by whoever wants to steer a reader: raw HTML is shown as it is written, pictures of
other hosts are links, and what the libraries make is cleaned once more by a list of what may stand in a page.
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
def prose(text: str) -> Markup:
    r"""A text as it is shown in a page.

    >>> str(prose("**Short:** 3 < 4 <script>alert(1)</script>"))
    '<p><strong>Short:</strong> 3 &lt; 4 &lt;script&gt;alert(1)&lt;/script&gt;</p>\n'
    >>> "<math" in prose("It is $\\frac{1}{2}$.")
    True
    """
    return _rendered(text)


@lru_cache(maxsize=256)
def guideline(text: str) -> Markup:
    """The same for what organisers write: pictures of this site are shown, those of others are links as ever.

    >>> str(guideline("![a cat](/pictures/" + "ab" * 32 + ")")).startswith('<p><img src="/pictures/abab')
    True
    >>> "<img" in guideline("![a cat](https://elsewhere.example/cat.png)")
    False
    """
    return _rendered(text, own_pictures=True)


def _rendered(text: str, *, own_pictures: bool = False) -> Markup:
    import nh3

    if len(text) > LONGEST:
        return Markup('<pre tabindex="0">{}</pre>').format(text)
    made = _renderer(own_pictures).render(_bracketed(text))
    clean = nh3.clean(
        made,
        tags=_TAGS | {"img"} if own_pictures else _TAGS,
        attributes=_ATTRIBUTES | {"img": {"src", "alt"}} if own_pictures else _ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)  # noqa: S704 - cleaned by nh3 in the line above


def is_marked_up(text: str) -> bool:
    """Whether rendering changes more than paragraphs, so that a reader may want to see what was written.

    >>> is_marked_up("plain words"), is_marked_up("**bold** words")
    (False, True)
    """
    return any(f"<{tag}" in prose(text) for tag in _TAGS - {"p", "br"})


def _bracketed(text: str) -> str:
    r"""LaTeX's own brackets as dollars, outside of code: many models write \( x \) and \[ x \]."""
    if "\\(" not in text and "\\[" not in text:
        return text
    parts = text.split("```")
    for place in range(0, len(parts), 2):
        for opening, closing, dollars in (("\\(", "\\)", "$"), ("\\[", "\\]", "$$")):
            before, *rest = parts[place].split(opening)
            for later in rest:
                inside, closed, after = later.partition(closing)
                before += f"{dollars}{inside.strip()}{dollars}{after}" if closed else opening + later
            parts[place] = before
    return "```".join(parts)


@lru_cache(maxsize=2)
def _renderer(own_pictures: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    made = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    made.use(dollarmath_plugin, allow_space=False, allow_digits=False, renderer=_formula)
    made.add_render_rule("image", _own_picture if own_pictures else _picture)
    # An answer stands below a heading of its own (h3), a guideline below that of its part of the page (h2).
    heading = _heading_below(2 if own_pictures else 3)
    for name in ("heading_open", "heading_close"):
        made.add_render_rule(name, heading)
    for name in ("fence", "code_block"):
        made.add_render_rule(name, _code)
    made.add_render_rule("th_open", _cell)
    made.add_render_rule("td_open", _cell)
    return made


def _formula(text: str, options: dict[str, Any]) -> str:
    """A formula as MathML, which browsers set themselves; one that cannot be read stands as it was written."""
    from latex2mathml.converter import convert

    try:
        return str(convert(text, display="block" if options.get("display_mode") else "inline"))
    except Exception:  # noqa: BLE001 - the library raises whatever it meets in the text of a stranger
        return f"<code>{escape(text)}</code>"


def _picture(_self: Any, tokens: Any, place: int, _options: Any, _env: Any) -> str:
    """A picture of somewhere else is a link: no reader's address goes to a host that an answer names."""
    token = tokens[place]
    return f'<a href="{escape(token.attrGet("src") or "")}">{escape(token.content or token.attrGet("src") or "")}</a>'


def _own_picture(_self: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    """A picture that lies on this site, by its digest; others as ever."""
    from fullbench.web.picture_serving import picture_url

    token = tokens[place]
    own = _OWN_PICTURE.fullmatch(str(token.attrGet("src") or ""))
    if own is None:
        return _picture(_self, tokens, place, options, env)
    return f'<img src="{picture_url(own[1])}" alt="{escape(token.content)}">'


def _code(_self: Any, tokens: Any, place: int, _options: Any, _env: Any) -> str:
    """Code; where its lines are longer than the page is wide, keys scroll it, too."""
    token = tokens[place]
    language = f' class="language-{escape(token.info.split()[0])}"' if token.info.strip() else ""
    return f'<pre tabindex="0"><code{language}>{escape(token.content)}</code></pre>\n'


def _heading_below(page: int) -> Callable[..., str]:
    """Headings of a text stand below those of the page it is shown in."""

    def heading(_self: Any, tokens: Any, place: int, _options: Any, _env: Any) -> str:
        token = tokens[place]
        level = min(6, int(token.tag[1]) + page)
        return f"<h{level}>" if token.nesting == 1 else f"</h{level}>\n"

    return heading


def _cell(_self: Any, tokens: Any, place: int, _options: Any, _env: Any) -> str:
    """A cell of a table; its side is a class, for the page allows no styles in its lines."""
    token = tokens[place]
    side = str(token.attrGet("style") or "").removeprefix("text-align:")
    return f'<{token.tag} class="{escape(side)}">' if side else f"<{token.tag}>"
