"""From items, responses and cases to rows: what is new among them, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from fullbench.errors import LedgerError
from fullbench.ledger import rows
from fullbench.ledger.database import Database
from fullbench.ledger.pictures import Pictures
from fullbench.ledger.writer import Writer
from fullbench.nouns.call import NOTHING
from fullbench.nouns.case import Case
from fullbench.nouns.item import Item
from fullbench.nouns.picture import Picture
from fullbench.nouns.response import Response

LOOKUP = 500
RECENT = 4_096

Answered = dict[tuple[str, str, int], str]
"""The key of each response, by item, contestant and sample."""


class Adder:
    """Hands the writer the rows of what is added. Call it while holding the writer's lock."""

    def __init__(
        self, database: Database, writer: Writer, pictures: Callable[[], Pictures], *, keep_pictures: bool
    ) -> None:
        self._database, self._writer = database, writer
        self._pictures, self._keep_pictures = pictures, keep_pictures
        self._seen: dict[tuple[str, str], str] = {}

    def case(self, case: Case, answered: Answered) -> None:
        """A case with its item and its responses."""
        if self._seen_lately("cases", case.key):
            return
        self.item(case.item)
        for response in case.responses:
            self.response(case.item, response, rows.response_row(case.item, response, NOTHING, "", 0.0), answered)
        self._remember("cases", case.key)
        self._writer.put("cases", rows.case_row(case), case)

    def item(self, item: Item) -> None:
        """An item with its pictures; with other tags it is a row more."""
        tags = rows.tags_text(item.tags)
        if not self._seen_lately("items", item.key, tags):
            self._add_pictures(item.pictures)
            self._remember("items", item.key, tags)
            self._writer.put("items", rows.item_row(item), item)

    def response(self, item: Item, response: Response, row: rows.Row, answered: Answered) -> None:
        """A response with its pictures, unless it is known; one that is known with other words is refused."""
        place = f"{item.key} {response.sample} {response.contestant}"
        known = self._seen.get(("responses", place)) or answered.get((item.key, response.contestant, response.sample))
        if known is not None and known != response.key:
            raise LedgerError(
                f"{self._database.place}: {response.contestant!r} answered item {item.id!r} differently before (sample "
                f"{response.sample}); give this contestant another name, or use another ledger"
            )
        if known is None:
            self._add_pictures(response.pictures)
        self._remember("responses", place, response.key)
        if known is None:
            self._writer.put("responses", row, response)

    def answered(self, items: Iterable[Item]) -> Answered:
        """What is on disk of the responses to these items."""
        keys = iter({item.key for item in items})
        found: Answered = {}
        with self._database.plainly():
            while chunk := list(islice(keys, LOOKUP)):
                marks = ", ".join("?" * len(chunk))
                sql = f"SELECT item_key, contestant, trial, key FROM responses WHERE item_key IN ({marks})"
                rows_ = self._writer.connection.execute(sql, chunk)
                found |= {(item, who, trial): key for item, who, trial, key in rows_}
        return found

    def _seen_lately(self, table: str, key: str, content: str = "") -> bool:
        return self._seen.get((table, key)) == content

    def _remember(self, table: str, key: str, content: str = "") -> None:
        """Spare a short while's repetitions; the memory never grows beyond `RECENT`, and what it forgets is on disk."""
        if len(self._seen) >= RECENT:
            self._writer.flush()
            self._seen.clear()
        self._seen[table, key] = content

    def _add_pictures(self, pictures: Iterable[Picture]) -> None:
        for picture in pictures:
            if self._seen_lately("pictures", picture.digest):
                continue
            away = not self._keep_pictures and isinstance(picture.source, Path)
            if not away:
                self._pictures().keep(picture)
            self._remember("pictures", picture.digest)
            self._writer.put_picture((picture.digest, picture.media, str(picture.source) if away else None))
