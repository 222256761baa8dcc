"""Ids in place of people's names, for a copy of a ledger that may be shared.

Votes from the web have random ids already; label files may contain names.
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
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.name_aliases import PERSON, normalize_voter
from fullbench.ledger.row_conversion import Row

_ID = re.compile(r"[0-9a-f]{16}|\d*")
_VERDICT = {name: place for place, name in enumerate(schema.table_columns("verdicts"))}


def is_name(rater: str) -> bool:
    """True if a rater is a name, neither a random id nor a number.

    >>> [is_name(rater) for rater in ("Ann", "安娜", "pilot:Ann", "0123456789abcdef", "pilot:0123456789abcdef", "2")]
    [True, True, True, False, False, False]
    """
    return rater != ADJUDICATION and _ID.fullmatch(rater.removeprefix(PILOT)) is None


@dataclass
class Pseudonyms:
    """Maps each name to one id, derived with the ledger's salt so that names cannot be guessed."""

    salt: bytes
    raters: set[str] = field(default_factory=set)
    """Names that got an id."""
    contestants: set[str] = field(default_factory=set)
    """Contestants called `human:NAME`. The keys of their responses depend on the name, so they stay."""

    def id_of(self, name: str) -> str:
        prefix = PILOT if name.startswith(PILOT) else ""
        bare = name.removeprefix(PILOT).casefold()
        self.raters.add(bare)
        return prefix + hmac.new(self.salt, bare.encode(), "sha256").hexdigest()[:16]

    def replace_names(self, reader: Connection, table: str, chunk: Sequence[Row]) -> list[Row]:
        """Return the rows of a table without raters' names."""
        if table == "verdicts":
            return self._replace_raters(reader, chunk)
        if table == "judges":
            return [row for row in chunk if not str(row[0]).startswith(PERSON)]
        if table not in {"items", "responses"}:
            return list(chunk)
        columns = schema.table_columns(table)
        if table == "responses":
            who = columns.index("contestant")
            self.contestants.update(str(row[who]) for row in chunk if _is_person(str(row[who])))
        place = columns.index("tags")
        return [(*row[:place], self._replace_author(str(row[place])), *row[place + 1 :]) for row in chunk]

    def _replace_author(self, text: str) -> str:
        tags = orjson.loads(text)
        if AUTHOR not in tags or not is_name(tags[AUTHOR]):
            return text
        return row_conversion.tags_text({**tags, AUTHOR: self.id_of(tags[AUTHOR])})

    def _replace_raters(self, reader: Connection, chunk: Sequence[Row]) -> list[Row]:
        named_rows: list[Row] = [row for row in chunk if is_name(_read_voter(row)[2])]
        if not named_rows:
            return list(chunk)
        verdict_texts, new_rows = read_queries.load_verdict_texts(reader, named_rows), []
        for row in chunk:
            judge, trial, rater = _read_voter(row)
            if is_name(rater):
                verdict = row_conversion.verdict_of(row, verdict_texts)
                renamed_verdict = replace(verdict, judge=judge, trial=trial, rater=self.id_of(rater))
                values = dict(zip(_VERDICT, row, strict=True)) | {
                    "judge": judge,
                    "trial": trial,
                    "rater": renamed_verdict.rater,
                    "sum": row_conversion.verdict_checksum(renamed_verdict),
                }
                new_rows.append(tuple(values.values()))
            else:
                new_rows.append(row)
        return new_rows


def _read_voter(row: Row) -> tuple[str, int, str]:
    return normalize_voter(str(row[_VERDICT["judge"]]), int(row[_VERDICT["trial"]]), str(row[_VERDICT["rater"]]))


def _is_person(contestant: str) -> bool:
    return contestant.startswith(PERSON) and is_name(contestant.removeprefix(PERSON))
