"""Write the case pages of a static copy in several processes, and reuse unchanged pages of the copy before.

A page depends on the case's verdicts and on settings that are the same for all pages. Both are in its key. The list of
keys is kept next to the pages, so a second copy renders only what changed, and an interrupted one continues.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson
from sqlalchemy import Connection, func, select

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import split_into_chunks

CHUNK = 50
"""Cases that a process writes before it reports."""
FEWEST_CHUNKS = 4
"""Chunks for which further processes are worth their start."""
KEYS_FILE = "case-pages.json"
Pictures = dict[str, tuple[str, int | None, bool]]
"""File name of each picture: digest, size, veiled or not."""
T = TypeVar("T")


@dataclass(frozen=True)
class WrittenPage:
    """A case page: what it depends on, and the pictures that it shows."""

    key: str
    pictures: Pictures


@dataclass
class WrittenPages:
    """Case pages by case, as `KEYS_FILE` has them."""

    pages: dict[str, WrittenPage] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> WrittenPages:
        """Read the list of a folder; empty if there is none that can be read."""
        try:
            value = orjson.loads((folder / KEYS_FILE).read_bytes())
            pages = {
                case: WrittenPage(
                    key, {name: (str(of), size, bool(veiled)) for name, (of, size, veiled) in shown.items()}
                )
                for case, (key, shown) in value.items()
            }
            return cls(pages)
        except (OSError, ValueError, TypeError, AttributeError):
            return cls()

    def write(self, folder: Path) -> None:
        """Write the list; a reader sees the old or the new one, never half of it."""
        path = folder / KEYS_FILE
        part = path.with_suffix(".part")
        part.write_bytes(orjson.dumps({case: [page.key, page.pictures] for case, page in self.pages.items()}))
        part.replace(path)


def page_keys(connection: Connection, cases: Sequence[str], settings: Sequence[Any]) -> dict[str, str]:
    """Return what each case page depends on: the settings of all pages, and all verdicts on its responses.

    Args:
        connection: Connection to the catalogue.
        cases: Keys of the cases.
        settings: Values that are the same for all pages, such as the version and the names.
    """
    v, c, n = catalogue_tables.verdicts.c, catalogue_tables.cases.c, catalogue_tables.names.c
    # Names, not their ids: another catalogue of the same ledger may number them in another way.
    names = {row.id: row.name for row in connection.execute(select(n.id, n.name))}
    common, with_page = digest(list(map(str, settings))), frozenset(cases)
    sets: dict[str, int] = {}
    for chunk in split_into_chunks(list(cases)):
        rows = connection.execute(
            select(c.key, func.min(v.response_set_id).label("response_set"))
            .join(catalogue_tables.verdicts, v.case_id == c.id)
            .where(c.key.in_(chunk))
            .group_by(c.key)
        )
        sets |= {row.key: row.response_set for row in rows}
    contents: dict[int, list[Any]] = {}
    columns = (v.response_set_id, v.judge_id, v.rater_id, v.trial, v.revision, v.fault, v.marks, v.split, v.swapped)
    for response_sets in split_into_chunks(sorted(set(sets.values()))):
        query = select(*columns, v.opposed, c.key).join(catalogue_tables.cases, c.id == v.case_id)
        for row in connection.execute(query.where(v.response_set_id.in_(response_sets)).order_by(v.id)):
            one = [names[row.judge_id], names[row.rater_id], *row[3:], row.key in with_page]
            contents.setdefault(row.response_set_id, []).append(one)
    return {case: digest([common, case, str(contents.get(sets.get(case, -1)))]) for case in cases}


def reuse_pages(
    sources: Iterable[Path], folder: Path, keys: Mapping[str, str], page_path: Callable[[str], str]
) -> dict[str, WrittenPage]:
    """Link or copy unchanged pages from earlier folders and return them.

    Args:
        sources: Folders that may have pages and their list.
        folder: The new folder.
        keys: What each page depends on now.
        page_path: Returns the path of a case's page within a folder.
    """
    reused: dict[str, WrittenPage] = {}
    for source in sources:
        for case, page in WrittenPages.read(source).pages.items():
            path = source / page_path(case)
            if case in reused or keys.get(case) != page.key or not path.is_file():
                continue
            target = folder / page_path(case)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path != target:
                shutil.copyfile(path, target)
            reused[case] = page
    return reused


def workers_for(chunks: Sequence[Sequence[str]]) -> int:
    """Return the number of processes: one per core, and one only for a few chunks."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 if len(chunks) < FEWEST_CHUNKS else min(cores, len(chunks))


def write_in_processes(
    cases: Sequence[str],
    here: Callable[[Sequence[str]], T],
    there: Callable[[Sequence[str]], T],
    start: Callable[..., None],
    arguments: tuple[Any, ...],
) -> Iterator[tuple[Sequence[str], T]]:
    """Yield what each chunk of cases gives, in the order in which chunks end.

    A few cases are written in this process, since a new one takes a second to start.

    Args:
        cases: Keys of the cases.
        here: Writes some cases in this process.
        there: Writes some cases in another process; a function of a module.
        start: Prepares a process.
        arguments: Arguments of `start`.
    """
    chunks = list(split_into_chunks(cases, CHUNK))
    workers = workers_for(chunks)
    if workers < 2:
        for chunk in chunks:
            yield chunk, here(chunk)
        return
    context = multiprocessing.get_context("spawn")  # a fork would share open files of databases
    with ProcessPoolExecutor(workers, context, start, arguments) as pool:
        running: dict[Future[T], Sequence[str]] = {pool.submit(there, chunk): chunk for chunk in chunks}
        try:
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        finally:
            pool.shutdown(cancel_futures=True)
