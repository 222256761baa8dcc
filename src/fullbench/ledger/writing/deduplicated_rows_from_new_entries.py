"""Conversion of new items, responses, cases and verdicts to rows, without storing anything twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fullbench.core.case import Case
from fullbench.core.item import WITHHELD, Item
from fullbench.core.media import Media
from fullbench.core.model_call import NOTHING, Call
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import LedgerError
from fullbench.ledger import row_conversion, study_membership_of_items_and_cases
from fullbench.ledger.contents_and_cost import Role
from fullbench.ledger.database_interface import KEYS_PER_QUERY, Database, chunks
from fullbench.ledger.name_aliases import Naming, normalize_voter
from fullbench.ledger.pictures.picture_folder import Pictures
from fullbench.ledger.writing.group_commit_writer import Writer

RECENT = 16_384
_MARK = row_conversion.tags_text({WITHHELD: "yes"}).strip("{}")
"""Text in an item's tags if it is withheld."""


@dataclass(frozen=True)
class StoredItems:
    """Stored state of items: keys of responses by item, contestant and sample; key and revision of each item id in the
    study; former names of contestants; keys of items that were ever withheld.
    """

    response_keys: dict[tuple[str, str, int], str] = field(default_factory=dict)
    contents: dict[str, tuple[str, int]] = field(default_factory=dict)
    naming: Naming | None = None
    withheld: frozenset[str] = frozenset()


NO_STORED_ITEMS = StoredItems()


class Adder:
    """Passes the rows of new entries to the writer. Call it while holding the writer's lock."""

    def __init__(
        self,
        database: Database,
        writer: Writer,
        pictures: Callable[[], Pictures],
        *,
        keep_pictures: bool,
        study: str,
        supersede: bool,
    ) -> None:
        self._database, self._writer = database, writer
        self._pictures, self._keep_pictures = pictures, keep_pictures
        self._study, self._supersede = study, supersede
        self._seen: dict[tuple[str, str], str] = {}
        self._looked_up: dict[str, StoredItems] = {}
        with writer.lookup_connection() as reader:
            self._enlisted = study in study_membership_of_items_and_cases.study_names(reader)

    def add_verdict(self, verdict: Verdict) -> None:
        """Add a verdict with its text and its calls."""
        stored_verdict = verdict
        if verdict.judge.startswith(PEOPLE) and not verdict.rater:
            judge, trial, rater = normalize_voter(verdict.judge, verdict.trial, "")
            stored_verdict = replace(verdict, judge=judge, trial=trial, rater=rater)
        if not self._enlisted:
            self._enlist()
        row = row_conversion.verdict_row(stored_verdict, self._study, self._writer.add_text)
        if stored_verdict.exchanges:
            self.add_calls(stored_verdict.exchanges, stored_verdict.judge)
        self._writer.put("verdicts", row, verdict, is_paid=True)

    def add_calls(self, exchanges: Iterable[Call], name: str, role: Role = "judge") -> None:
        """Add calls to a model, each once even if several verdicts came from it."""
        for call in exchanges:
            if not self._seen_lately("calls", call.id):
                self._remember("calls", call.id)
                self._add_media(call.frames)
                self._writer.add_rows("calls", row_conversion.call_row(call, name, role))

    def add_case(self, case: Case, stored_items: StoredItems) -> None:
        """Add a case with its item and its responses."""
        if self._seen_lately("cases", case.key):
            return
        self.add_item(case.item, stored_items)
        for response in case.responses:
            row = row_conversion.response_row(case.item, response, NOTHING, "", 0.0)
            self.add_response(case.item, response, row, stored_items, is_paid=False)
        self._remember("cases", case.key)
        self._writer.add_rows("study_cases", (self._study, case.key))
        self._writer.put("cases", row_conversion.case_row(case), case, is_paid=False)

    def add_item(self, item: Item, stored_items: StoredItems) -> None:
        """Add an item with its pictures and other media; other tags add another row, other content is refused.
        A withheld item stays withheld, even if added again without that tag: readers use the latest tags.
        """
        if item.key in stored_items.withheld or _MARK in self._seen.get(("items", item.key), ""):
            item = replace(item, tags={**item.tags, WITHHELD: "yes"})
        tags = row_conversion.tags_text(item.tags)
        if not self._seen_lately("items", item.key, tags):
            self._join(item, stored_items)
            self._add_media(item.media)
            self._remember("items", item.key, tags)
            self._writer.put("items", row_conversion.item_row(item), item, is_paid=False)

    def _join(self, item: Item, stored_items: StoredItems) -> None:
        """Make an item a member of the study; within a study an id has one content."""
        key, revision = stored_items.contents.get(item.id, ("", -1))
        if key == item.key or self._seen_lately("members", item.id, item.key):
            return
        if (key or ("members", item.id) in self._seen) and not self._supersede:
            raise LedgerError(
                f"{self._database.place}: the item {item.id!r} has another content in the study {self._study!r}; put "
                "it into another study (--study NAME), give it another id, or replace the earlier one with "
                "--supersede, which excludes its verdicts"
            )
        if ("members", item.id) in self._seen and not key:
            self._writer.flush()
            with self._database.translate_errors(), self._writer.lookup_connection() as reader:
                contents = study_membership_of_items_and_cases.item_contents(reader, self._study, [item.id])
            revision = contents.get(item.id, ("", -1))[1]
        self._enlist()
        stored_items.contents[item.id] = (item.key, revision + 1)
        self._remember("members", item.id, item.key)
        self._writer.add_rows("study_items", (self._study, item.key, item.id, revision + 1))

    def add_response(
        self, item: Item, response: Response, row: row_conversion.Row, stored_items: StoredItems, *, is_paid: bool
    ) -> None:
        """Add a response with its media, unless it is stored; refuse one that differs from the stored one."""
        place = f"{item.key} {response.sample} {response.contestant}"
        before = self._seen.get(("responses", place))
        if before is None:
            before = stored_items.response_keys.get((item.key, response.contestant, response.sample))
        if before not in {None, response.key} and before not in _possible_keys(response, stored_items.naming):
            raise LedgerError(
                f"{self._database.place}: {response.contestant!r} answered item {item.id!r} differently before (sample "
                f"{response.sample}); give this contestant another name, or use another ledger"
            )
        if before is None:
            self._add_media(response.media)
        self._remember("responses", place, before or response.key)
        if before is None:
            self._writer.put("responses", row, response, is_paid=is_paid)

    def load_stored_item(self, item: Item) -> StoredItems:
        """Return the stored state of an item; for a remote ledger, as of the last lookup.
        Entries added here since then are remembered. Conflicts with other writers are resolved at the commit.
        """
        recent_lookup = self._looked_up.get(item.key) if self._database.is_remote else None
        return self.load_stored_items([item]) if recent_lookup is None else recent_lookup

    def load_stored_items(self, items: Collection[Item]) -> StoredItems:
        """Return the stored state of these items and their responses."""
        if not items:
            return NO_STORED_ITEMS
        ids_by_key = {item.key: item.id for item in items}
        response_keys: dict[tuple[str, str, int], str] = {}
        with self._database.translate_errors(), self._writer.lookup_connection() as connection:
            content_queries = study_membership_of_items_and_cases.content_queries(self._study, ids_by_key.values())
            response_queries, withheld_queries = [], []
            for chunk in chunks(ids_by_key, KEYS_PER_QUERY):
                marks = ", ".join("?" * len(chunk))
                sql = f"SELECT item_key, contestant, trial, key FROM responses WHERE item_key IN ({marks})"
                response_queries.append((sql, chunk))
                # `replace`, because substring search has different names in SQLite and PostgreSQL.
                sql = f"SELECT key FROM items WHERE key IN ({marks}) AND replace(tags, ?, '') <> tags"
                withheld_queries.append((sql, [*chunk, _MARK]))
            naming, row_lists = Naming.read_with_queries(
                connection, *content_queries, *response_queries, *withheld_queries
            )
            ends = len(content_queries), len(content_queries) + len(response_queries)
            contents = study_membership_of_items_and_cases.newest_contents(
                row for rows_ in row_lists[: ends[0]] for row in rows_
            )
            for item, who, sample, key in (row for rows_ in row_lists[ends[0] : ends[1]] for row in rows_):
                response_keys[item, naming.contestants.get(who, who), sample] = key
            withheld = frozenset(key for rows_ in row_lists[ends[1] :] for (key,) in rows_)
        stored_items = StoredItems(response_keys, contents, naming, withheld)
        if self._database.is_remote:
            if len(self._looked_up) >= RECENT:
                self._looked_up.clear()
            self._looked_up.update(dict.fromkeys(ids_by_key, stored_items))
        return stored_items

    def join(self, cases: Sequence[str], items: Collection[Item]) -> None:
        """Make stored cases and items members of the study."""
        with self._database.translate_errors(), self._writer.lookup_connection() as connection:
            outside_cases = list(
                study_membership_of_items_and_cases.cases_outside_study(connection, self._study, cases)
            )
            ids = {item for _, _, item in outside_cases} | {item.id for item in items}
            stored_items = StoredItems(
                {}, study_membership_of_items_and_cases.item_contents(connection, self._study, ids)
            )
        changed_items = [item for item in items if stored_items.contents.get(item.id, ("", 0))[0] != item.key]
        for item in changed_items:
            self._join(item, stored_items)
        rows_ = [(self._study, key, item, 0) for item, key in {item: key for _, key, item in outside_cases}.items()]
        self._writer.add_rows("study_items", *(row for row in rows_ if row[2] not in stored_items.contents))
        if outside_cases or changed_items:
            self._enlist()
            self._writer.keep("study_cases", *((self._study, case) for case, _, _ in outside_cases))

    def _enlist(self) -> None:
        if not self._enlisted:
            self._enlisted = True
            self._writer.add_rows("studies", (self._study, time.time()))

    def _seen_lately(self, table: str, key: str, content: str = "") -> bool:
        return self._seen.get((table, key)) == content

    def _remember(self, table: str, key: str, content: str = "") -> None:
        """Remember an entry to skip repetitions; at `RECENT` entries everything is flushed and forgotten."""
        if len(self._seen) >= RECENT:
            self._writer.flush()
            self._seen.clear()
            self._looked_up.clear()
        self._seen[table, key] = content

    def _add_media(self, media: Iterable[Media]) -> None:
        for picture in media:
            if self._seen_lately("pictures", picture.digest):
                continue
            away = not self._keep_pictures and isinstance(picture.source, Path)
            if not away:
                self._pictures().gather(picture)
                self._writer.before, self._writer.after = self._pictures().settle, self._pictures().check_kept
            self._remember("pictures", picture.digest)
            self._writer.add_rows(
                "pictures", (picture.digest, picture.media_type, str(picture.source) if away else None)
            )


def _possible_keys(response: Response, naming: Naming | None) -> set[str]:
    formers = (response.contestant,) if naming is None else naming.stored_names("contestant", [response.contestant])
    return {response.key, *(replace(response, contestant=name).key for name in formers)}
