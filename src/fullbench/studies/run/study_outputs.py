"""The files of a study: its tables and its page, whether it was run or replayed."""

from __future__ import annotations

from pathlib import Path

from fullbench.reports.record_page import page
from fullbench.reports.table_formats import write
from fullbench.studies.run.study_run import Conducted


def write_outputs(done: Conducted, folder: Path | None = None, *, in_place: bool = False) -> list[Path]:
    """Write what the study names, in its places or under the same names in another folder.

    Files name pictures as seen from where they are; `in_place` as seen from their own places, for a comparison.
    """
    study = done.study
    written: list[Path] = []
    if study.tables is not None:
        written += write(done.tables, _placed(study.tables, folder))
    if study.report is not None:
        place = _placed(study.report, folder)
        written.append(
            page(
                study.name, done.record, done.tables, place, source=done.source, names=study.names, imprint=study.site
            )
        )  # fmt: skip
    for path, write_file in done.files.items():
        write_file(_placed(path, folder), path if in_place else _placed(path, folder))
        written.append(_placed(path, folder))
    return written


def _placed(path: Path, folder: Path | None) -> Path:
    return path if folder is None else folder / path.name


def differing(done: Conducted, folder: Path) -> list[Path]:
    """The files of a study that are not, byte for byte, what its ledger gives; `folder` is for what is made anew."""
    places = {path.parent for path in (done.study.tables, done.study.report, *done.files) if path is not None}
    fresh = {path.name: path for path in write_outputs(done, folder, in_place=True)}
    written = {name: place / name for name in fresh for place in places if (place / name).exists()}
    return [
        written.get(name, Path(name)) for name, path in fresh.items()
        if name not in written or written[name].read_bytes() != path.read_bytes()
    ]  # fmt: skip
