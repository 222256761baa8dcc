"""What a lab says of its results: title, description, authors, licence, links, how to cite them.

It stands as `[site]` in the file that has the names (`names.toml`, or a study's own file). `[site.zh]` has the texts
that Chinese pages show, `[site.studies."NAME"]` what is different for one study of several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fullbench.core.plugin_entry_points import did_you_mean
from fullbench.errors import InputError
from fullbench.files.toml_files import read_toml
from fullbench.reports.logos import Logo

UNNAMED = "fullbench"
"""The title of a site that nobody gave one."""
LINKS = ("homepage", "paper", "data", "licence_link")
TEXTS = {"description": 600, "citation": 6_000}
"""Texts that may have several lines, and how many characters each has at most."""
KNOWN = ("title", "description", "authors", "licence", "licence_link", "homepage", "paper", "data", "date", "citation",
         "logo", "labels")  # fmt: skip


@dataclass(frozen=True)
class Imprint:
    """All of it is optional; what is empty is not shown."""

    title: str = ""
    description: str = ""
    authors: tuple[str, ...] = ()
    licence: str = ""
    licence_link: str = ""
    homepage: str = ""
    paper: str = ""
    data: str = ""
    """Where the data set lies."""
    date: str = ""
    citation: str = ""
    """An entry for BibTeX, shown as it is in place of one that is made from the rest."""
    logo: Logo | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the site's pages show in place of the name of a criterion, of a tag or of a tag's value."""
    chinese: Mapping[str, Any] = field(default_factory=dict)
    """The fields that Chinese pages show in place of these."""
    studies: Mapping[str, Imprint] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Imprint:
        """What `[site]` says in a TOML file; nothing where it has none."""
        entries, _ = read_toml(path, "the file of names")
        return cls.of(entries.get("site", {}), path)

    @classmethod
    def of(cls, table: Any, path: Path) -> Imprint:
        """The same from the table, which stands in the file `path`."""
        values = _fields(table, path, "site", ("zh", "studies"))
        parts = _table(table.get("studies", {}), path, "site.studies")
        studies = {}
        for name, part in parts.items():
            where = f'site.studies."{name}"'
            studies[name] = cls(**_fields(part, path, where, ("zh",)), chinese=_chinese(part, path, where))
        return cls(**values, chinese=_chinese(table, path, "site"), studies=studies)

    def titled(self, title: str) -> Imprint:
        """The same under a title that was chosen for every language; where none is left, under our own name."""
        if not title:
            return self if self.title else replace(self, title=UNNAMED)
        return replace(self, title=title, chinese={key: value for key, value in self.chinese.items() if key != "title"})

    def said_in(self, language: str) -> Imprint:
        """As pages of that language show it."""
        local = self.chinese if language == "zh" else {}
        parts = {name: part.said_in(language) for name, part in self.studies.items()}
        labels = {**self.labels, **local.get("labels", {})}
        return replace(self, **{**local, "labels": labels, "chinese": {}, "studies": parts})

    def of_study(self, study: str) -> Imprint:
        """What is said of one study: its own where it has some, else the whole's; its title may be empty."""
        part = self.studies.get(study)
        if part is None:
            return replace(self, title="", studies={})
        own = {name: value for name, value in vars(part).items() if value and name in KNOWN}
        labels = {**self.labels, **part.labels}
        return replace(self, **{"title": "", **own, "labels": labels, "studies": {}})

    def of_report(self, study: str) -> Imprint:
        """What stands above a report of one study, or of all: one without a title of its own has that of the whole."""
        own = self.of_study(study)
        return replace(own, title=own.title or self.title)

    @property
    def is_titled(self) -> bool:
        """Whether somebody gave it a title."""
        return self.title not in {"", UNNAMED}

    @property
    def links(self) -> list[tuple[str, str]]:
        """Which links there are, by the name of their field."""
        return [(name, link) for name in ("homepage", "paper", "data") if (link := getattr(self, name))]

    @property
    def logos(self) -> list[Logo]:
        """All logos in it."""
        inner = [logo for part in self.studies.values() for logo in part.logos]
        return [*([self.logo] if self.logo else []), *inner]


def _table(value: Any, path: Path, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f'{where} is a table; write [{where}] and below it title = "..."', path=path)
    return value


def _chinese(table: Mapping[str, Any], path: Path, where: str) -> dict[str, Any]:
    return _fields(table.get("zh", {}), path, f"{where}.zh")


def _fields(table: Any, path: Path, where: str, inner: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a table, checked; `inner` are the tables that may stand in it."""
    known = (*KNOWN, *inner)
    for key in _table(table, path, where):
        if key not in known:
            hint = did_you_mean(key, known) or ";"
            raise InputError(f"[{where}] has an unknown field {key!r}{hint} known: {', '.join(known)}", path=path)
    return {key: _value(key, value, path, where) for key, value in table.items() if key in KNOWN}


def _value(key: str, value: Any, path: Path, where: str) -> Any:
    if key == "authors":
        if not isinstance(value, list) or not value or not all(_is_line(name) for name in value):
            raise InputError(f'[{where}] has authors that are no list of names: write ["A. Li", "B. Roy"]', path=path)
        return tuple(name.strip() for name in value)
    if key == "labels":
        for name, label in _table(value, path, f"{where}.labels").items():
            if not _is_line(label):
                raise InputError(
                    f"[{where}.labels] has {label!r} for {name!r}, which is no text of one line", path=path
                )
        return {name: label.strip() for name, label in value.items()}
    if key in TEXTS:
        if not isinstance(value, str) or not value.strip() or len(value) > TEXTS[key]:
            raise InputError(f"[{where}] has a {key} that is no text of 1 to {TEXTS[key]:,} characters", path=path)
        return value.strip() if key == "citation" else " ".join(value.split())
    if not _is_line(value):
        raise InputError(f"[{where}] has the {key} {value!r}, which is no text of one line", path=path)
    if key == "logo":
        return Logo.read(value, path)
    if key in LINKS and not _is_link(value):
        raise InputError(f"[{where}] has the {key} {value!r}, which does not begin with https://", path=path)
    return value.strip()


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _is_link(text: str) -> bool:
    """Whether a reader may be led there: an address of the web, never a script.

    >>> _is_link("https://lab.example.org/x"), _is_link("javascript:alert(1)"), _is_link("https://[")
    (True, False, False)
    """
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and " " not in text.strip()
