"""README.zh.md shows the same commands and links as README.md."""

from __future__ import annotations

import re

from tests.docs.test_docs import BLOCK, ROOT

LINK = re.compile(r"\]\((docs/[^)]+\.md|(?!README)[A-Z]+\.(?:md|cff))\)")


def test_both_readmes_have_the_same_code_blocks_and_pages():
    english = (ROOT / "README.md").read_text(encoding="utf-8")
    chinese = (ROOT / "README.zh.md").read_text(encoding="utf-8")
    assert [found[0] for found in BLOCK.finditer(chinese)] == [found[0] for found in BLOCK.finditer(english)]
    links = {link.replace(".zh.md", ".md") for link in LINK.findall(chinese)}
    assert links == set(LINK.findall(english)), "both lead to the same pages, some of them in Chinese"
    assert all((ROOT / place).exists() for place in LINK.findall(chinese))
    assert len(english.splitlines()) <= 120
