"""The site of the docs: all pages, a reference from the code, and no link that leads nowhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import fullbench
from fullbench.models import model_specs
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.study_file import Study

ROOT = Path(__file__).parents[2]
KINDS = ("tutorials", "how-to", "reference", "explanation", "papers")
LINK = re.compile(r"(?<!`)\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("docs") / "docs"
    subprocess.run([sys.executable, "-m", "scripts.docs", str(target)], cwd=ROOT, check=True, timeout=120)
    return target


def test_every_link_leads_somewhere(pages):
    wrong = []
    for page in pages.rglob("*.md"):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in LINK.findall(text):
            if "://" not in link and not link.startswith("mailto:") and not (page.parent / link).exists():
                wrong.append(f"{page.relative_to(pages)}: {link}")
    assert wrong == []


def test_notebooks_are_pages_with_what_their_cells_showed(pages):
    links = (pages / "tutorials" / "notebooks.md").read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs" / "tutorials" / "notebooks").glob("*.ipynb")):
        page = (pages / "tutorials" / "notebooks" / f"{path.stem}.md").read_text(encoding="utf-8")
        assert f"](notebooks/{path.stem}.md)" in links
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            assert "".join(cell["source"]) in page
            for output in cell.get("outputs", ()):
                shown = output["data"].get("text/html", output["data"]["text/plain"])
                assert " ".join("".join(shown).split()) in " ".join(page.split())


def test_the_gallery_has_every_picture_with_its_words(pages):
    gallery = (pages / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[([^\]]+)\]\((images/[^)]+)\)", gallery)
    there = {path.relative_to(pages).as_posix() for path in (pages / "images").rglob("*.png")}
    assert {place for _, place in shown} == there
    assert all(f"**{words}**" in gallery for words, _ in shown)


def test_the_reference_has_every_command_setting_and_name(pages):
    from typer.main import get_command

    from fullbench.cli.all_commands import app

    commands = (pages / "reference" / "commands.md").read_text(encoding="utf-8")
    for name in get_command(app).list_commands(None):
        assert f"## `fullbench {name}`" in commands
    settings = (pages / "reference" / "settings.md").read_text(encoding="utf-8")
    for entry in fields(Study):
        assert (f"| `{entry.name}` |" in settings) == (entry.name not in {"path", "options", "said"})
    for option in (
        *model_specs.SAMPLING,
        *model_specs.MEDIA,
        *model_specs.LIMITS,
        *model_specs.PRICE,
        *model_specs.CACHING,
        *model_specs.ACCESS,
    ):
        assert f"`{option}`" in settings
    for option in judge_contestant_and_benchmark_specs.JUDGE_OPTIONS:
        assert re.search(rf"\b{option}\b", settings.partition("## Options of a judge")[2]), option
    assert re.search(r"\| `FULLBENCH_LEDGER` \| \w+", settings)
    api = (pages / "reference" / "api.md").read_text(encoding="utf-8")
    for name in fullbench.__all__:
        assert f"## `{name}`" in api
    assert "orders: Orders = 'both'" in api, "types without quotes, values with theirs"


def test_every_page_of_the_navigation_is_there(pages):
    named = re.findall(r": ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert [page for page in named if not (pages / page).exists()] == []
    kinds = [path for kind in KINDS for path in (ROOT / "docs" / kind).rglob("*.md")]
    own = {page.relative_to(ROOT / "docs").as_posix() for page in kinds}
    assert list((ROOT / "docs").glob("*.md")) == [], "a page belongs to one of the kinds, a folder each"
    assert own <= set(named), "a page that no menu names is not found"


@pytest.fixture(scope="module")
def site(pages, tmp_path_factory) -> Path:
    if shutil.which("mkdocs", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("mkdocs is not installed: `make docs` installs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("build/docs", str(pages))
    (folder / "mkdocs.yml").write_text(config.replace("build/site", str(folder / "site")), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-f", str(folder / "mkdocs.yml")]
    subprocess.run(command, check=True, timeout=200)
    return folder / "site"


def test_the_site_is_built(site):
    assert (site / "index.html").exists()


@pytest.mark.parametrize(("words", "title"), [("length bias", "Can this judge be trusted?"), ("评审 ", "")])
def test_search_works_from_disk(site, browser, words, title):
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.click("input.md-search__input")
    page.keyboard.type(words)
    page.wait_for_selector(".md-search-result__link")
    assert re.match(r"[1-9]\d* matching document", page.inner_text(".md-search-result__meta"))
    assert title in page.inner_text(".md-search-result__list")
    page.close()
