"""Shared code of importers: a builder that collects items, responses and verdicts, and helpers to read rows."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from fullbench.core.benchmark import LoadedData
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.item import WITHOUT_PICTURES, Item, Part, Turn
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.core.verdict import Fault, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.bounded_archives import read_gzip
from fullbench.files.exchange.message_parts import OmittedPart
from fullbench.files.row_readers import json_remedy, parse_json, read_rows

CHOICE = "choice+tie"
SHARE = "real:0-1"


class RecordBuilder:
    """Collects the content of a foreign file. Duplicates count once; rows left out are counted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.items: dict[str, Item] = {}
        self.responses: dict[tuple[str, str, int], Response] = {}
        self.verdicts: list[Verdict] = []
        self.left_out: dict[str, int] = {}
        self._seen: dict[tuple[str, str, str, int], int] = {}

    def add_item(self, item: Item) -> str:
        """Add an item and return its id; another content under the same id gets a new id."""
        item = self._without_omitted_parts(item)
        before = self.items.get(item.id)
        if before is not None and before.key != item.key:
            item = Item(f"{item.id}~{item.key[:6]}", item.turns, item.reference, item.captions, item.tags)
        self.items.setdefault(item.id, item)
        return item.id

    def add_response(self, item: str, contestant: str, parts: Sequence[Part], sample: int = 0) -> int:
        """Add a response and return its sample number; another answer of the same contestant is its next sample."""
        if omitted := [part for part in parts if isinstance(part, OmittedPart)]:
            parts = [part for part in parts if not isinstance(part, OmittedPart)] or [""]
            for part in omitted:
                self.leave_out(part.reason("answers"))
        while (there := self.responses.get((item, contestant, sample))) is not None and there.parts != tuple(parts):
            sample += 1
        if there is None and all(part == "" for part in parts):
            self.leave_out("texts of answers, null, NaN or empty: taken as empty answers")
        self.responses[item, contestant, sample] = Response(item, contestant, tuple(parts), sample=sample)
        return sample

    def add_verdict(
        self,
        judge: str,
        item: str,
        shown_responses: Sequence[tuple[str, int]],
        ballot: str,
        marks_or_fault: Sequence[float] | Fault,
        *,
        criterion: str = "overall",
        rater: str = "",
        text: str = "",
        revision: int = 0,
    ) -> int:
        """Add marks for some contestants and samples, or a fault, and return the trial number.
        A repeated verdict of the same judge on the same case is its next trial.
        """
        names = tuple(name for name, _ in shown_responses)
        samples = tuple(sample for _, sample in shown_responses) if any(sample for _, sample in shown_responses) else ()
        case = digest(["label", item, [list(pair) for pair in shown_responses], ballot, criterion])
        place = (case, judge, rater, revision)
        trial = self._seen.get(place, 0)
        self._seen[place] = trial + 1
        fault, marks = (
            (marks_or_fault, None) if isinstance(marks_or_fault, str) else (None, tuple(map(float, marks_or_fault)))
        )
        self.verdicts.append(
            Verdict(
                case,
                judge,
                item,
                names,
                ballot,
                criterion,
                trial,
                marks,
                fault,
                text,
                samples=samples,
                rater=rater,
                revision=revision,
            )
        )
        return trial

    def _without_omitted_parts(self, item: Item) -> Item:
        omitted = [part for turn in item.turns for part in turn.parts if isinstance(part, OmittedPart)]
        if not omitted:
            return item
        for part in omitted:
            self.leave_out(part.reason("questions"))
        turns = tuple(
            Turn(turn.role, tuple(part for part in turn.parts if not isinstance(part, OmittedPart)) or ("",))
            for turn in item.turns
        )
        missing = [str(part) for part in omitted if part.noun]
        names = [*filter(None, [item.tags.get(WITHOUT_PICTURES)]), *missing]
        tags = {**item.tags, **({WITHOUT_PICTURES: "\n".join(names)} if names else {})}
        return replace(item, turns=turns, tags=tags)

    def leave_out(self, why: str, count: int = 1) -> None:
        """Count something that was left out or taken otherwise; nothing if the count is 0."""
        if count:
            self.left_out[why] = self.left_out.get(why, 0) + count

    def build(self) -> LoadedData:
        """Return the record, and a table of what was left out."""
        if not self.items:
            why = ", ".join(f"{count:,} {what}" for what, count in self.left_out.items())
            none = "no item was found in it; is it a file of this kind?"
            raise InputError(f"nothing of it can be taken over: {why}" if why else none, path=self.path)
        odd = [
            Table(
                "left-out",
                "What was left out, or taken otherwise",
                table_columns("what", "n"),
                [[why, n] for why, n in self.left_out.items()],
            )
        ]
        return LoadedData(Record(tuple(self.verdicts), self.items, self.responses), odd if self.left_out else ())


def question_id(text: str) -> str:
    """Return an id for a question without one: a digest of its text."""
    return f"q-{digest(text)[:10]}"


def read_json(path: Path) -> Any:
    """Read a whole JSON file."""
    try:
        return parse_json((read_gzip(path) if path.suffix == ".gz" else path.read_bytes()).decode("utf-8-sig"))
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"it cannot be read ({getattr(error, 'strerror', None) or error})", path=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not valid JSON ({error}){json_remedy(error)}", path=path) from error


_SELECTED: ContextVar[tuple[Path, ...] | None] = ContextVar("selected files", default=None)


@contextmanager
def select_files(files: Sequence[Path]) -> Iterator[None]:
    """Within the block, `files_in` finds only these files, of several files and folders or of their own format."""
    token = _SELECTED.set(tuple(files))
    try:
        yield
    finally:
        _SELECTED.reset(token)


def files_in(path: Path, *patterns: str) -> list[Path]:
    """Return the file itself, or the files of a folder that match one of the patterns, sorted."""
    selected = _SELECTED.get()
    if selected is not None and path not in selected:
        names = [pattern + end for pattern in patterns for end in ("", ".gz")]
        if files := [file for file in selected if any(fnmatchcase(file.name, name) for name in names)]:
            return files
        raise InputError(f"none of the {len(selected)} files here is {' or '.join(patterns)}", path=path)
    if not path.is_dir():
        return [path]
    paths = sorted({
        file for pattern in patterns for end in ("", ".gz") for file in path.rglob(pattern + end)
        if not _is_hidden(file.relative_to(path))
    })  # fmt: skip
    files = list({file.resolve(): file for file in reversed(paths)}.values())[
        ::-1
    ]  # do not read a file and a link to it twice
    if not files:
        raise InputError(f"the folder contains no {' or '.join(patterns)}", path=path)
    return files


def stem_of(file: Path) -> str:
    """Return a file's name without its suffix, gzipped or not.

    >>> stem_of(Path("MMBench_V1.1.tsv.gz"))
    'MMBench_V1.1'
    """
    return Path(file.name.removesuffix(".gz")).stem


def _is_hidden(file: Path) -> bool:
    return any(part.startswith(".") for part in file.parts)


def rows_of_files(path: Path, *patterns: str) -> Iterator[tuple[Path, int, dict[str, Any]]]:
    """Yield every row of a file, or of the files of a folder."""
    for file in files_in(path, *patterns):
        for line, row in read_rows(file):
            yield file, line, row


def text_of(row: Mapping[str, Any], *names: str, path: Path, line: int) -> str:
    """Return the first of these fields that a row has, as text."""
    for name in names:
        if row.get(name) is not None:
            value = row[name]
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    raise InputError(
        f"the field {' or '.join(map(repr, names))} is missing; found {', '.join(row)}", path=path, line=line
    )


def words_of(value: Any) -> str:
    """Return the text of a cell, or "" if it is empty.

    >>> words_of(None), words_of(float("nan")), words_of(4)
    ('', '', '4')
    """
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)


def as_list(value: Any) -> list[Any]:
    """Return a list unchanged, and anything else as a list of one."""
    return value if isinstance(value, list) else [value]


TAGS = ("language", "category", "domain", "dataset")
"""Columns of comparisons that become tags of the question."""


def tags_of(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags of a compared question."""
    return {name: str(row[name]) for name in TAGS if isinstance(row.get(name), str)}
