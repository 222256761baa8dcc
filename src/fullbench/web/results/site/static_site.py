"""Export the public pages as a folder of files that opens from disk or from any web server.

Pages use the templates of the served ones, with relative links. Data are scripts: pages on disk cannot fetch files.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
from filelock import lock_descriptor
from sqlalchemy import Connection, Select, func, select

from fullbench.core.item import SENSITIVE
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.media import Media
from fullbench.core.picture import Picture
from fullbench.errors import InputError, UserError
from fullbench.ledger.ledger import Ledger
from fullbench.media_metadata_blanking import can_play, clean_pieces
from fullbench.picture_metadata_removal import can_strip, strip_metadata
from fullbench.reports.html_page import SHARED_FILES, shrink_picture
from fullbench.reports.logos_from_local_files import Logo
from fullbench.reports.site_info import Imprint, accent_style
from fullbench.reports.table_formats import render_table
from fullbench.secret_masking_and_text_escapes import replace_controls
from fullbench.version_and_code_digest import __version__, package_digest
from fullbench.web.accounts.users import Pseudonyms
from fullbench.web.campaigns.votes import hidden_open_campaign_cases_and_results
from fullbench.web.database import engine_for, read_transaction, upgrade_schema
from fullbench.web.media_serving import can_preview, preview_of
from fullbench.web.page_rendering import static_file, template_environment
from fullbench.web.results import hidden_cases_and_results
from fullbench.web.results.boards import board_store, judge_cards
from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.catalogue import catalogue_board_and_page_updater, catalogue_tables, rater_pseudonyms
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import (
    contestants_in,
    judge_names_by_id,
    study_ids_by_name,
)
from fullbench.web.results.catalogue.disagreement_flags import is_person
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.pages.case_page import CaseDetails, load_cases
from fullbench.web.results.pages.judge_and_contestant_names_on_pages import Names, names_of_ledger
from fullbench.web.results.pages.page_template_values import Views
from fullbench.web.results.site import leaderboard_metrics_as_one_file, ledger_edition
from fullbench.web.results.site.case_page_processes import (
    KEYS_FILE,
    Pictures,
    WrittenPage,
    WrittenPages,
    page_keys,
    reuse_pages,
    write_in_processes,
)
from fullbench.web.results.site.page_urls import judge_name, thumbnail_address
from fullbench.web.results.site.static_verdict_list_data import write_data
from fullbench.web.shared_writable_ledgers_by_study import ledger_study_name
from fullbench.web.words import Language, translate_sentence

MARKER = "fullbench-site.json"
STATIC = (
    *SHARED_FILES,
    *("app.css", "results.css", "color_scheme.js", "copy_button.js", "results.js", "media_players.js"),
    *("static_copy.js", "icon.svg"),
)
COPIED_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}
# A static copy has no original pictures on demand: this is the size that the zoom shows.
LARGE_SIZE = 1920
PREVIEW = "-preview"
"""Part of the file name of a picture that stands for a video or document, after the digest of that file."""
WHOLE_MEDIA = -1
"""Size of a video or recording in the list of what a page shows."""
READY = "ready"
"""File that says that the catalogue of an unfinished export has its pseudonyms and what is withheld."""
REPORT_SECONDS = 3.0


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
        name = (
            f"{media.digest}{PREVIEW}{'' if whole else f'-{size or LARGE_SIZE}'}{'-veiled' if is_veiled else ''}.webp"
        )
        self._picture_files.previews_by_file[name] = (picture, None if whole else size or LARGE_SIZE, is_veiled)
        return f"{self.prefix}pictures/{name}"

    def bare(self, _digest: str, _tags: Mapping[str, str] | None = None, _size: int | None = None) -> str:
        """Return an empty string: a copy contains only veiled versions of sensitive pictures."""
        return ""


def export_site(
    ledger: Ledger, out: Path, options: SiteOptions | None = None, progress: Callable[[str], None] = lambda _: None
) -> ExportedSite:
    """Write the public pages of one study to a folder. If it fails, the folder is not changed.

    An interrupted export leaves a hidden folder next to `out`, from which the same export continues. Case pages of the
    copy before are reused if nothing on them changed.

    Args:
        ledger: The ledger.
        out: The folder.
        options: What the copy contains.
        progress: Gets sentences about how far the export is.
    """
    options = options or SiteOptions()
    study = ledger_study_name(ledger, options.study)
    _check_folder(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    # Next to `out`, because a folder can only be renamed within one file system.
    part = out.absolute().parent / f".{out.absolute().name}.part"
    with _part_folder(part, ledger, options, study) as is_resumed:
        folder, catalogue = part / "site", f"sqlite:///{part / 'catalogue.sqlite'}"
        folder.mkdir(exist_ok=True)
        engine = engine_for(catalogue)
        try:
            upgrade_schema(engine)
            if not is_resumed:
                rater_pseudonyms.copy_pseudonyms(engine, options.accounts, options.rater_key)
                hidden_open_campaign_cases_and_results.mark_judged_elsewhere(engine, options.judged_keys)
                (part / READY).touch()
            progress(
                "The export continues where it was interrupted."
                if is_resumed
                else "Leaderboards and judge cards are being computed."
            )
            catalogue_board_and_page_updater.update_catalogue(engine, ledger, study=study)
            ledger_edition.store_edition(engine, ledger)
            with read_transaction(engine) as connection:
                writer = _SiteWriter(connection, ledger, folder, options, study)
                exported_site = writer.write(out, catalogue, progress)
        finally:
            engine.dispose()
        # Replace the old copy only now that the new one is complete.
        if out.exists():
            shutil.rmtree(out)
        folder.rename(out)
        out.chmod(0o755)
    return exported_site


@contextmanager
def _part_folder(part: Path, ledger: Ledger, options: SiteOptions, study: str) -> Iterator[bool]:
    """Hold the folder of an unfinished export; True if an earlier export with the same settings left it.

    It is removed at the end, also after a mistake of the user; an interruption leaves it.
    """
    wanted = digest([ledger.identity, study, __version__, repr(options)])
    part.mkdir(mode=0o700, exist_ok=True)
    with (part / "lock").open("w") as lock:
        if not lock_descriptor(lock.fileno(), blocking=False):
            raise InputError("another export is writing this folder; wait for it", path=part)
        settings, ready = part / "settings", part / READY
        is_resumed = ready.exists() and settings.exists() and settings.read_text() == wanted
        if not is_resumed:
            for path in part.iterdir():
                if path.name != "lock":
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            settings.write_text(wanted)
        try:
            yield is_resumed
        except UserError:
            shutil.rmtree(part, ignore_errors=True)
            raise
        shutil.rmtree(part, ignore_errors=True)


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise InputError("this is a file; give a folder", path=out)
    if out.exists() and any(out.iterdir()) and not (out / MARKER).exists():
        raise InputError("the folder is not empty and has no earlier copy of a site; choose another folder", path=out)


class _SiteWriter:
    def __init__(self, connection: Connection, ledger: Ledger, folder: Path, options: SiteOptions, study: str) -> None:
        self.connection, self.ledger, self.folder, self.options, self.study = connection, ledger, folder, options, study
        self.written: set[str] = set()
        self.names = names_of_ledger(ledger, options.names)
        self.withheld_items = hidden_cases_and_results.withheld_items(connection, None)
        self.withheld = hidden_cases_and_results.count_item_verdicts(connection, self.withheld_items)
        self.cases = _select_cases(connection, options.cases, self.withheld_items)
        self.pictures = PictureFiles()
        self.common_values: dict[str, dict[str, Any]] = {}
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

    def write(self, out: Path, catalogue: str, progress: Callable[[str], None]) -> ExportedSite:
        self._static()
        self._boards()
        self._judges()
        self._cases(out, catalogue, progress)
        self._verdicts()
        self._about()
        for name, (picture, size, is_veiled) in self.pictures.pictures_by_file.items():
            if not self._reuse(f"pictures/{name}", out):
                self._picture(name, self.ledger.picture(picture), size, is_veiled)
        for name, (preview, size, is_veiled) in self.pictures.previews_by_file.items():
            if not self._reuse(f"pictures/{name}", out):
                self._picture(name, preview, size, is_veiled)
        for name, media in self.pictures.media_by_file.items():
            if not self._reuse(f"media/{name}", out):
                path = self.folder / "media" / name
                path.parent.mkdir(exist_ok=True)
                with path.open("wb") as file:
                    file.writelines(clean_pieces(media))
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        for path in files:  # what an interrupted export wrote, and what must not be shown any more
            if str(path.relative_to(self.folder)) not in self.written:
                path.unlink()
        files = [path for path in files if path.exists()]
        size = sum(path.stat().st_size for path in files)
        return ExportedSite(
            out, len(files), size, len(self.cases), self.all_cases, self.copied, self.total, self.withheld
        )

    def write_cases(self, cases: Sequence[str]) -> list[Pictures]:
        """Write some case pages and return the pictures of each. Loading them together saves most of the queries."""
        found = load_cases(self.connection, self.ledger, cases)
        return [self._write_case(case, found.get(case)) for case in cases]

    def _write_case(self, case: str, details: CaseDetails | None) -> Pictures:
        shown = self.pictures
        shown.pictures_by_file, shown.media_by_file, shown.previews_by_file = {}, {}, {}
        if details is not None:
            if details.study not in self.common_values:  # the catalogue does not change during an export
                self.common_values[details.study] = self.below.common(self.connection, "verdicts", details.study)
            values = self.below.case_values(details, self.common_values[details.study])
            # The edition of the ledger is on the page about this copy: here it would change every page.
            self._page(case_file(case), "results/case.html", {**values, "edition": {"digest": "", "date": ""}})
        media = {name: (one.digest, WHOLE_MEDIA, False) for name, one in shown.media_by_file.items()}
        previews = {
            name: (name.partition(PREVIEW)[0], size, is_veiled)
            for name, (_, size, is_veiled) in shown.previews_by_file.items()
        }
        return {**shown.pictures_by_file, **media, **previews}

    def _cases(self, out: Path, catalogue: str, progress: Callable[[str], None]) -> None:
        imprint = (self.imprint, self.options.url, self.options.language)
        contestants = sorted(contestants_in(self.connection, study_ids_by_name(self.connection)[self.study]))
        tags = self.connection.execute(select(*catalogue_tables.tags.c).order_by(*catalogue_tables.tags.c[:2])).all()
        settings = (
            package_digest("web", "reports", "core"),
            imprint,
            self.names.stamp,
            contestants,
            digest([list(row) for row in tags]),
        )
        keys = page_keys(self.connection, self.cases, settings)
        reused = reuse_pages((self.folder, out), self.folder, keys, case_file)
        due = [case for case in self.cases if case not in reused]
        written = WrittenPages(reused)
        progress(f"{len(due):,} case pages are due; {len(reused):,} are unchanged.")
        begin = told = time.monotonic()
        arguments = (catalogue, self.ledger.location, self.folder, self.options, self.study)
        done, shown_before = 0, self.pictures.pictures_by_file

        for chunk, pictures in write_in_processes(due, self.write_cases, write_cases, start_writer, arguments):
            written.pages |= {case: WrittenPage(keys[case], shown) for case, shown in zip(chunk, pictures, strict=True)}
            done += len(chunk)
            now = time.monotonic()
            if now - told > REPORT_SECONDS or done == len(due):
                written.write(self.folder)  # an interrupted export continues from here
                left = round((now - begin) / done * (len(due) - done))
                progress(
                    f"{done:,} of {len(due):,} case pages are written" + (f"; about {left:,} s left." if left else ".")
                )
                told = now
        written.write(self.folder)
        self.written |= {KEYS_FILE, *map(case_file, written.pages)}
        self.pictures.pictures_by_file = shown_before
        for page in written.pages.values():
            for name, (picture, size, is_veiled) in page.pictures.items():
                if size == WHOLE_MEDIA:
                    self.pictures.media_by_file[name] = self.ledger.media(picture)
                elif PREVIEW in name:
                    preview = None if self._reuse(f"pictures/{name}", out) else preview_of(self.ledger.media(picture))
                    if preview is not None:
                        self.pictures.previews_by_file[name] = (preview, size, is_veiled)
                else:
                    self.pictures.pictures_by_file[name] = (picture, size, is_veiled)

    def _reuse(self, name: str, out: Path) -> bool:
        """Keep a file that is there, or take it from the copy before: its name has its digest and size."""
        path = self.folder / name
        if not path.is_file() and (earlier := out / name).is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(earlier, path)
        self.written.add(name)
        return path.is_file()

    def _file(self, name: str, data: bytes | str) -> None:
        self.written.add(name)
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
            release=__version__,
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
        source = {"fullbench": __version__, "ledger": ledger_digest, "made": time.strftime("%Y-%m-%d")}
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


_writers: list[_SiteWriter] = []
"""The writer of a process that writes case pages."""


def start_writer(catalogue: str, location: str | Path, folder: Path, options: SiteOptions, study: str) -> None:
    """Open catalogue and ledger in a process that writes case pages."""
    _writers[:] = [
        _SiteWriter(engine_for(catalogue).connect(), Ledger(location, read_only=True), folder, options, study)
    ]


def write_cases(cases: Sequence[str]) -> list[Pictures]:
    """Write some case pages and return the pictures of each."""
    return _writers[0].write_cases(cases)


def case_file(case: str) -> str:
    """Return the file name of a case page."""
    return f"cases/{case}.html"


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
