"""The static copy as files: whole, bounded, with sensitive pictures veiled."""

from __future__ import annotations

import io
import re
from html import unescape
from urllib.parse import unquote, urlsplit

import pytest
from PIL import Image

from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.web.results.site.static_site import MARKER, SiteOptions, export_site
from tests.web.results import making


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    with Ledger(making.fill(tmp_path_factory.mktemp("site") / "l", count=4), read_only=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def copy(ledger, tmp_path_factory):
    return export_site(ledger, tmp_path_factory.mktemp("out") / "site", SiteOptions(language="zh", charts=False))


def test_every_link_leads_to_a_file(copy):
    checked = 0
    for page in copy.folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "<script>" not in text
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            path = urlsplit(unescape(link)).path
            if path:
                assert (page.parent / unquote(path)).exists(), (page.name, link)
                checked += 1
    assert checked > 1000
    assert copy.files == sum(path.is_file() for path in copy.folder.rglob("*"))
    assert "评审名片" in next((copy.folder / "judges").glob("*.html")).read_text(encoding="utf-8")


def test_a_sensitive_picture_is_there_veiled_only(copy, ledger):
    item = next(one for one in ledger.items() if one.tags.get("sensitive"))
    plain = next(one for one in ledger.items() if not one.tags.get("sensitive"))
    files = [path.name for path in (copy.folder / "pictures").glob(f"{item.pictures[0].digest}*")]
    assert files
    assert all("veiled" in name for name in files)
    whole = copy.folder / "pictures" / f"{plain.pictures[0].digest}.png"
    assert whole.read_bytes() == plain.pictures[0].data()
    with Image.open(io.BytesIO((copy.folder / "pictures" / files[0]).read_bytes())) as image:
        assert image.format == "WEBP"


def test_the_size_is_bounded_and_said(ledger, tmp_path):
    made = export_site(ledger, tmp_path / "small", SiteOptions(cases=3, verdicts=50, charts=False))
    assert len(list((tmp_path / "small" / "cases").glob("*.html"))) == made.cases == 3
    assert made.verdicts == 50 < made.total
    about = (tmp_path / "small" / "about.html").read_text(encoding="utf-8")
    assert f"50 of {made.total} verdicts" in about
    assert "the newest 50 of" in (tmp_path / "small" / "verdicts.html").read_text(encoding="utf-8")


def test_a_folder_of_somebody_else_is_left_alone(ledger, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="not empty"):
        export_site(ledger, tmp_path / "mine", SiteOptions(cases=1, charts=False))
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]
    export_site(ledger, tmp_path / "again", SiteOptions(cases=1, verdicts=10, charts=False))
    export_site(ledger, tmp_path / "again", SiteOptions(cases=2, verdicts=10, charts=False))
    assert len(list((tmp_path / "again" / "cases").iterdir())) == 2
    assert (tmp_path / "again" / MARKER).exists()
    assert not list(tmp_path.glob(".*.part"))
