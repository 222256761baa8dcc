"""From items, responses, cases and verdicts to rows: what is new among them, and nothing twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from fullbench.core.call import NOTHING, Call
from fullbench.core.case import Case
from fullbench.core.item import WITHHELD, Item
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import LedgerError
from fullbench.ledger import row_conversion, study_members
from fullbench.ledger.aliases import Naming, voter
from fullbench.ledger.contents_and_cost import Role
from fullbench.ledger.database_interface import Database
from fullbench.ledger.pictures.picture_folder import Pictures
from fullbench.ledger.writing.group_commit_writer import Writer

LOOKUP = 500
RECENT = 16_384
_MARK = row_conversion.tags_text({WITHHELD: "yes"}).strip("{}")
"""How the tags of an item say that it is withheld."""


@dataclass(frozen=True)
class Known:
    """What is on disk of some items: the key of each response by item, contestant and sample, the key and the
    revision of what each id stands for in the study, what contestants were once called, and the keys of items that
    were ever withheld."""

    answered: dict[tuple[str, str, int], str] = field(default_factory=dict)
    contents: dict[str, tuple[str, int]] = field(default_factory=dict)
    naming: Naming | None = None
    withheld: frozenset[str] = frozenset()


NOT_KNOWN = Known()


class Adder:
    """Hands the writer the rows of what is added. Call it while holding the writer's lock."""

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
        self._looked_up: dict[str, Known] = {}
        with writer.looking() as reader:
            self._enlisted = study in study_members.studies(reader)

    def verdict(self, verdict: Verdict) -> None:
        """A verdict with its text and its exchanges."""
        stored = verdict
        if verdict.judge.startswith(PEOPLE) and not verdict.rater:
            judge, trial, rater = voter(verdict.judge, verdict.trial, "")
            stored = replace(verdict, judge=judge, trial=trial, rater=rater)
        if not self._enlisted:
            self._enlist()
        made = row_conversion.verdict_row(stored, self._study, self._writer.say)
        if stored.exchanges:
            self.calls(stored.exchanges, stored.judge)
        self._writer.put("verdicts", made, verdict, paid=True)

    def calls(self, exchanges: Iterable[Call], name: str, role: Role = "judge") -> None:
        """Exchanges with a model, each once however many verdicts came from it."""
        for call in exchanges:
            if not self._seen_lately("calls", call.id):
                self._remember("calls", call.id)
                self._writer.bring("calls", row_conversion.call_row(call, name, role))

    def case(self, case: Case, known: Known) -> None:
        """A case with its item and its responses."""
        if self._seen_lately("cases", case.key):
            return
        self.item(case.item, known)
        for response in case.responses:
            row = row_conversion.response_row(case.item, response, NOTHING, "", 0.0)
            self.response(case.item, response, row, known, paid=False)
        self._remember("cases", case.key)
        self._writer.bring("study_cases", (self._study, case.key))
        self._writer.put("cases", row_conversion.case_row(case), case, paid=False)

    def item(self, item: Item, known: Known) -> None:
        """An item with its pictures; with other tags it is a row more, with other content it is refused.

        What was withheld once stays so, whoever brings it again without the mark: its latest tags are what is shown.
        """
        if item.key in known.withheld or _MARK in self._seen.get(("items", item.key), ""):
            item = replace(item, tags={**item.tags, WITHHELD: "yes"})
        tags = row_conversion.tags_text(item.tags)
        if not self._seen_lately("items", item.key, tags):
            self._join(item, known)
            self._add_pictures(item.pictures)
            self._remember("items", item.key, tags)
            self._writer.put("items", row_conversion.item_row(item), item, paid=False)

    def _join(self, item: Item, known: Known) -> None:
        """Make an item a member of the study, where its id stands for one content."""
        key, revision = known.contents.get(item.id, ("", -1))
        if key == item.key or self._seen_lately("members", item.id, item.key):
            return
        if (key or ("members", item.id) in self._seen) and not self._supersede:
            raise LedgerError(
                f"{self._database.place}: the item {item.id!r} has another content in the study {self._study!r}; put "
                "it into another study (--study NAME), give it another id, or let it take the place of the earlier one "
                "(--supersede), whose verdicts are then set aside"
            )
        if ("members", item.id) in self._seen and not key:
            self._writer.flush()
            with self._database.plainly(), self._writer.looking() as reader:
                contents = study_members.contents(reader, self._study, [item.id])
            revision = contents.get(item.id, ("", -1))[1]
        self._enlist()
        known.contents[item.id] = (item.key, revision + 1)
        self._remember("members", item.id, item.key)
        self._writer.bring("study_items", (self._study, item.key, item.id, revision + 1))

    def response(self, item: Item, response: Response, row: row_conversion.Row, known: Known, *, paid: bool) -> None:
        """A response with its pictures, unless it is known; one that is known with other words is refused."""
        place = f"{item.key} {response.sample} {response.contestant}"
        before = self._seen.get(("responses", place))
        if before is None:
            before = known.answered.get((item.key, response.contestant, response.sample))
        if before not in {None, response.key} and before not in _keys(response, known.naming):
            raise LedgerError(
                f"{self._database.place}: {response.contestant!r} answered item {item.id!r} differently before (sample "
                f"{response.sample}); give this contestant another name, or use another ledger"
            )
        if before is None:
            self._add_pictures(response.pictures)
        self._remember("responses", place, before or response.key)
        if before is None:
            self._writer.put("responses", row, response, paid=paid)

    def known_of(self, item: Item) -> Known:
        """What is on disk of an item; where the ledger is far, as it was looked up when the item was entered: what was
        added here since then is remembered, and what others added is sorted out when it is committed."""
        lately = self._looked_up.get(item.key) if self._database.far else None
        return self.known([item]) if lately is None else lately

    def known(self, items: Collection[Item]) -> Known:
        """What is on disk of these items and of the responses to them."""
        if not items:
            return NOT_KNOWN
        wanted = {item.key: item.id for item in items}
        answered: dict[tuple[str, str, int], str] = {}
        with self._database.plainly(), self._writer.looking() as connection:
            asked = study_members.asking_contents(self._study, wanted.values())
            answers, withholding = [], []
            keys = iter(wanted)
            while chunk := list(islice(keys, LOOKUP)):
                marks = ", ".join("?" * len(chunk))
                sql = f"SELECT item_key, contestant, trial, key FROM responses WHERE item_key IN ({marks})"
                answers.append((sql, chunk))
                # By `replace`, for SQLite and PostgreSQL have different names for a search within a text.
                sql = f"SELECT key FROM items WHERE key IN ({marks}) AND replace(tags, ?, '') <> tags"
                withholding.append((sql, [*chunk, _MARK]))
            naming, found = Naming.beside(connection, *asked, *answers, *withholding)
            ends = len(asked), len(asked) + len(answers)
            contents = study_members.newest(row for rows_ in found[: ends[0]] for row in rows_)
            for item, who, sample, key in (row for rows_ in found[ends[0] : ends[1]] for row in rows_):
                answered[item, naming.contestants.get(who, who), sample] = key
            withheld = frozenset(key for rows_ in found[ends[1] :] for (key,) in rows_)
        looked_up = Known(answered, contents, naming, withheld)
        if self._database.far:
            if len(self._looked_up) >= RECENT:
                self._looked_up.clear()
            self._looked_up.update(dict.fromkeys(wanted, looked_up))
        return looked_up

    def join(self, cases: Sequence[str], items: Collection[Item]) -> None:
        """Make cases and items that are on disk members of the study."""
        with self._database.plainly(), self._writer.looking() as connection:
            strangers = list(study_members.strangers(connection, self._study, cases))
            ids = {item for _, _, item in strangers} | {item.id for item in items}
            known = Known({}, study_members.contents(connection, self._study, ids))
        changed = [item for item in items if known.contents.get(item.id, ("", 0))[0] != item.key]
        for item in changed:
            self._join(item, known)
        rows_ = [(self._study, key, item, 0) for item, key in {item: key for _, key, item in strangers}.items()]
        self._writer.bring("study_items", *(row for row in rows_ if row[2] not in known.contents))
        if strangers or changed:
            self._enlist()
            self._writer.keep("study_cases", *((self._study, case) for case, _, _ in strangers))

    def _enlist(self) -> None:
        """Name the study, when something is about to become a member of it."""
        if not self._enlisted:
            self._enlisted = True
            self._writer.bring("studies", (self._study, time.time()))

    def _seen_lately(self, table: str, key: str, content: str = "") -> bool:
        return self._seen.get((table, key)) == content

    def _remember(self, table: str, key: str, content: str = "") -> None:
        """Spare a short while's repetitions; the memory never grows beyond `RECENT`, and what it forgets is on disk."""
        if len(self._seen) >= RECENT:
            self._writer.flush()
            self._seen.clear()
            self._looked_up.clear()
        self._seen[table, key] = content

    def _add_pictures(self, pictures: Iterable[Picture]) -> None:
        for picture in pictures:
            if self._seen_lately("pictures", picture.digest):
                continue
            away = not self._keep_pictures and isinstance(picture.source, Path)
            if not away:
                self._pictures().gather(picture)
                self._writer.before, self._writer.after = self._pictures().settle, self._pictures().check_kept
            self._remember("pictures", picture.digest)
            self._writer.bring("pictures", (picture.digest, picture.media, str(picture.source) if away else None))


def _keys(response: Response, naming: Naming | None) -> set[str]:
    """The keys under which this response may have been kept: those of its contestant's former names too."""
    formers = (response.contestant,) if naming is None else naming.formers("contestant", [response.contestant])
    return {response.key, *(replace(response, contestant=name).key for name in formers)}
