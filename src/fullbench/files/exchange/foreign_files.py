"""Files and folders of other tools, read by the importer that a user names or that detects them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fullbench.core.benchmark import LoadedData
from fullbench.core.plugin_entry_points import load_plugin, plugin_names
from fullbench.errors import DataWarning, InputError
from fullbench.files.exchange.format_detection import DATA_SUFFIXES, FileHead
from fullbench.files.exchange.import_record_builder import select_files
from fullbench.files.existing_scores import has_verdict_columns

Importer = Callable[[Path, Mapping[str, str]], LoadedData]


@dataclass(frozen=True)
class ForeignFiles:
    """Files of one format, and the files next to them that are not read."""

    kinds: tuple[str, ...]
    """Names of the importer."""
    importer: Importer
    place: Path
    """The file, the folder, or the folder that all are in."""
    files: tuple[Path, ...] = ()
    """The files of the format; empty if the importer looks for them itself."""
    skipped: tuple[Path, ...] = ()
    """Files with data of another format."""
    others: int = 0
    """Number of files whose suffix no importer reads, such as pictures and texts."""

    def load(self, options: Mapping[str, str]) -> LoadedData:
        """Read the files with these options of the importer."""
        if not self.files or self.files == (self.place,):
            return self.importer(self.place, options)
        with select_files(self.files):
            return self.importer(self.place, options)


def find_foreign_files(paths: Sequence[Path], kind: str | None = None) -> ForeignFiles:
    """Return the files of another tool, and their importer. In folders, files of other formats are skipped.

    Args:
        paths: Files and folders.
        kind: Name of the importer; None to detect it.
    """
    for path in paths:
        if not path.exists():
            raise InputError("No such file or folder.", path=path)
    named_files = [path for path in paths if not path.is_dir()]
    folder_files = [file for path in paths if path.is_dir() for file in _files_of_folder(path)]
    candidates = [file for file in folder_files if _suffix_of(file) in DATA_SUFFIXES]
    place = Path(os.path.commonpath([path.absolute() for path in paths])) if len(paths) > 1 else paths[0]
    if kind is None:
        kinds, importer, claimed = _detect_importer([*named_files, *candidates], place)
    else:
        kinds, importer, claimed = (kind,), load_plugin("importers", kind), []
        hook = getattr(importer, "detects_if_named", None)
        if hook is None and len(paths) > 1:
            raise InputError(f"The importer {kind!r} reads one file or folder. Put the files into one folder.")
        if hook is None or not folder_files:
            return ForeignFiles(kinds, importer, place, tuple(named_files) if len(paths) > 1 else ())
        claimed = [file for file in candidates if hook(FileHead(file))]
        if not claimed and not named_files:
            raise InputError(_no_file_text(kind, candidates), path=place)
    files = list(dict.fromkeys([*(file for file in named_files if kind or file in claimed), *claimed]))
    skipped = [file for file in [*named_files, *candidates] if file not in set(files)]
    return ForeignFiles(kinds, importer, place, tuple(files), tuple(skipped), len(folder_files) - len(candidates))


def _suffix_of(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).suffix


def _files_of_folder(folder: Path) -> list[Path]:
    """Return the files below a folder, but not hidden ones, and a file and a link to it once."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    visible_files = [file for file in files if not any(part.startswith(".") for part in file.relative_to(folder).parts)]
    return list({file.resolve(): file for file in reversed(visible_files)}.values())[::-1]


def _detect_importer(files: Sequence[Path], place: Path) -> tuple[tuple[str, ...], Importer, list[Path]]:
    """Return the names of the importer of these files, the importer, and its files."""
    kinds: dict[Any, list[str]] = {}
    for name in plugin_names("importers"):
        try:
            importer = load_plugin("importers", name)
        except InputError as error:  # a broken plugin must not stop the others
            warnings.warn(f"{error}. Its format is not detected.", DataWarning, stacklevel=2)
            continue
        if hasattr(importer, "detects"):
            kinds.setdefault(importer, []).append(name)
    claims: dict[Any, list[Path]] = {}
    heads = []
    for file in files:
        heads.append(head := FileHead(file))
        for importer in kinds:
            if importer.detects(head):
                claims.setdefault(importer, []).append(file)
    if not claims:
        raise InputError(_unknown_format_text(heads, kinds.values()), path=place)
    # A file may support several formats, such as the questions of MT-Bench and Arena-Hard.
    largest = max(claims, key=lambda importer: len(claims[importer]))
    if all(set(claimed) <= set(claims[largest]) for claimed in claims.values()):
        equals = [importer for importer in claims if len(claims[importer]) == len(claims[largest])]
        if len(equals) == 1:
            return tuple(kinds[largest]), largest, claims[largest]
    counts = "; ".join(
        f"{' or '.join(kinds[importer])}: {len(claimed)} {'file' if len(claimed) == 1 else 'files'} such as "
        f"{_short_path(claimed[0], place)}"
        for importer, claimed in claims.items()
    )
    raise InputError(f"Several formats fit ({counts}). Name one, as `fullbench import KIND PATH`.", path=place)


def _short_path(file: Path, place: Path) -> Path:
    return file.relative_to(place) if file.is_relative_to(place) and file != place else Path(file.name)


def _no_file_text(kind: str, candidates: Sequence[Path]) -> str:
    file_list = ", ".join(file.name for file in candidates[:3]) or "no file with data"
    return f"No file of the format {kind} was found in this folder. Found: {file_list}."


def _unknown_format_text(heads: Sequence[FileHead], kinds: Iterable[Sequence[str]]) -> str:
    kind_list = ", ".join(sorted(name for names in kinds for name in names))
    scores = next((head for head in heads if head.rows and has_verdict_columns(list(head.rows[0]))), None)
    if scores is not None:
        return (
            f"{scores.path.name} is no file of another tool, but a table of scores. Show it with `fullbench report "
            f"--items ITEMS --responses RESPONSES --verdicts {scores.path}`; `fullbench judge` with the same options "
            "stores it in a ledger."
        )
    readable = next((head for head in heads if head.rows or head.content), None)
    columns = list(readable.rows[0] if readable.rows else readable.content) if readable else []
    column_text = f" {readable.path.name} has {', '.join(map(str, columns[:8]))}." if readable and columns else ""
    return (
        f"The format was not recognised.{column_text} Name it if it is one of {kind_list}. For a table with a question "
        "and answers in columns, use `fullbench import huggingface PATH --option question=COLUMN "
        "--option response.NAME=COLUMN`."
    )
