"""Ids in place of people's names, for a copy of a ledger that may be given away.

Votes from the web bear random ids; files of labels may have names.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import orjson

from fullbench.core.item import AUTHOR
from fullbench.core.verdict import ADJUDICATION, PILOT
from fullbench.ledger import read_queries, row_conversion, schema
from fullbench.ledger.aliases import PERSON, voter
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.row_conversion import Row

_ID = re.compile(r"[0-9a-f]{16}|\d*")
_VERDICT = {name: place for place, name in enumerate(schema.columns("verdicts"))}


def is_name(rater: str) -> bool:
    """Whether a rater goes by a name: neither by a random id nor by a number.

    >>> [is_name(rater) for rater in ("Ann", "安娜", "pilot:Ann", "0123456789abcdef", "pilot:0123456789abcdef", "2")]
    [True, True, True, False, False, False]
    """
    return rater != ADJUDICATION and _ID.fullmatch(rater.removeprefix(PILOT)) is None


@dataclass
class Pseudonyms:
    """The same id for the same name, made of a ledger's salt, so that nobody finds the name by trying some."""

    salt: bytes
    raters: set[str] = field(default_factory=set)
    """Names that got an id."""
    contestants: set[str] = field(default_factory=set)
    """Contestants called `human:NAME`: their answers' keys are made of the name, and stay."""

    def id_of(self, name: str) -> str:
        prefix = PILOT if name.startswith(PILOT) else ""
        bare = name.removeprefix(PILOT).casefold()
        self.raters.add(bare)
        return prefix + hmac.new(self.salt, bare.encode(), "sha256").hexdigest()[:16]

    def rewritten(self, reader: Connection, table: str, chunk: Sequence[Row]) -> list[Row]:
        """Rows of a table without raters' names."""
        if table == "verdicts":
            return self._verdicts(reader, chunk)
        if table == "judges":
            return [row for row in chunk if not str(row[0]).startswith(PERSON)]
        if table not in {"items", "responses"}:
            return list(chunk)
        columns = schema.columns(table)
        if table == "responses":
            who = columns.index("contestant")
            self.contestants.update(str(row[who]) for row in chunk if _is_person(str(row[who])))
        place = columns.index("tags")
        return [(*row[:place], self._tags(str(row[place])), *row[place + 1 :]) for row in chunk]

    def _tags(self, text: str) -> str:
        tags = orjson.loads(text)
        if AUTHOR not in tags or not is_name(tags[AUTHOR]):
            return text
        return row_conversion.tags_text({**tags, AUTHOR: self.id_of(tags[AUTHOR])})

    def _verdicts(self, reader: Connection, chunk: Sequence[Row]) -> list[Row]:
        named: list[Row] = [row for row in chunk if is_name(_voter(row)[2])]
        if not named:
            return list(chunk)
        apart, written = read_queries.apart_of(reader, named), []
        for row in chunk:
            judge, trial, rater = _voter(row)
            if is_name(rater):
                verdict = row_conversion.verdict_of(row, apart)
                renamed = replace(verdict, judge=judge, trial=trial, rater=self.id_of(rater))
                values = dict(zip(_VERDICT, row, strict=True)) | {
                    "judge": judge, "trial": trial, "rater": renamed.rater, "sum": row_conversion.sum_of(renamed)
                }  # fmt: skip
                written.append(tuple(values.values()))
            else:
                written.append(row)
        return written


def _voter(row: Row) -> tuple[str, int, str]:
    return voter(str(row[_VERDICT["judge"]]), int(row[_VERDICT["trial"]]), str(row[_VERDICT["rater"]]))


def _is_person(contestant: str) -> bool:
    return contestant.startswith(PERSON) and is_name(contestant.removeprefix(PERSON))
