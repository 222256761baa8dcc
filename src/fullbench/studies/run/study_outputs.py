"""Output files of a study: tables, page and further files, after a run or a replay."""

from __future__ import annotations

from pathlib import Path

from fullbench.reports.results_page import write_page
from fullbench.reports.table_formats import write_tables
from fullbench.studies.run.base_run import StudyResult


def write_outputs(study_result: StudyResult, folder: Path | None = None, *, in_place: bool = False) -> list[Path]:
    """Write the output files of a study, in their places or in another folder.

    Picture paths are relative to the written file. With `in_place` they are relative to the original place, so that
    files can be compared.
    """
    study = study_result.study
    written_paths: list[Path] = []
    if study.tables is not None:
        written_paths += write_tables(study_result.tables, _path_in_folder(study.tables, folder))
    if study.report is not None:
        place = _path_in_folder(study.report, folder)
        written_paths.append(
            write_page(
                study.name,
                study_result.record,
                study_result.tables,
                place,
                source=study_result.source,
                names=study_result.names,
                imprint=study.site,
            )
        )
    for path, write_file in study_result.files.items():
        write_file(_path_in_folder(path, folder), path if in_place else _path_in_folder(path, folder))
        written_paths.append(_path_in_folder(path, folder))
    return written_paths


def _path_in_folder(path: Path, folder: Path | None) -> Path:
    return path if folder is None else folder / path.name


def find_differing_files(study_result: StudyResult, folder: Path) -> list[Path]:
    """Return the output files that differ from what the ledger gives; `folder` is for the new files."""
    places = {
        path.parent
        for path in (study_result.study.tables, study_result.study.report, *study_result.files)
        if path is not None
    }
    new_files = {path.name: path for path in write_outputs(study_result, folder, in_place=True)}
    existing_files = {name: place / name for name in new_files for place in places if (place / name).exists()}
    return [
        existing_files.get(name, Path(name)) for name, path in new_files.items()
        if name not in existing_files or existing_files[name].read_bytes() != path.read_bytes()
    ]  # fmt: skip
