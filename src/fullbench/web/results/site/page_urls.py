"""URLs of the public pages, so that the same templates render the served site and the static copy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import quote, urlencode

from fullbench.core.item import SENSITIVE
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.media import Media
from fullbench.reports.logos_from_local_files import Logo
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.words import Language


class PageUrls(Protocol):
    """URLs that templates use. An empty `study` is the first one."""

    def home(self, study: str = "", task: str = "") -> str:
        """Return the first page of a study, for all items or for one task (see `boards.first_page_matrix.Task`)."""
        ...

    def download(self, form: str, study: str = "") -> str:
        """Return the file with all metrics of a study's leaderboards, `csv` or `json`."""
        ...

    def logo(self, logo: Logo) -> str: ...
    def board(self, name: str) -> str: ...
    def chart(self, board: str, stamp: str, place: tuple[int, int], language: Language) -> str: ...
    def judges(self, study: str = "") -> str: ...
    def judge(self, name: str, study: str = "") -> str: ...
    def badge(self, name: str, study: str = "") -> str: ...
    def verdicts(self, verdict_filter: Filter, **more: object) -> str:
        """Return the list of cases. `more` are further query parameters."""
        ...

    def case(self, key: str, study: str = "") -> str: ...
    def picture(self, digest: str, tags: Mapping[str, str] | None = None, size: int | None = None) -> str: ...
    def media(self, media: Media, tags: Mapping[str, str] | None = None) -> str:
        """Return the URL of a video or recording, or an empty string if people cannot get it."""
        ...

    def preview(self, media: Media, tags: Mapping[str, str] | None = None, size: int | None = None) -> str:
        """Return the URL of a picture that stands for a video or document, or an empty string if there is none."""
        ...

    def bare(self, digest: str, tags: Mapping[str, str] | None = None, size: int | None = None) -> str:
        """Return a sensitive picture without its veil. Empty if it has none, or if it stays veiled."""
        ...


THUMBNAIL_SIZE = 240


def thumbnail_address(urls: PageUrls, media: Media, tags: Mapping[str, str]) -> str:
    """Return the URL of a small picture of a file for lists, or an empty string if there is none."""
    if media.kind == "image":
        return urls.picture(media.digest, tags, THUMBNAIL_SIZE)
    return urls.preview(media, tags, THUMBNAIL_SIZE)


def judge_name(judge: str) -> str:
    """Return a judge's name in URLs.

    >>> judge_name("length") == judge_name("length") != judge_name("human")
    True
    """
    return digest([judge])[:16]


def voice_name(judge: str, rater: str = "") -> str:
    """Return the anchor of a judge's or person's verdicts on a case page.

    >>> voice_name("human", "ann") == voice_name("human", "bob")
    False
    """
    return f"by-{digest([judge, rater])[:16]}"


def _study_query(study: str) -> str:
    return f"?{urlencode({'study': study})}" if study else ""


class ServedPageUrls:
    """URLs of the running app."""

    def home(self, study: str = "", task: str = "") -> str:
        query = urlencode({name: value for name, value in (("study", study), ("task", task)) if value})
        return f"/?{query}" if query else "/"

    def download(self, form: str, study: str = "") -> str:
        return f"/results.{form}{_study_query(study)}"

    def logo(self, logo: Logo) -> str:
        return f"/logos/{logo.file}"

    def board(self, name: str) -> str:
        return f"/boards/{name}"

    def chart(self, board: str, stamp: str, place: tuple[int, int], language: Language) -> str:
        table, chart = place
        return f"/boards/{board}/charts/{table}-{chart}.svg?v={stamp}&in={language}"

    def judges(self, study: str = "") -> str:
        return f"/judges{_study_query(study)}"

    def judge(self, name: str, study: str = "") -> str:
        return f"/judges/{judge_name(name)}{_study_query(study)}"

    def badge(self, name: str, study: str = "") -> str:
        return f"/judges/{judge_name(name)}/badge.svg{_study_query(study)}"

    def verdicts(self, verdict_filter: Filter, **more: object) -> str:
        query = verdict_filter.address(**more)
        return f"/verdicts?{query}" if query else "/verdicts"

    def case(self, key: str, study: str = "") -> str:
        return f"/cases/{quote(key, safe='')}{_study_query(study)}"

    def picture(self, digest: str, tags: Mapping[str, str] | None = None, size: int | None = None) -> str:
        from fullbench.web.picture_checks_storage_and_serving import picture_url

        return picture_url(digest, tags, size=size)

    def media(self, media: Media, _tags: Mapping[str, str] | None = None) -> str:
        from fullbench.media_metadata_blanking import can_play
        from fullbench.web.media_serving import media_url

        return media_url(media.digest) if can_play(media) else ""

    def preview(self, media: Media, tags: Mapping[str, str] | None = None, size: int | None = None) -> str:
        from fullbench.web.media_serving import can_preview, preview_url

        if not can_preview(media):
            return ""
        is_veiled = bool(tags and tags.get(SENSITIVE))
        return preview_url(media.digest) + ("&veiled=1" if is_veiled else "") + (f"&size={size}" if size else "")

    def bare(self, digest: str, tags: Mapping[str, str] | None = None, size: int | None = None) -> str:
        from fullbench.web.picture_checks_storage_and_serving import unveiled_url

        return unveiled_url(digest, tags, size=size)
