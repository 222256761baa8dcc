"""Pages are short and plain: words on a page, words in a sentence and in a paragraph, and no retired words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from tests.cli.test_plain_words import RETIRED

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")])
CHINESE = re.compile(r"[\u4e00-\u9fff]")
WORDS_ON_A_PAGE = 1200
WORDS_IN_A_PARAGRAPH = 90
WORDS_IN_A_SENTENCE = 17.0
LONG_SENTENCE = 30
LONG_SENTENCES = 0.04
LINES_BEFORE_AN_EXAMPLE = 10


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    """Return the text of a page; of a notebook the text between its cells of code."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def prose(text: str) -> str:
    """Return a text without code, quotations, tables, formulas, headings, pictures and addresses.

    >>> prose("# Title\\n\\nA `code` and a [link](there.md).\\n\\n| a | b |\\n\\n> quoted\\n")
    'A x and a link.'
    """
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^\s*(?:\||#|>|!\[|<).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`]*`", "x", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return text.strip()


def paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs and list items, each as one line."""
    for part in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", prose(text), flags=re.MULTILINE):
        if line := " ".join(part.split()):
            yield line


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text.

    >>> list(sentences("One. Two, e.g. this: 1.5 of 2.\\n\\n- An item\\n- Another"))
    ['One.', 'Two, e.g. this: 1.5 of 2.', 'An item', 'Another']
    """
    for paragraph in paragraphs(text):
        for sentence in re.split(
            r"(?<=[.!?:])(?<!e\.g\.)(?<!i\.e\.)(?<!al\.)\s+(?=[A-Z`\"*(x]|\d)|(?<=[。！？])", paragraph
        ):
            if words_in(sentence):
                yield sentence


def words_in(text: str) -> int:
    """Count words; a Chinese sentence has about three words for five characters."""
    chinese = len(CHINESE.findall(text))
    return len(re.findall(r"[\w'’./%&+-]*\w[\w'’./%&+-]*", CHINESE.sub(" ", text))) + chinese * 3 // 5


def numbers_of(text: str) -> list[int]:
    return [words_in(sentence) for sentence in sentences(text)]


EXEMPT_FROM_LENGTH = {
    "docs/reference/licences.md",
    "docs/reference/glossary.md",
    "docs/explanation/claims-and-simulations.md",
}
"""A list made by a script, a list of words by the alphabet, and a list with a row for each claim."""


def words_on(page: Path) -> int:
    """Count the words of a page, tables included, without code blocks."""
    return len(re.sub(r"^```.*?^```", "", text_of(page), flags=re.MULTILINE | re.DOTALL).split())


def test_pages_are_short():
    pages = [page for page in PAGES if name_of(page) not in EXEMPT_FROM_LENGTH]
    assert len(pages) > 80
    assert {name_of(page): words for page in pages if (words := words_on(page)) > WORDS_ON_A_PAGE} == {}


def test_sentences_are_short():
    numbers = [number for page in PAGES for number in numbers_of(text_of(page))]
    assert len(numbers) > 2_000
    assert sum(numbers) / len(numbers) <= WORDS_IN_A_SENTENCE
    assert sum(number > LONG_SENTENCE for number in numbers) / len(numbers) <= LONG_SENTENCES


def test_paragraphs_are_short():
    found = [(name_of(page), part[:60]) for page in PAGES for part in paragraphs(text_of(page)) if words_in(part) > 90]
    assert found == []


RETIRED_IN_DOCS = {pattern: word for pattern, word in RETIRED.items() if "asks" not in pattern} | {
    "unasked": "without permission"
}
"""In prose, "this question asks for two things" is plain; in help and errors, a model is called."""


def test_no_page_has_a_retired_word():
    found = {
        name_of(page): words
        for page in PAGES
        if (
            words := [
                word
                for pattern in RETIRED_IN_DOCS
                for word in re.findall(rf"(?i)\b(?:{pattern})\b", prose(text_of(page)))
            ]
        )
    }
    assert found == {}


def test_how_to_pages_begin_with_an_example():
    """A block of code, a picture or a command within the first lines."""
    late = []
    for page in sorted((DOCS / "how-to").glob("*.md")):
        first = "\n".join(page.read_text(encoding="utf-8").splitlines()[:LINES_BEFORE_AN_EXAMPLE])
        if not re.search(r"^```|^!\[|`(?:fullbench|--)", first, flags=re.MULTILINE):
            late.append(page.name)
    assert late == []


def test_the_limits_find_what_they_are_for():
    long = " ".join(["word"] * 31)
    assert numbers_of(f"Short. {long.capitalize()}. Short again.") == [1, 31, 2]
    assert [words_in(part) for part in paragraphs(f"{long}\n\n- {long} {long} {long}")] == [31, 93]
    assert "stands" in prose("It stands here, and `stands` is code.\n\n> It stands in a quotation.")
    assert numbers_of("这是一个句子。那是另一个句子。") == [3, 4]
