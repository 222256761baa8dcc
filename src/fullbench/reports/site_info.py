"""Information that a lab provides about its results: title, description, authors, licence, links, citation.

It is the table `[site]` in the file of names (`names.toml`, or a study's own file). `[site.zh]` has the texts of
Chinese pages, `[site.studies."NAME"]` the differences of one study.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fullbench.core.plugin_entry_points import did_you_mean
from fullbench.errors import InputError
from fullbench.files.toml_reader import read_toml
from fullbench.reports.logos_from_local_files import Logo

DEFAULT_TITLE = "fullbench"
READABLE, DARK_PAPER = 4.5, "#14191f"
"""Least contrast of text (WCAG AA), and the background of dark pages."""
LINKS = ("homepage", "paper", "data", "licence_link")
TEXTS = {"description": 600, "citation": 6_000}
"""Texts that may have several lines, and their maximum number of characters."""


@dataclass(frozen=True)
class Imprint:
    """Fields of `[site]`. All are optional, and empty ones are not shown."""

    title: str = ""
    description: str = ""
    authors: tuple[str, ...] = ()
    licence: str = ""
    licence_link: str = ""
    homepage: str = ""
    paper: str = ""
    data: str = ""
    """Address of the data set."""
    date: str = ""
    citation: str = ""
    """BibTeX entry, shown unchanged instead of a generated one."""
    logo: Logo | None = None
    accent: str = ""
    """Colour of links, buttons and bars, as `#rrggbb`."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels shown on pages instead of names of criteria, tags and tag values."""
    chinese: Mapping[str, Any] = field(default_factory=dict)
    """Fields that replace these on Chinese pages."""
    studies: Mapping[str, Imprint] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Imprint:
        """Read `[site]` from a TOML file; empty if there is none."""
        entries, _ = read_toml(path, "the file of names")
        return cls.from_table(entries.get("site", {}), path)

    @classmethod
    def from_table(cls, table: Any, path: Path) -> Imprint:
        """Return the imprint from a parsed table of the file `path`."""
        values = _checked_fields(table, path, "site", ("zh", "studies"))
        parts = _require_table(table.get("studies", {}), path, "site.studies")
        studies = {}
        for name, part in parts.items():
            where = f'site.studies."{name}"'
            studies[name] = cls(
                **_checked_fields(part, path, where, ("zh",)), chinese=_chinese_fields(part, path, where)
            )
        return cls(**values, chinese=_chinese_fields(table, path, "site"), studies=studies)

    def with_title(self, title: str) -> Imprint:
        """Set one title for all languages; without any title, use our own name."""
        if not title:
            return self if self.title else replace(self, title=DEFAULT_TITLE)
        return replace(self, title=title, chinese={key: value for key, value in self.chinese.items() if key != "title"})

    def for_language(self, language: str) -> Imprint:
        """Return the imprint with the texts of a language."""
        local = self.chinese if language == "zh" else {}
        parts = {name: part.for_language(language) for name, part in self.studies.items()}
        labels = {**self.labels, **local.get("labels", {})}
        return replace(self, **{**local, "labels": labels, "chinese": {}, "studies": parts})

    def of_study(self, study: str) -> Imprint:
        """Return the imprint of one study; missing fields come from the whole, except the title."""
        part = self.studies.get(study)
        if part is None:
            return replace(self, title="", studies={})
        study_fields = {name: value for name, value in vars(part).items() if value and name in FIELD_NAMES}
        labels = {**self.labels, **part.labels}
        return replace(self, **{"title": "", **study_fields, "labels": labels, "studies": {}})

    def of_report(self, study: str) -> Imprint:
        """Return the imprint of a report on one study or on all; a missing title comes from the whole."""
        study_imprint = self.of_study(study)
        return replace(study_imprint, title=study_imprint.title or self.title)

    @property
    def is_titled(self) -> bool:
        """True if it has a title other than the default."""
        return self.title not in {"", DEFAULT_TITLE}

    @property
    def links(self) -> list[tuple[str, str]]:
        """Name and address of each link that is set."""
        return [(name, link) for name in ("homepage", "paper", "data") if (link := getattr(self, name))]

    @property
    def logos(self) -> list[Logo]:
        """All logos, including those of studies."""
        inner = [logo for part in self.studies.values() for logo in part.logos]
        return [*([self.logo] if self.logo else []), *inner]


FIELD_NAMES = tuple(entry.name for entry in fields(Imprint) if entry.name not in {"chinese", "studies"})


def _require_table(value: Any, path: Path, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f'{where} is a table; write [{where}] and below it title = "..."', path=path)
    return value


def _chinese_fields(table: Mapping[str, Any], path: Path, where: str) -> dict[str, Any]:
    return _checked_fields(table.get("zh", {}), path, f"{where}.zh")


def _checked_fields(table: Any, path: Path, where: str, inner: Sequence[str] = ()) -> dict[str, Any]:
    """`inner` are the tables allowed in the table."""
    field_names = (*FIELD_NAMES, *inner)
    for key in _require_table(table, path, where):
        if key not in field_names:
            hint = did_you_mean(key, field_names) or ";"
            raise InputError(f"[{where}] has an unknown field {key!r}{hint} known: {', '.join(field_names)}", path=path)
    return {key: _checked_field(key, value, path, where) for key, value in table.items() if key in FIELD_NAMES}


def _checked_field(key: str, value: Any, path: Path, where: str) -> Any:
    if key == "authors":
        if not isinstance(value, list) or not value or not all(_is_line(name) for name in value):
            raise InputError(
                f'[{where}] has authors that are not a list of names: write ["A. Li", "B. Roy"]', path=path
            )
        return tuple(name.strip() for name in value)
    if key == "labels":
        for name, label in _require_table(value, path, f"{where}.labels").items():
            if not _is_line(label):
                raise InputError(
                    f"[{where}.labels] has {label!r} for {name!r}, which is not a text of one line", path=path
                )
        return {name: label.strip() for name, label in value.items()}
    if key in TEXTS:
        if not isinstance(value, str) or not value.strip() or len(value) > TEXTS[key]:
            raise InputError(f"[{where}] has a {key} that is not a text of 1 to {TEXTS[key]:,} characters", path=path)
        return value.strip() if key == "citation" else " ".join(value.split())
    if not _is_line(value):
        raise InputError(f"[{where}] has the {key} {value!r}, which is not a text of one line", path=path)
    if key == "logo":
        return Logo.read(value, path)
    if key == "accent":
        if not (re.fullmatch(r"#[0-9a-fA-F]{6}", value) and contrast(value, "#ffffff") >= READABLE):
            raise InputError(
                f"[{where}] has the accent {value!r}, which is not a colour #rrggbb that is readable on white",
                path=path,
            )
        return value.lower()
    if key in LINKS and not _is_link(value):
        raise InputError(f"[{where}] has the {key} {value!r}, which does not begin with https://", path=path)
    return value.strip()


def contrast(one: str, two: str) -> float:
    """Return the contrast of two colours `#rrggbb` by WCAG 2.

    >>> round(contrast("#000000", "#ffffff")), round(contrast("#8a1538", "#ffffff"), 1)
    (21, 9.4)
    """

    def luminance(colour: str) -> float:
        shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted((luminance(one), luminance(two)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def accent_style(accent: str) -> str:
    """Return the style sheet that sets an accent colour, in the dark a lighter tone of it that can be read.

    >>> accent_style("#8a1538").splitlines()[0]
    ':root { --accent: #8a1538; --on-accent: #ffffff; }'
    """
    tone = accent
    while contrast(tone, DARK_PAPER) < READABLE:
        parts = [int(tone[place : place + 2], 16) for place in (1, 3, 5)]
        tone = "#" + "".join(f"{min(255, part + (255 - part) // 8 + 1):02x}" for part in parts)
    dark = f"{{ --accent: {tone}; --on-accent: #10151b; }}"
    return (
        f":root {{ --accent: {accent}; --on-accent: #ffffff; }}\n"
        f'@media (prefers-color-scheme: dark) {{ :root:not([data-scheme="light"]) {dark} }}\n'
        f':root[data-scheme="dark"] {dark}\n'
    )


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _is_link(text: str) -> bool:
    """Return True for web addresses, which are safe to link to, unlike scripts.

    >>> _is_link("https://lab.example.org/x"), _is_link("javascript:alert(1)"), _is_link("https://[")
    (True, False, False)
    """
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and " " not in text.strip()
