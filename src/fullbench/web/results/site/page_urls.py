"""Addresses of the public pages, so that the same templates make the served site and the static one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import quote, urlencode

from fullbench.core.digests import digest
from fullbench.reports.logos import Logo
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.words import Language


class Places(Protocol):
    """Where things are found; templates know nothing else of addresses. An empty `study` is the first one."""

    def home(self, study: str = "", task: str = "") -> str:
        """The first page of a study, of all its items or of those of one task (see `boards.first_page_matrix.Task`)."""
        ...

    def download(self, form: str, study: str = "") -> str:
        """All figures of a study's leaderboards as one file, `csv` or `json`."""
        ...

    def logo(self, logo: Logo) -> str: ...
    def board(self, name: str) -> str: ...
    def chart(self, board: str, stamp: str, place: tuple[int, int], language: Language) -> str: ...
    def judges(self, study: str = "") -> str: ...
    def judge(self, name: str, study: str = "") -> str: ...
    def badge(self, name: str, study: str = "") -> str: ...
    def verdicts(self, wanted: Filter, **more: object) -> str:
        """The list of cases; `more` is what its address says beside the filter."""
        ...

    def case(self, key: str, study: str = "") -> str: ...
    def picture(self, digest: str, tags: Mapping[str, str] | None = None, size: int | None = None) -> str: ...
    def bare(self, digest: str, tags: Mapping[str, str] | None = None, size: int | None = None) -> str:
        """A sensitive picture without its veil, for who asks; empty where the picture has none or it stays on."""
        ...


def judge_name(judge: str) -> str:
    """A judge's name in addresses.

    >>> judge_name("length") == judge_name("length") != judge_name("human")
    True
    """
    return digest([judge])[:16]


def voice_name(judge: str, rater: str = "") -> str:
    """Where on a case's page a judge's rulings stand, or those of one of the people.

    >>> voice_name("human", "ann") == voice_name("human", "bob")
    False
    """
    return f"by-{digest([judge, rater])[:16]}"


def _asked(study: str) -> str:
    return f"?{urlencode({'study': study})}" if study else ""


class Served:
    """The addresses of the running app."""

    def home(self, study: str = "", task: str = "") -> str:
        asked = urlencode({name: value for name, value in (("study", study), ("task", task)) if value})
        return f"/?{asked}" if asked else "/"

    def download(self, form: str, study: str = "") -> str:
        return f"/results.{form}{_asked(study)}"

    def logo(self, logo: Logo) -> str:
        return f"/logos/{logo.file}"

    def board(self, name: str) -> str:
        return f"/boards/{name}"

    def chart(self, board: str, stamp: str, place: tuple[int, int], language: Language) -> str:
        table, chart = place
        return f"/boards/{board}/charts/{table}-{chart}.svg?v={stamp}&in={language}"

    def judges(self, study: str = "") -> str:
        return f"/judges{_asked(study)}"

    def judge(self, name: str, study: str = "") -> str:
        return f"/judges/{judge_name(name)}{_asked(study)}"

    def badge(self, name: str, study: str = "") -> str:
        return f"/judges/{judge_name(name)}/badge.svg{_asked(study)}"

    def verdicts(self, wanted: Filter, **more: object) -> str:
        asked = wanted.address(**more)
        return f"/verdicts?{asked}" if asked else "/verdicts"

    def case(self, key: str, study: str = "") -> str:
        return f"/cases/{quote(key, safe='')}{_asked(study)}"

    def picture(self, digest: str, tags: Mapping[str, str] | None = None, size: int | None = None) -> str:
        from fullbench.web.picture_serving import picture_url

        return picture_url(digest, tags, size=size)

    def bare(self, digest: str, tags: Mapping[str, str] | None = None, size: int | None = None) -> str:
        from fullbench.web.picture_serving import bare_url

        return bare_url(digest, tags, size=size)
