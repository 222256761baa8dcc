"""Every sentence that the interface shows has a Chinese translation, with the same names to fill in."""

import json
import re
from pathlib import Path

import fullbench.web
from fullbench.web.words import chinese_translations

WEB = Path(fullbench.web.__file__).parent
IN_TEMPLATE = re.compile(r"""\bt\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")
IN_CODE = re.compile(r'\b(?:key|t)\(\s*"((?:[^"\\]|\\.)*)"\s*[,)]')
ACTS = re.compile(r'audit\.write\(\s*\w+,\s*(?:\w+|None),\s*"([^"]+)"')


def used() -> set[str]:
    found = {a or b for path in WEB.rglob("*.html") for a, b in IN_TEMPLATE.findall(path.read_text(encoding="utf-8"))}
    for path in WEB.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found |= set(IN_CODE.findall(text)) | set(ACTS.findall(text))
    return {sentence.replace('\\"', '"') for sentence in found}


def test_every_sentence_is_translated():
    assert len(used()) > 80
    assert sorted(used() - set(chinese_translations())) == []


def test_translations_fill_in_the_same_names():
    for english, translated in chinese_translations().items():
        assert sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", translated)), english
        assert re.search(r"[\u4e00-\u9fff\uff00-\uffef]", translated), english


def test_two_files_never_disagree():
    said: dict[str, str] = {}
    for path in sorted((WEB / "words").glob("zh_*.json")):
        for english, translated in json.loads(path.read_text(encoding="utf-8")).items():
            assert said.setdefault(english, translated) == translated, f"{path.name}: {english}"


def test_no_words_stand_in_a_template_outside_of_t():
    """Text between tags goes through `t`; names of languages and of machines' things stand as they are."""
    allowed = {"English", "中文", "·", "openapi.json", "curl", "/api/v1/me"}
    for path in WEB.rglob("*.html"):
        text = re.sub(r"<(script|style|pre|kbd)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", text, flags=re.DOTALL)
        text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
        bare = [bit.strip() for bit in re.split(r"<[^>]*>", text)]
        loose = [bit for bit in bare if re.search(r"[^\W\d_]{2,}", bit) and bit not in allowed]
        assert loose == [], f"{path.name}: {loose}"


def test_the_language_is_taken_from_the_browser_and_then_remembered(client):
    assert "Sign in" in client.get("/login").text
    client.headers["Accept-Language"] = "zh-CN,zh;q=0.9,en;q=0.8"
    page = client.get("/login").text
    assert "登录" in page
    assert '<html lang="zh-CN">' in page
    assert client.submit("/language", {"to": "en", "next": "/login"}).headers["location"] == "/login"
    assert "Sign in" in client.get("/login").text
    assert client.submit("/language", {"to": "xx"}).status_code == 400
