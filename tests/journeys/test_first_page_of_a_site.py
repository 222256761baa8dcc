"""From a study file to the served first page, its static copy, the report and the download."""

from __future__ import annotations

import csv
import io
import json
import re
import urllib.request
from html import unescape
from pathlib import Path

import pytest

from fullbench.ledger.ledger import Ledger
from tests.support.commands import call, cli, write_rows
from tests.support.data_builders import png
from tests.support.wait_until import until
from tests.web.conftest import axe_violations, start_live

SITE = """
[site]
title = "Words & more"
description = "How many words do three models need? Two judges & a coin rule on every pair."
authors = ["Lin Wei", "Amara Diallo"]
licence = "CC BY 4.0"
licence_link = "https://licence.example.org/by"
homepage = "https://lab.example.org/words"
paper = "https://lab.example.org/words.pdf"
data = "https://lab.example.org/words-data"
date = "2026-11"
logo = "lab.png"
[site.zh]
title = "词语"
description = "三个模型需要多少词？"
[site.zh.labels]
a = "甲 <类>"
[site.labels]
b = "Second kind"
[site.studies.hard]
title = "The hard items"
description = "Items that are harder."
[names."a/one"]
name = "One"
organisation = "House & Sons"
logo = "one.png"
[names."chance?seed=7"]
name = "A coin"
logo = "coin.png"
"""
SAID = (
    "Words & more", "How many words do three models need? Two judges & a coin rule on every pair.",
    "Lin Wei, Amara Diallo", "CC BY 4.0", "2026-11", 'href="https://licence.example.org/by"',
    'href="https://lab.example.org/words"', 'href="https://lab.example.org/words.pdf"',
    'href="https://lab.example.org/words-data"',
)  # fmt: skip


@pytest.fixture(scope="module")
def studied(tmp_path_factory) -> Path:
    """Two studies of three contestants and three judges in one ledger, the first with all that can be said of it."""
    folder = tmp_path_factory.mktemp("front")
    for name, colour in (("lab", (20, 60, 200)), ("one", (20, 160, 60)), ("coin", (200, 160, 20))):
        (folder / f"{name}.png").write_bytes(png(colour, (96, 96)))
    for study, more in (("words", SITE), ("hard", "")):
        items = [{"id": f"{study}{n}", "question": f"What of {n}?", "tags": {"task": "ab"[n % 2]}} for n in range(6)]
        write_rows(folder / f"{study}-items.jsonl", items)
        answers = [
            {"item": item["id"], "contestant": name, "text": "word " * (1 + n + 2 * at)}
            for n, item in enumerate(items)
            for at, name in enumerate(("a/one", "b", "c"))
        ]
        write_rows(folder / f"{study}-answers.jsonl", answers)
        (folder / f"{study}.toml").write_text(
            f'name = "{study}"\nitems = "{study}-items.jsonl"\nresponses = "{study}-answers.jsonl"\n'
            'ballots = ["choice+tie"]\njudges = ["length", "chance?seed=7", "chance?seed=8"]\nledger = "both.ledger"\n'
            f'report = "{study}.html"\n{more}',
            encoding="utf-8",
        )
        cli("run", folder / f"{study}.toml", "--quiet")
    return folder


@pytest.fixture(scope="module")
def copied(studied) -> Path:
    cli("export", "site", "--ledger", studied / "both.ledger", "--study", "words", "--names", studied / "words.toml",
        "--out", studied / "site", "--no-charts")  # fmt: skip
    return studied / "site"


@pytest.fixture(scope="module")
def served(studied, tmp_path_factory):
    live = start_live(
        tmp_path_factory.mktemp("served"), "--ledger", str(studied / "both.ledger"), "--public",
        "--names", str(studied / "words.toml"),
    )  # fmt: skip
    until(lambda: "digest <code" in get(f"{live.url}/"), seconds=120)
    yield live
    live.process.terminate()
    live.process.wait(timeout=120)
    live.engine.dispose()


def get(address: str, language: str = "en") -> str:
    request = urllib.request.Request(address, headers={"Accept-Language": language})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


def header(page: str) -> str:
    """What stands above the switches, as a reader reads it."""
    return unescape(re.search(r"<header class=\"story\".*?</header>", page, re.DOTALL)[0])


def test_the_served_page_its_copy_and_the_report_say_the_same(served, copied, studied):
    first = get(f"{served.url}/?study=words")
    copy = (copied / "index.html").read_text(encoding="utf-8")
    report = unescape((studied / "words.html").read_text(encoding="utf-8"))
    for said in SAID:
        assert said in header(first), said
        assert said in header(copy), said
        assert said in report, said
    for page in (first, copy):
        assert re.search(
            r'<th scope="row" class="words"><img class="logo" src="[^"]+"[^>]*> <span title="a/one">One', page
        )
        assert re.search(r'title="chance\?seed=7"><span><img class="logo"[^>]*> A coin</span></a>', page)
    assert "data:image/webp" in report
    assert "author = {Lin Wei and Amara Diallo}" in report
    plain = (studied / "hard.html").read_text(encoding="utf-8")
    assert "Cite these results" not in plain, "nobody said whose it is"
    assert re.search(
        r'<span class="logo logo-[0-9a-f]{16}" aria-hidden="true"></span> One <span class="origin">', report
    )


def test_the_foot_of_every_page_has_licence_version_ledger_and_digest(served, copied, studied):
    with Ledger(studied / "both.ledger", read_only=True) as ledger:
        digest, identity = ledger.digest(), ledger.identity
    pages = [get(f"{served.url}{path}") for path in ("/?study=words", "/judges", "/verdicts")]
    pages += [path.read_text(encoding="utf-8") for path in copied.rglob("*.html") if path.parent.name != "cases"]
    # A case of a copy has no digest of the whole ledger: it is the same page until its own verdicts change.
    cases = [path.read_text(encoding="utf-8") for path in (copied / "cases").glob("*.html")]
    assert len(pages) + len(cases) > 20
    assert cases
    assert all(digest not in page for page in cases)
    for page in pages:
        foot = re.search(r'<footer class="foot">.*?</footer>', page, re.DOTALL)[0]
        assert '<a rel="license" href="https://licence.example.org/by">CC BY 4.0</a>' in foot
        assert f'<code title="{identity}">' in foot
        assert f'<code title="{digest}">{digest[:16]}</code>' in foot
        assert re.search(r"fullbench \d", foot)
        assert "#cite" in foot
    cited = unescape(re.search(r'<pre[^>]* id="cite">(.*?)</pre>', pages[0], re.DOTALL)[1])
    assert "author = {Lin Wei and Amara Diallo}" in cited
    assert "year = {2026}" in cited
    assert digest[:16] in cited


def test_another_study_and_another_language_have_their_own_words(served):
    hard = get(f"{served.url}/?study=hard")
    assert "The hard items</h1>" in hard
    assert "Items that are harder." in header(hard)
    assert "Lin Wei" in header(hard)
    switch = re.search(r'<nav class="switch studies".*?</nav>', hard, re.DOTALL)[0]
    assert ' aria-current="true">The hard items</a>' in switch
    assert '<a href="/">words</a>' in switch
    chinese = get(f"{served.url}/?study=words", "zh")
    assert re.search(r'<a class="site" href="/">(?:<img [^>]*> )?词语</a>', chinese)
    assert "三个模型需要多少词？" in header(chinese)
    assert "许可：" in header(chinese)
    switches = re.findall(r'<nav class="switch".*?</nav>', chinese, re.DOTALL)
    assert '<span class="of">任务</span>' in switches[0]
    assert [unescape(one) for one in re.findall(r">([^<]+) <span class=\"tally", switches[0])] == [
        "甲 <类>",
        "Second kind",
    ]
    asked = unescape(re.search(r'href="([^"]+)">甲', chinese)[1])
    assert "task=task%3Aa" in asked, "addresses have the name, not its label"
    assert '<span class="badge">任务: 甲 &lt;类&gt;</span>' in get(f"{served.url}{asked}", "zh")
    assert "总体" in re.search(r"<h2>.*?</h2>", chinese, re.DOTALL)[0]


def test_what_is_downloaded_is_what_the_report_computes(served, copied, studied):
    text = get(f"{served.url}/results.csv?study=words")
    assert text == (copied / "results.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["judge"] for row in rows} == {"length", "chance?seed=7", "chance?seed=8"}
    assert {row["contestant"] for row in rows} == {"a/one", "b", "c"}, "data have the full names"
    done = cli("report", "--ledger", studied / "both.ledger", "--study", "words", "--json")
    compared = 0
    for table in json.loads(done.stdout):
        judge = table["name"].removeprefix("leaderboard ").split(",")[0]
        if judge == table["name"]:
            continue
        for rank, contestant, *cells in table["rows"]:
            for measure, cell in zip(table["columns"][2:], cells, strict=True):
                if isinstance(cell, dict):
                    row = next(
                        row for row in rows
                        if (row["judge"], row["contestant"], row["metric"]) == (judge, contestant, measure)
                    )  # fmt: skip
                    assert float(row["value"]) == pytest.approx(cell["value"])
                    ends = [float(row[end]) if row[end] else None for end in ("value_low", "value_high")]
                    assert ends == pytest.approx([cell["low"], cell["high"]])
                    assert {row["rank_best"], row["rank_worst"]} == set(rank.split("-"))
                    compared += 1
    assert compared == len(rows) > 9
    data = json.loads(get(f"{served.url}/results.json?study=words"))
    assert data == json.loads((copied / "results.json").read_text(encoding="utf-8"))
    assert (data["title"], data["authors"]) == ("Words & more", ["Lin Wei", "Amara Diallo"])
    assert len(data["results"]) == len(rows)


def test_logos_are_files_of_our_own(served, copied):
    for page, base in ((get(f"{served.url}/?study=words"), ""), ((copied / "index.html").read_text("utf-8"), copied)):
        sources = set(re.findall(r'<img class="logo[^"]*" src="([^"]+)"', page))
        sources = {source for source in sources if "site-logo" not in source}  # in the head, for every visitor
        assert len(sources) == 3
        for source in sources:
            data = (base / source).read_bytes() if base else urllib.request.urlopen(f"{served.url}{source}").read()
            assert data[8:12] == b"WEBP"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{served.url}/logos/{'0' * 16}.webp")


@pytest.mark.parametrize("command", ["serve", "export", "report", "run"])
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('[site]\nlicense = "MIT"', "[site] has an unknown field 'license'; did you mean 'licence'?"),
        ('[site]\nhomepage = "lab"', "[site] has the homepage 'lab', which does not begin with https://"),
        ('[names.b]\nlogo = "gone.png"', "gone.png' cannot be read (No such file or directory)"),
    ],
)
def test_a_file_that_does_not_fit_is_one_sentence(studied, tmp_path, command, wrong, said):
    path = tmp_path / "wrong.toml"
    whole = (studied / "hard.toml").read_text(encoding="utf-8").replace('"hard-', f'"{studied}/hard-')
    path.write_text(f"{whole}\n{wrong}\n", encoding="utf-8")
    words = {
        "serve": ["serve", "--ledger", studied / "both.ledger", "--data", tmp_path / "web", "--check", "--names", path],
        "export": ["export", "site", "--ledger", studied / "both.ledger", "--study", "hard", "--out", tmp_path / "site",
                   "--names", path],
        "report": ["report", "--ledger", studied / "both.ledger", "--out", tmp_path / "r.html", "--names", path],
        "run": ["run", path, "--ledger", tmp_path / "new.ledger"],
    }[command]  # fmt: skip
    code, done = call(*words)
    assert code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["wrong.toml"], "nothing was made"


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_stranger_sees_it_at_once_and_takes_it_along(served, browser, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("request", lambda asked: heard.append(asked.url) if not asked.url.startswith(served.url) else None)
    page.goto(f"{served.url}/?study=words")
    page.wait_for_function("() => [...document.querySelectorAll('img.logo')].every((one) => one.naturalWidth > 0)")
    assert heard == [], "nothing is fetched from elsewhere, and the policy allows all that is there"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    top = page.locator("h1").bounding_box()
    assert top["y"] < 260
    assert page.locator(".matrix table").first.bounding_box()["y"] < (900 if width > 1000 else 1600)
    with page.expect_download() as taken:
        page.get_by_role("link", name="numbers as CSV").click()
    assert taken.value.suggested_filename == "results.csv"
    page.get_by_role("link", name="how to cite them").click()
    page.locator("#cite").wait_for(state="visible")
    assert axe_violations(page) == []
    context.close()


def test_all_of_it_is_there_without_scripts(copied, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((copied / "index.html").as_uri())
    assert page.locator("h1").inner_text() == "Words & more"
    assert page.get_by_role("link", name="numbers as CSV").is_visible()
    page.get_by_text("Cite these results").first.click()
    assert "Lin Wei and Amara Diallo" in page.locator("#cite").inner_text()
    context.close()
