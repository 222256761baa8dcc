"""Export the public pages as a folder of files that opens from disk or from any web server.

Leaderboards, cards and cases use the same templates as the served pages, with relative links. The browser filters the
list of verdicts. Its data are scripts, because a page opened from disk cannot fetch other files.
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

from fullbench.core.item import SENSITIVE
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.media import Media
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.media_metadata_blanking import can_play, clean_pieces
from fullbench.picture_metadata_removal import can_strip, strip_metadata
from fullbench.reports.html_page import SHARED_FILES, shrink_picture
from fullbench.reports.logos_from_local_files import Logo
from fullbench.reports.site_info import Imprint, accent_style
from fullbench.reports.table_formats import render_table
from fullbench.secret_masking_and_text_escapes import replace_controls
from fullbench.web.accounts.users import Pseudonyms
from fullbench.web.campaigns.votes import hidden_open_campaign_cases_and_results
from fullbench.web.database import engine_for, read_transaction, upgrade_schema
from fullbench.web.media_serving import can_preview, preview_of
from fullbench.web.page_rendering import static_file, template_environment
from fullbench.web.results import hidden_cases_and_results
from fullbench.web.results.boards import board_store, judge_cards
from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.catalogue import catalogue_board_and_page_updater, catalogue_tables, rater_pseudonyms
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import judge_names_by_id
from fullbench.web.results.catalogue.disagreement_flags import is_person
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.pages.judge_and_contestant_names_on_pages import Names, names_of_ledger
from fullbench.web.results.pages.page_template_values import Views
from fullbench.web.results.site import leaderboard_metrics_as_one_file, ledger_edition
from fullbench.web.results.site.page_urls import judge_name, thumbnail_address
from fullbench.web.results.site.static_verdict_list_data import write_data
from fullbench.web.shared_writable_ledgers_by_study import ledger_study_name
from fullbench.web.words import Language, translate_sentence

MARKER = "fullbench-site.json"
STATIC = (
    *SHARED_FILES,
    *("app.css", "results.css", "color_scheme.js", "results.js", "media_players.js", "static_copy.js", "icon.svg"),
)
COPIED_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}
# A static copy has no original pictures on demand: this is the size that the zoom shows.
LARGE_SIZE = 1920


@dataclass(frozen=True)
class SiteOptions:
    """Options of a static copy: size limits, title, language, study."""

    title: str = ""
    """Name of the site instead of its imprint's; `fullbench` if neither has one."""
    cases: int = 2_000
    verdicts: int = 200_000
    language: Language = "en"
    charts: bool = True
    """Whether charts are drawn, if the chart library is installed."""
    study: str = ""
    """The study to show; may be empty if there is only one."""
    url: str = ""
    """Address of the copy, for previews and citations; without the last slash."""
    judged_keys: frozenset[str] = frozenset()
    """Items (or cases whose verdicts are reviewed) of open campaigns; their cases are withheld."""
    accounts: Pseudonyms = field(default_factory=dict)
    """Pseudonyms of a site's accounts, shown instead of raters with an account's name."""
    rater_key: bytes = b""
    """Key of a site's pseudonyms of other raters; a copy without one makes its own."""
    names: Names = field(default_factory=Names)
    """Chosen names; other judges and contestants get short names."""
    imprint: Imprint = field(default_factory=Imprint)


@dataclass(frozen=True)
class ExportedSite:
    """Summary of a written copy."""

    folder: Path
    files: int
    bytes: int
    cases: int
    all_cases: int
    verdicts: int
    total: int
    withheld: int = 0


@dataclass
class PictureFiles:
    """Pictures used by pages of the copy: file name, digest, size, veiled or not."""

    pictures_by_file: dict[str, tuple[str, int | None, bool]] = field(default_factory=dict)
    suffixes: dict[str, str] = field(default_factory=dict)
    media_by_file: dict[str, Media] = field(default_factory=dict)
    """Videos and recordings used by pages, by file name."""
    previews_by_file: dict[str, tuple[Picture, int | None, bool]] = field(default_factory=dict)
    """Pictures that stand for videos and documents, by file name: picture, size, veiled or not."""

    def whole_suffix(self, picture: Picture) -> str:
        """Return the suffix of a picture that is copied whole, or an empty string if it must be redrawn."""
        if picture.digest not in self.suffixes:
            is_whole = picture.media_type in COPIED_SUFFIXES and can_strip(picture.data())
            self.suffixes[picture.digest] = COPIED_SUFFIXES[picture.media_type] if is_whole else ""
        return self.suffixes[picture.digest]


class StaticPageUrls:
    """Relative URLs within the folder; `prefix` leads from the page to the top. A copy has one study."""

    def __init__(self, prefix: str, ledger: Ledger, cases: frozenset[str], picture_files: PictureFiles) -> None:
        self.prefix, self._ledger, self._cases, self._picture_files = prefix, ledger, cases, picture_files

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

    def verdicts(self, verdict_filter: Filter, **more: object) -> str:
        query = verdict_filter.address(**more)
        return f"{self.prefix}verdicts.html" + (f"?{query}" if query else "")

    def case(self, key: str, _study: str = "") -> str:
        return f"{self.prefix}cases/{quote(key, safe='')}.html" if key in self._cases else self.about()

    def picture(self, digest: str, tags: Mapping[str, str] | None = None, size: int | None = None) -> str:
        is_veiled = bool(tags and tags.get(SENSITIVE))
        suffix = "" if is_veiled or size else self._picture_files.whole_suffix(self._ledger.picture(digest))
        name = f"{digest}.{suffix}" if suffix else f"{digest}-{size or LARGE_SIZE}{'-veiled' if is_veiled else ''}.webp"
        self._picture_files.pictures_by_file[name] = (digest, None if suffix else size or LARGE_SIZE, is_veiled)
        return f"{self.prefix}pictures/{name}"

    def media(self, media: Media, tags: Mapping[str, str] | None = None) -> str:
        """Return the URL of a video or recording; empty if it is sensitive or people cannot get it."""
        if (tags and tags.get(SENSITIVE)) or not can_play(media):
            return ""
        name = f"{media.digest}.{media.suffix}"
        self._picture_files.media_by_file[name] = media
        return f"{self.prefix}media/{name}"

    def preview(self, media: Media, tags: Mapping[str, str] | None = None, size: int | None = None) -> str:
        picture = preview_of(media) if can_preview(media) else None
        if picture is None:
            return ""
        is_veiled = bool(tags and tags.get(SENSITIVE))
        whole = size is None and not is_veiled and picture.media_type == "image/webp"
        name = f"{media.digest}-preview{'' if whole else f'-{size or LARGE_SIZE}'}{'-veiled' if is_veiled else ''}.webp"
        self._picture_files.previews_by_file[name] = (picture, None if whole else size or LARGE_SIZE, is_veiled)
        return f"{self.prefix}pictures/{name}"

    def bare(self, _digest: str, _tags: Mapping[str, str] | None = None, _size: int | None = None) -> str:
        """Return an empty string: a copy contains only veiled versions of sensitive pictures."""
        return ""


def export_site(ledger: Ledger, out: Path, options: SiteOptions | None = None) -> ExportedSite:
    """Write the public pages of one study to a folder. If it fails, the folder is not changed."""
    options = options or SiteOptions()
    study = ledger_study_name(ledger, options.study)
    _check_folder(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    # Next to `out`, because a folder can only be renamed within one file system.
    with tempfile.TemporaryDirectory(prefix=".fullbench-site-", dir=out.parent) as name:
        folder = Path(name) / "site"
        folder.mkdir()
        engine = engine_for(f"sqlite:///{Path(name) / 'catalogue.sqlite'}")
        try:
            upgrade_schema(engine)
            rater_pseudonyms.copy_pseudonyms(engine, options.accounts, options.rater_key)
            catalogue_board_and_page_updater.update_catalogue(engine, ledger, study=study)
            hidden_open_campaign_cases_and_results.mark_judged_elsewhere(engine, options.judged_keys)
            ledger_edition.store_edition(engine, ledger)
            with read_transaction(engine) as connection:
                exported_site = _SiteWriter(connection, ledger, folder, options, study).write(out)
        finally:
            engine.dispose()
        # Replace the old copy only now that the new one is complete.
        if out.exists():
            shutil.rmtree(out)
        folder.rename(out)
        out.chmod(0o755)
    return exported_site


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise InputError("this is a file; name a folder to write to", path=out)
    if out.exists() and any(out.iterdir()) and not (out / MARKER).exists():
        raise InputError("the folder is not empty and holds no earlier copy of a site; name another one", path=out)


class _SiteWriter:
    def __init__(self, connection: Connection, ledger: Ledger, folder: Path, options: SiteOptions, study: str) -> None:
        self.connection, self.ledger, self.folder, self.options, self.study = connection, ledger, folder, options, study
        self.names = names_of_ledger(ledger, options.names)
        self.withheld_items = hidden_cases_and_results.withheld_items(connection, None)
        self.withheld = hidden_cases_and_results.count_item_verdicts(connection, self.withheld_items)
        self.cases = _select_cases(connection, options.cases, self.withheld_items)
        self.pictures = PictureFiles()
        self.imprint = options.imprint.with_title(options.title).for_language(options.language)
        case_keys = frozenset(self.cases)
        drawing = None if options.charts else False
        at_top, in_folder = (StaticPageUrls(prefix, ledger, case_keys, self.pictures) for prefix in ("", "../"))
        self.top, self.below = (
            Views(template_environment(), urls, drawing=drawing, names=lambda: self.names, imprint=options.imprint)
            for urls in (at_top, in_folder)
        )
        self.total = verdict_list.count_verdicts(connection, Filter(), self.withheld_items).n
        self.copied = min(self.total, options.verdicts)
        self.all_cases = int(connection.execute(select(func.count()).select_from(catalogue_tables.cases)).scalar_one())

    def write(self, out: Path) -> ExportedSite:
        self._static()
        self._boards()
        self._judges()
        for key in self.cases:
            values = self.below.case(self.connection, self.ledger, key)
            if values is not None:
                self._page(f"cases/{key}.html", "results/case.html", values)
        self._verdicts()
        self._about()
        for name, (picture, size, is_veiled) in self.pictures.pictures_by_file.items():
            self._picture(name, self.ledger.picture(picture), size, is_veiled)
        for name, (preview, size, is_veiled) in self.pictures.previews_by_file.items():
            self._picture(name, preview, size, is_veiled)
        for name, media in self.pictures.media_by_file.items():
            path = self.folder / "media" / name
            path.parent.mkdir(exist_ok=True)
            with path.open("wb") as file:
                file.writelines(clean_pieces(media))
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        return ExportedSite(
            out, len(files), size, len(self.cases), self.all_cases, self.copied, self.total, self.withheld
        )

    def _file(self, name: str, data: bytes | str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "replace"))

    def _page(self, name: str, template: str, values: Mapping[str, Any]) -> None:
        prefix = "../" * name.count("/")
        text = template_environment().get_template(template).render(
            **values,
            layout="results/static_copy.html",
            user=None,
            t=partial(translate_sentence, self.options.language),
            language=self.options.language,
            site=self.imprint.title,
            imprint=self.imprint,
            static=lambda file: f"{prefix}static/{file}",
            address=f"{self.options.url}/{name}" if self.options.url else "",
            social_image=f"{self.options.url}/preview.png" if self.options.url else f"{prefix}preview.png",
            release=version("fullbench"),
            ledger_id=self.ledger.identity,
        )  # fmt: skip
        self._file(name, replace_controls(text))

    def _static(self) -> None:
        for name in STATIC:
            self._file(f"static/{name}", static_file(name).read_bytes())
        if self.imprint.accent:
            self._file("static/accent.css", accent_style(self.imprint.accent))
        for logo in (*self.imprint.logos, *self.names.logos):
            self._file(f"logos/{logo.file}", logo.data)

    def _charts(self, name: str, all_tables: Sequence[LinkedTable]) -> None:
        for table, linked_table in enumerate(all_tables if self.below.drawing else ()):
            for place in range(len(linked_table.charts)):
                svg = self.below.chart(self.connection, name, (table, place), self.options.language)
                if svg is not None:
                    self._file(f"charts/{chart_file(name, (table, place))}", svg)

    def _boards(self) -> None:
        home = self.top.home(self.connection, self.options.language) or {}
        ledger_state = {"ledger_there": True, "filling": None}
        image = self.top.preview(self.connection, self.options.language, self.imprint.title)
        if image is not None:
            self._file("preview.png", image)
        self._page(task_page(""), "results/home.html", {**home, **ledger_state})
        for task in (str(tag_task) for tasks in home["story"].tasks.values() for tag_task, _ in tasks):
            values = self.top.home(self.connection, self.options.language, task=task)
            if values is not None:
                self._page(task_page(task), "results/home.html", {**values, **ledger_state})
        metrics = leaderboard_metrics_as_one_file.metric_table(self.connection, self.study)
        self._file("results.csv", render_table(metrics, "csv"))
        metadata = leaderboard_metrics_as_one_file.download_metadata(
            self.connection, self.study, self.imprint, self.ledger.identity
        )
        self._file("results.json", leaderboard_metrics_as_one_file.as_json(metrics, metadata))
        for heading in board_store.board_headings(self.connection):
            values = self.below.board(self.connection, heading.name, self.options.language)
            if values is not None:
                self._page(f"boards/{heading.name}.html", "results/board.html", values)
                self._charts(heading.name, values["board"].tables)

    def _judges(self) -> None:
        page_values = self.top.judges(self.connection, self.options.language) or {}
        self._page("judges.html", "results/judges.html", page_values)
        for judge in judge_names_by_id(self.connection).values():
            values = self.below.judge(self.connection, judge_name(judge), self.options.language)
            if values is None:
                continue
            self._page(f"judges/{judge_name(judge)}.html", "results/judge.html", values)
            if values["badge"]:
                self._file(f"judges/{judge_name(judge)}.svg", values["badge"])
            if not is_person(judge):
                self._charts(
                    judge_cards.card_name(self.study, judge),
                    [sheet.linked_table for _, section_sheets in values["sections"] for sheet in section_sheets],
                )

    def _verdicts(self) -> None:
        chunks = write_data(
            self.connection,
            self.ledger,
            self._file,
            self.copied,
            frozenset(self.cases),
            withheld_items=self.withheld_items,
            thumbnail_url=lambda media, tags: thumbnail_address(self.top.urls, media, tags),
            display_name=self.names.shown_name,
        )
        values = self.top.verdicts(self.connection, Filter(), withheld_items=self.withheld_items, ledger=self.ledger)
        copy_values = {"chunks": chunks, "copied": self.copied, "total": self.total, "withheld": self.withheld}
        self._page("verdicts.html", "results/static_copy_verdicts.html", {**values, **copy_values})

    def _about(self) -> None:
        ledger_digest = ledger_edition.edition_of(self.connection, self.study).digest
        source = {"fullbench": version("fullbench"), "ledger": ledger_digest, "made": time.strftime("%Y-%m-%d")}
        numbers = {
            "copied": self.copied,
            "total": self.total,
            "cases": len(self.cases),
            "all_cases": self.all_cases,
            "withheld": self.withheld,
            "source": list(source.items()),
        }
        self._page(
            "about.html", "results/static_copy_about.html", {**self.top.common(self.connection, "about"), **numbers}
        )
        self._file(MARKER, orjson.dumps(source, option=orjson.OPT_INDENT_2))

    def _picture(self, name: str, picture: Picture, size: int | None, is_veiled: bool) -> None:
        data = (
            strip_metadata(picture.data()) if size is None else shrink_picture(picture, size=size, is_veiled=is_veiled)
        )
        if data is not None:
            self._file(f"pictures/{name}", data)


def chart_file(board: str, place: tuple[int, int]) -> str:
    """Return the file name of a chart.

    >>> chart_file("4f", (2, 0))
    '4f-2-0.svg'
    """
    table, chart = place
    return f"{board}-{table}-{chart}.svg"


def task_page(task: str) -> str:
    """Return the file name of the first page, or of its page for one task.

    >>> task_page(""), task_page("task:counting") != task_page("task:colours")
    ('index.html', True)
    """
    return f"index-{digest([task])[:12]}.html" if task else "index.html"


def _select_cases(connection: Connection, max_cases: int, withheld_items: Select[Any] | None) -> list[str]:
    """Cases with disagreement first, then the newest."""
    v, c = catalogue_tables.verdicts.c, catalogue_tables.cases.c
    # The weights are those of `disagreement.DOUBT_WEIGHTS`.
    worth = func.max(v.opposed * 4 + v.split * 2 + v.swapped)
    query = (
        select(c.key)
        .join(catalogue_tables.verdicts, v.case_id == c.id)
        .group_by(c.id, c.key)
        .order_by(worth.desc(), c.id.desc())
        .limit(max_cases)
    )
    if withheld_items is not None:
        query = query.where(c.item_id.not_in(withheld_items))
    return list(connection.execute(query).scalars())
