"""The public side as a folder of files: it opens from disk, and any web server can host it.

Leaderboards, cards and cases are pages of the same templates as the served ones, with relative links. The list of
verdicts is filtered in the browser, over data that come as scripts: a page opened from disk may fetch nothing else.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
from sqlalchemy import Connection, Select, func, select

from fullbench.core.digests import digest
from fullbench.core.item import SENSITIVE
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.picture_metadata import can_strip, strip_metadata
from fullbench.reports.html_page import SHARED, shrunk
from fullbench.reports.logos import Logo
from fullbench.reports.site_info import Imprint
from fullbench.web.accounts.users import Pseudonyms
from fullbench.web.campaigns.votes import hidden_results
from fullbench.web.database import engine_for, reading, upgrade
from fullbench.web.open_ledgers import study_of
from fullbench.web.page_rendering import environment, static_file
from fullbench.web.results import hidden_cases
from fullbench.web.results.boards import board_store, judge_cards
from fullbench.web.results.boards.board_store import Linked
from fullbench.web.results.catalogue import catalogue_tables, catalogue_updater, rater_pseudonyms
from fullbench.web.results.catalogue.disagreement import is_person
from fullbench.web.results.catalogue.row_helpers import judges
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.pages.page_contents import Views
from fullbench.web.results.pages.shown_names import Names
from fullbench.web.results.site import ledger_edition, metric_downloads
from fullbench.web.results.site.page_urls import judge_name
from fullbench.web.results.site.static_site_data import write_data
from fullbench.web.words import Language, translate

MARKER = "fullbench-site.json"
STATIC = (
    *SHARED,
    *("app.css", "public.css", "scheme.js", "public.js", "site.js", "icon.svg"),
)
WHOLE = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}
LARGE = 1920
THUMB = 240


@dataclass(frozen=True)
class Wish:
    """How much of a ledger a copy holds, and what it is called."""

    title: str = ""
    """The name of the site in place of its imprint's; `fullbench` where neither has one."""
    cases: int = 2_000
    verdicts: int = 200_000
    language: Language = "en"
    charts: bool = True
    """Whether charts are drawn, as far as they can be here."""
    study: str = ""
    """The study that is shown; may be left out where there is only one."""
    url: str = ""
    """The address at which the copy will lie, for previews and citations; without the last slash."""
    judged: frozenset[str] = frozenset()
    """What people judge in open studies (items, or cases whose rulings are judged): its cases are withheld."""
    accounts: Pseudonyms = field(default_factory=dict)
    """The pseudonyms of a site's accounts: a rater who goes by an account's name is shown by it."""
    names: Names = field(default_factory=Names)
    """The names that pages show judges and contestants by."""
    imprint: Imprint = field(default_factory=Imprint)
    """What a lab says of its results."""


@dataclass(frozen=True)
class Written:
    """What a copy came to."""

    folder: Path
    files: int
    bytes: int
    cases: int
    all_cases: int
    verdicts: int
    total: int
    withheld: int = 0


@dataclass
class Wanted:
    """Pictures that pages of the copy show: file name, which picture, how large, veiled or not."""

    found: dict[str, tuple[str, int | None, bool]] = field(default_factory=dict)
    suffixes: dict[str, str] = field(default_factory=dict)

    def whole_suffix(self, picture: Picture) -> str:
        """Return the suffix under which a picture is copied whole; empty if it has to be drawn again."""
        if picture.digest not in self.suffixes:
            is_whole = picture.media in WHOLE and can_strip(picture.data())
            self.suffixes[picture.digest] = WHOLE[picture.media] if is_whole else ""
        return self.suffixes[picture.digest]


class Files:
    """Addresses within the folder, as seen from a page `prefix` away from its top. A copy holds one study."""

    def __init__(self, prefix: str, ledger: Ledger, cases: frozenset[str], wanted: Wanted) -> None:
        self.prefix, self._ledger, self._cases, self._wanted = prefix, ledger, cases, wanted

    def home(self, _study: str = "", task: str = "") -> str:
        return f"{self.prefix}{task_page(task)}"

    def download(self, form: str, _study: str = "") -> str:
        return f"{self.prefix}results.{form}"

    def logo(self, logo: Logo) -> str:
        return f"{self.prefix}logos/{logo.file}"

    def about(self) -> str:
        return f"{self.prefix}about.html"

    def board(self, name: str) -> str:
        return f"{self.prefix}boards/{name}.html"

    def chart(self, board: str, stamp: str, place: tuple[int, int], language: Language) -> str:
        return f"{self.prefix}charts/{chart_file(board, place)}"

    def judges(self, _study: str = "") -> str:
        return f"{self.prefix}judges.html"

    def judge(self, name: str, _study: str = "") -> str:
        return f"{self.prefix}judges/{judge_name(name)}.html"

    def badge(self, name: str, _study: str = "") -> str:
        return f"{self.prefix}judges/{judge_name(name)}.svg"

    def verdicts(self, wanted: Filter, **more: object) -> str:
        asked = wanted.address(**more)
        return f"{self.prefix}verdicts.html" + (f"?{asked}" if asked else "")

    def case(self, key: str, _study: str = "") -> str:
        return f"{self.prefix}cases/{quote(key, safe='')}.html" if key in self._cases else self.about()

    def picture(self, digest: str, tags: Mapping[str, str] | None = None, size: int | None = None) -> str:
        veiled = bool(tags and tags.get(SENSITIVE))
        suffix = "" if veiled or size else self._wanted.whole_suffix(self._ledger.picture(digest))
        name = f"{digest}.{suffix}" if suffix else f"{digest}-{size or LARGE}{'-veiled' if veiled else ''}.webp"
        self._wanted.found[name] = (digest, None if suffix else size or LARGE, veiled)
        return f"{self.prefix}pictures/{name}"

    def bare(self, _digest: str, _tags: Mapping[str, str] | None = None, _size: int | None = None) -> str:
        """A copy holds sensitive pictures veiled only."""
        return ""


def export(ledger: Ledger, out: Path, wish: Wish | None = None) -> Written:
    """Write the public side of one study of a ledger to a folder; the folder is there wholly or not at all."""
    wish = wish or Wish()
    study = study_of(ledger, wish.study)
    _check(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fullbench-site-", dir=out.parent) as name:
        folder = Path(name) / "site"
        folder.mkdir()
        engine = engine_for(f"sqlite:///{Path(name) / 'catalogue.sqlite'}")
        try:
            upgrade(engine)
            rater_pseudonyms.lend(engine, wish.accounts)
            catalogue_updater.update(engine, ledger, study=study)
            hidden_results.mark(engine, wish.judged)
            ledger_edition.note(engine, ledger)
            with reading(engine) as connection:
                written = _Site(connection, ledger, folder, wish, study).write(out)
        finally:
            engine.dispose()
        if out.exists():
            shutil.rmtree(out)
        folder.rename(out)
        out.chmod(0o755)
    return written


def _check(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise InputError("this is a file; name a folder to write to", path=out)
    if out.exists() and any(out.iterdir()) and not (out / MARKER).exists():
        raise InputError("the folder is not empty and holds no earlier copy of a site; name another one", path=out)


class _Site:
    """One copy being written."""

    def __init__(self, connection: Connection, ledger: Ledger, folder: Path, wish: Wish, study: str) -> None:
        self.connection, self.ledger, self.folder, self.wish, self.study = connection, ledger, folder, wish, study
        self.kept_back = hidden_cases.withheld(connection, None)
        self.withheld = hidden_cases.count(connection, self.kept_back)
        self.cases = _chosen(connection, wish.cases, self.kept_back)
        self.pictures = Wanted()
        self.imprint = wish.imprint.titled(wish.title).said_in(wish.language)
        shown = frozenset(self.cases)
        drawing = None if wish.charts else False
        at_top, in_folder = (Files(prefix, ledger, shown, self.pictures) for prefix in ("", "../"))
        self.top, self.below = (
            Views(environment(), places, drawing=drawing, names=wish.names, imprint=wish.imprint)
            for places in (at_top, in_folder)
        )
        self.total = verdict_list.count(connection, Filter(), self.kept_back).n
        self.copied = min(self.total, wish.verdicts)
        self.all_cases = int(connection.execute(select(func.count()).select_from(catalogue_tables.cases)).scalar_one())

    def write(self, out: Path) -> Written:
        self._static()
        self._boards()
        self._judges()
        for key in self.cases:
            values = self.below.case(self.connection, self.ledger, key)
            if values is not None:
                self._page(f"cases/{key}.html", "results/case.html", values)
        self._verdicts()
        self._about()
        for name, (picture, size, veiled) in self.pictures.found.items():
            self._picture(name, self.ledger.picture(picture), size, veiled)
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        return Written(out, len(files), size, len(self.cases), self.all_cases, self.copied, self.total, self.withheld)

    def _file(self, name: str, data: bytes | str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "replace"))

    def _page(self, name: str, template: str, values: Mapping[str, Any]) -> None:
        prefix = "../" * name.count("/")
        text = environment().get_template(template).render(
            **values,
            layout="results/site.html",
            user=None,
            t=partial(translate, self.wish.language),
            language=self.wish.language,
            site=self.imprint.title,
            imprint=self.imprint,
            static=lambda file: f"{prefix}static/{file}",
            address=f"{self.wish.url}/{name}" if self.wish.url else "",
            social_image=f"{self.wish.url}/preview.png" if self.wish.url else f"{prefix}preview.png",
            release=version("fullbench"),
            ledger_id=self.ledger.identity,
        )  # fmt: skip
        self._file(name, text)

    def _static(self) -> None:
        for name in STATIC:
            self._file(f"static/{name}", static_file(name).read_bytes())
        for logo in (*self.imprint.logos, *self.wish.names.logos):
            self._file(f"logos/{logo.file}", logo.data)

    def _charts(self, name: str, all_tables: Sequence[Linked]) -> None:
        for table, linked in enumerate(all_tables if self.below.drawing else ()):
            for place in range(len(linked.charts)):
                drawn = self.below.chart(self.connection, name, (table, place), self.wish.language)
                if drawn is not None:
                    self._file(f"charts/{chart_file(name, (table, place))}", drawn)

    def _boards(self) -> None:
        home = self.top.home(self.connection, self.wish.language) or {}
        there = {"ledger_there": True, "filling": None}
        drawn = self.top.preview(self.connection, self.wish.language, self.imprint.title)
        if drawn is not None:
            self._file("preview.png", drawn)
        self._page(task_page(""), "results/home.html", {**home, **there})
        for task in (str(one) for some in home["story"].tasks.values() for one, _ in some):
            values = self.top.home(self.connection, self.wish.language, task=task)
            if values is not None:
                self._page(task_page(task), "results/home.html", {**values, **there})
        figures = metric_downloads.figures(self.connection, self.study)
        self._file("results.csv", metric_downloads.as_csv(figures))
        facts = metric_downloads.facts(self.connection, self.study, self.imprint, self.ledger.identity)
        self._file("results.json", metric_downloads.as_json(figures, facts))
        for heading in board_store.headings(self.connection):
            values = self.below.board(self.connection, heading.name, self.wish.language)
            if values is not None:
                self._page(f"boards/{heading.name}.html", "results/board.html", values)
                self._charts(heading.name, values["board"].tables)

    def _judges(self) -> None:
        listed = self.top.judges(self.connection, self.wish.language) or {}
        self._page("judges.html", "results/judges.html", listed)
        for judge in judges(self.connection).values():
            values = self.below.judge(self.connection, judge_name(judge), self.wish.language)
            if values is None:
                continue
            self._page(f"judges/{judge_name(judge)}.html", "results/judge.html", values)
            if values["badge"]:
                self._file(f"judges/{judge_name(judge)}.svg", values["badge"])
            if not is_person(judge):
                self._charts(
                    judge_cards.card_name(self.study, judge),
                    [sheet.linked for _, some in values["sections"] for sheet in some],
                )

    def _verdicts(self) -> None:
        chunks = write_data(
            self.connection,
            self.ledger,
            self._file,
            self.copied,
            frozenset(self.cases),
            withheld=self.kept_back,
            thumb=lambda digest, tags: self.top.places.picture(digest, tags, THUMB),
            shown=self.wish.names.shown,
        )
        values = self.top.verdicts(self.connection, Filter(), withheld=self.kept_back, ledger=self.ledger)
        more = {"chunks": chunks, "copied": self.copied, "total": self.total, "withheld": self.withheld}
        self._page("verdicts.html", "results/site_verdicts.html", {**values, **more})

    def _about(self) -> None:
        noted = ledger_edition.edition_of(self.connection, self.study).digest
        source = {"fullbench": version("fullbench"), "ledger": noted, "made": time.strftime("%Y-%m-%d")}
        numbers = {
            "copied": self.copied,
            "total": self.total,
            "cases": len(self.cases),
            "all_cases": self.all_cases,
            "withheld": self.withheld,
            "source": list(source.items()),
        }
        self._page("about.html", "results/site_about.html", {**self.top.common(self.connection, "about"), **numbers})
        self._file(MARKER, orjson.dumps(source, option=orjson.OPT_INDENT_2))

    def _picture(self, name: str, picture: Picture, size: int | None, veiled: bool) -> None:
        data = strip_metadata(picture.data()) if size is None else shrunk(picture, size=size, veiled=veiled)
        if data is not None:
            self._file(f"pictures/{name}", data)


def chart_file(board: str, place: tuple[int, int]) -> str:
    """The file of a chart.

    >>> chart_file("4f", (2, 0))
    '4f-2-0.svg'
    """
    table, chart = place
    return f"{board}-{table}-{chart}.svg"


def task_page(task: str) -> str:
    """The file of the first page, or of its page for one task.

    >>> task_page(""), task_page("task:counting") != task_page("task:colours")
    ('index.html', True)
    """
    return f"index-{digest([task])[:12]}.html" if task else "index.html"


def _chosen(connection: Connection, most: int, kept_back: Select[Any] | None) -> list[str]:
    """The cases that get a page: those on which judges or people differ first, then the newest."""
    v, c = catalogue_tables.verdicts.c, catalogue_tables.cases.c
    worth = func.max(v.opposed * 4 + v.split * 2 + v.swapped)
    asked = (
        select(c.key)
        .join(catalogue_tables.verdicts, v.case_id == c.id)
        .group_by(c.id, c.key)
        .order_by(worth.desc(), c.id.desc())
        .limit(most)
    )
    if kept_back is not None:
        asked = asked.where(c.item_id.not_in(kept_back))
    return list(connection.execute(asked).scalars())
