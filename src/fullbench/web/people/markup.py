"""Guidelines: plain text with a little markup, escaped before anything else."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_STRONG = re.compile(r"\*\*(.+?)\*\*")
_CODE = re.compile(r"`([^`]+)`")


def guidelines(text: str) -> Markup:
    """Paragraphs, `# headings`, `## smaller ones`, `- lists`, `**strong**` and `code`; all else is shown as it
    is written.

    >>> str(guidelines("# Be fair\\n\\nRead **all** of it.\\n- <b>look</b>\\n- think")).split("</p>")
    ['<h3>Be fair</h3><p>Read <strong>all</strong> of it.', '<ul><li>&lt;b&gt;look&lt;/b&gt;</li><li>think</li></ul>']
    """
    blocks: list[str] = []
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip()):
        words: list[str] = []
        listed: list[str] = []
        for line in block.split("\n"):
            if line.startswith("#"):
                level = 4 if line.startswith("##") else 3
                blocks += [*_close(words, listed), f"<h{level}>{_inline(line.lstrip('#').strip())}</h{level}>"]
            elif line.lstrip().startswith(("- ", "* ")):
                blocks += _close(words, [])
                listed.append(_inline(line.lstrip()[2:]))
            elif line.strip():
                blocks += _close([], listed)
                words.append(_inline(line))
        blocks += _close(words, listed)
    return Markup("".join(blocks))  # noqa: S704


def _close(words: list[str], listed: list[str]) -> list[str]:
    """What was gathered, as a paragraph or a list; nothing stays behind."""
    blocks = [f"<p>{'<br>'.join(words)}</p>"] if words else []
    blocks += [f"<ul>{''.join(f'<li>{line}</li>' for line in listed)}</ul>"] if listed else []
    words.clear()
    listed.clear()
    return blocks


def _inline(line: str) -> str:
    return _CODE.sub(r"<code>\1</code>", _STRONG.sub(r"<strong>\1</strong>", str(escape(line))))
