"""Queries of a ledger's studies, items, responses, cases, pictures, costs and digests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from fullbench.core.ballot import ballot
from fullbench.core.case import Case
from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.core.media import Kind, Media, kind_of, media_from_digest
from fullbench.core.model_call import Call
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import Failure
from fullbench.errors import LedgerError
from fullbench.ledger import contents_and_cost, row_conversion, schema, study_membership_of_items_and_cases
from fullbench.ledger.contents_and_cost import Account
from fullbench.ledger.database_interface import Connection, Database
from fullbench.ledger.integrity import row_chain
from fullbench.ledger.integrity.row_chain import LedgerDigest
from fullbench.ledger.name_aliases import Naming
from fullbench.ledger.pictures.picture_folder import Pictures, no_picture_place_error
from fullbench.ledger.read_connections import Readers
from fullbench.ledger.read_queries import (
    Names,
    current_item_keys,
    in_condition,
    names_of,
    rows_with_keys,
    where_clauses,
)


class ContentReader:
    """Read methods of `Ledger`, except those that return verdicts."""

    place: str
    study: str
    read_only: bool
    study_named: bool
    _is_closed: bool
    _database: Database
    _readers: Readers
    _pictures: Pictures | None

    def flush(self) -> None:
        """Commit everything that was added."""
        raise NotImplementedError

    @contextmanager
    def reader(self) -> Iterator[Connection]:
        """Lend a connection for one read (`?` for values in SQL); it sees everything that was added."""
        if self._is_closed:
            raise LedgerError(f"{self.place}: the ledger is closed")
        self.flush()
        with self._readers.lend_connection() as reader:
            yield reader

    @cached_property
    def _settings(self) -> list[tuple[str, str]]:
        """Names and values of the settings in the order they were set, as of opening the ledger.

        Damaged settings are read too, so that a damaged ledger can be opened and verified.
        """
        with self.reader() as reader, reader.snapshot():
            setting_rows = reader.execute("SELECT name, value FROM settings ORDER BY rowid").fetchall()
        return [(str(name), str(value)) for name, value in setting_rows]

    @property
    def identity(self) -> str:
        """Random id of this ledger, created with it and never changed."""
        # Reversed, so that the first value wins: later rows cannot change the identity.
        return dict(reversed(self._settings)).get("identity", "")

    @property
    def salt(self) -> bytes:
        """Random bytes of this ledger, for values that outsiders must not be able to guess."""
        return bytes.fromhex(dict(reversed(self._settings)).get("salt", ""))

    @property
    def pictures(self) -> Pictures:
        """Picture storage of this ledger."""
        if self._pictures is None:
            raise no_picture_place_error(self.place)
        return self._pictures

    def picture(self, digest: str) -> Picture:
        """Return the picture with this digest; raise `LedgerError` if no row names it, or names another kind."""
        media = self.media(digest)
        if not isinstance(media, Picture):
            raise LedgerError(f"{self.place}: {digest} is a {media.noun}, not a picture")
        return media

    def sent_texts_with_frames(self) -> Iterator[str]:
        """Yield the prompts, as JSON, of the calls that sent frames or pages in place of other media."""
        with self.reader() as reader:
            sql = "SELECT sent FROM calls WHERE sent LIKE ? ORDER BY rowid"
            yield from (text for (text,) in reader.execute(sql, ('{"turns"%',)).fetchall())

    def media(self, digest: str, kind: Kind | None = None) -> Media:
        """Return the picture or other file with this digest; raise `LedgerError` if no row names it.
        `kind` is that of the part that shows it, or None for the kind of its media type.
        """
        with self.reader() as reader:
            picture_row = reader.execute("SELECT media, path FROM pictures WHERE digest = ?", (digest,)).fetchone()
        if picture_row is None:
            raise LedgerError(f"{self.place}: the picture {digest} is not known; run `fullbench ledger verify`")
        media_type, path = picture_row
        media_kind = kind or kind_of(media_type)
        if path is not None and (self._pictures is None or not self._pictures.has(digest)):
            return media_from_digest(media_kind, digest, media_type, Path(path))
        return self.pictures.find(digest, media_type, media_kind)

    def studies(self) -> list[str]:
        """Return the names of all studies, in the order they were added."""
        with self.reader() as reader:
            return study_membership_of_items_and_cases.study_names(reader)

    def one_study(self, study: str | None = None) -> str | None:
        """Return the named study, or the only one; None in an empty ledger. Raise if several are possible."""
        studies = self.studies()
        if study is not None or self.study_named:
            study_name = study or self.study
            if studies and study_name not in studies and (study is not None or self.read_only):
                raise LedgerError(
                    f"{self.place}: there is no study {study_name!r}; it holds {', '.join(map(repr, studies))}"
                )
            return study_name
        if len(studies) > 1:
            raise LedgerError(
                f"{self.place}: the ledger has the studies {', '.join(map(repr, studies))}, which are never mixed in "
                f"one table; name one (--study NAME)"
            )
        return next(iter(studies), None)

    def members_since(self, place: int, limit: int) -> list[tuple[int, str, str]]:
        """Return place, study and case key of study members added after `place`, in the order of entry."""
        sql = "SELECT rowid, study, case_key FROM study_cases WHERE rowid > ? ORDER BY rowid LIMIT ?"
        with self.reader() as reader, self._database.hold_back_commits(reader):
            return [(row[0], row[1], row[2]) for row in reader.execute(sql, (place, limit))]

    def last_alias_place(self) -> int:
        """Number of the last alias. If it grows, rows read earlier may have other names now."""
        with self.reader() as reader:
            return int(reader.execute("SELECT coalesce(max(rowid), 0) FROM aliases").fetchone()[0])

    def former_names(self, role: str, name: str) -> list[str]:
        """Return the former names of a judge or contestant."""
        with self.reader() as reader:
            return list(Naming.read(reader).stored_names(role, [name])[1:])

    def superseded_cases(self, since: int) -> tuple[int, dict[str, set[str]]]:
        """Return the place of the last superseded content, and all cases on superseded contents by study.

        The cases are empty if nothing was superseded after place `since`.
        """
        last = "SELECT coalesce(max(rowid), 0) FROM study_items WHERE revision > 0"
        with self.reader() as reader, self._database.hold_back_commits(reader):
            moment = int(reader.execute(last).fetchone()[0])
            if moment <= since:
                return moment, {}
            studies = reader.execute("SELECT DISTINCT study FROM study_items WHERE revision > 0").fetchall()
            return moment, {
                study: study_membership_of_items_and_cases.superseded_cases(reader, study) for (study,) in studies
            }

    def items(self, *, study: str | None = None) -> Iterator[Item]:
        """Stream items in the order of entry with their latest tags; with `study`, in that study's revision."""
        latest = "SELECT max(rowid) FROM items GROUP BY key"
        sql = f"SELECT {row_conversion.ITEM} FROM items WHERE rowid IN ({latest}) ORDER BY rowid"
        with self.reader() as reader:
            members = None if study is None else set(current_item_keys(reader, study).values())
            for row in reader.stream(sql, ()):
                if members is None or row[0] in members:
                    yield row_conversion.item_of(row, self.media)

    def items_of_tagged(self, tag: str) -> set[str]:
        """Return the ids of items that have a response with this tag, with any value."""
        # `replace`, because substring search has different names in SQLite and PostgreSQL.
        sql = "SELECT DISTINCT item FROM responses WHERE replace(tags, ?, '') <> tags"
        with self.reader() as reader:
            return {item for (item,) in reader.execute(sql, (orjson.dumps(tag).decode() + ":",))}

    def lacking_pictures(self, study: str | None = None) -> set[str]:
        """Return the ids of items, in a study or in all, whose pictures are missing."""
        sql = "SELECT DISTINCT items.item FROM items"
        sql += (
            "" if study is None else " JOIN study_items ON study_items.item_key = items.key AND study_items.study = ?"
        )
        sql += " WHERE replace(items.tags, ?, '') <> items.tags"
        tag_text = orjson.dumps(WITHOUT_PICTURES).decode() + ":"
        with self.reader() as reader:
            return {item for (item,) in reader.execute(sql, (tag_text,) if study is None else (study, tag_text))}

    def responses(
        self, contestant: Names = None, *, item_keys: Iterable[str] | None = None, study: str | None = None
    ) -> Iterator[Response]:
        """Stream responses in the order of entry; with `study`, only those to its items."""
        names = names_of(contestant)
        with self.reader() as reader:
            naming = Naming.read(reader)
            name_condition = (
                ("", ()) if names is None else in_condition("contestant", naming.stored_names("contestant", names))
            )
            members = None if study is None else set(current_item_keys(reader, study).values())
            for condition, values in where_clauses([name_condition], "item_key", item_keys):
                sql = f"SELECT {row_conversion.RESPONSE} FROM responses{condition} ORDER BY rowid"
                for row in reader.stream(sql, values):
                    if members is None or row[3] in members:
                        yield naming.rename_response(row_conversion.response_of(row, self.media))

    def answered_keys(self, contestant: str, keys: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """Return those of these items (key and sample) that the contestant has answered."""
        requested_keys = set(keys)
        stored_keys: set[tuple[str, int]] = set()
        with self.reader() as reader:
            conditions = [in_condition("contestant", Naming.read(reader).stored_names("contestant", (contestant,)))]
            for condition, values in where_clauses(conditions, "item_key", (key for key, _ in requested_keys)):
                sql = f"SELECT item_key, trial FROM responses{condition}"
                stored_keys |= set(map(tuple, reader.execute(sql, values)))
        return stored_keys & requested_keys

    def contestant_calls(self, contestant: str, prompts: Collection[str]) -> dict[str, Call]:
        """Return the contestant's stored calls with these prompts, by prompt digest; the first one for each."""
        calls: dict[str, Call] = {}
        with self.reader() as reader:
            stored_names = {*Naming.read(reader).stored_names("contestant", (contestant,))}
            for row in rows_with_keys(reader, row_conversion.CALL, "calls", prompts, "prompt"):
                _, role, name, *_ = row
                if role == "contestant" and name in stored_names:
                    call = row_conversion.call_of(row)
                    calls.setdefault(call.prompt, call)
        return calls

    def case(self, key: str, trial: int = 0) -> Case | None:
        """Return the case with this key, or None if only its verdict is stored."""
        return next((case.at(trial) for case in self.cases([key])), None)

    def cases(self, keys: Iterable[str]) -> list[Case]:
        """Return the cases with these keys in a few queries, without those of which only verdicts are stored."""
        with self.reader() as reader:
            naming = Naming.read(reader)
            case_rows = list(rows_with_keys(reader, "key, item_key, responses, ballot, criterion", "cases", keys))
            item_keys = {row[1] for row in case_rows}
            items = {
                row[0]: row_conversion.item_of(row, self.media)
                for row in rows_with_keys(reader, row_conversion.ITEM, "items", item_keys)
            }
            response_keys = {key for row in case_rows for key in row_conversion.load_json(row[2])}
            responses: dict[str, Response] = {}
            for row in rows_with_keys(reader, row_conversion.RESPONSE, "responses", response_keys):
                responses.setdefault(row[0], naming.rename_response(row_conversion.response_of(row, self.media)))
        cases = []
        for key, item_key, keys_text, spec, criterion in case_rows:
            names = row_conversion.load_json(keys_text)
            if item_key in items and all(name in responses for name in names):
                case = Case(items[item_key], tuple(responses[name] for name in names), ballot(spec), criterion)
                case.__dict__["key"] = key
                cases.append(case)
        return cases

    def failures(self, name: str) -> Iterator[Failure]:
        """Stream the failed calls of a judge or contestant."""
        columns = "key, trial, error, calls, retries, tokens_in, tokens_out, dollars, seconds, cached, stored, kind"
        with self.reader() as reader:
            naming = Naming.read(reader)
            stored_names = (*naming.stored_names("judge", [name]), *naming.stored_names("contestant", [name]))
            for key, trial, error, *usage_values, cached_tokens, stored_tokens, kind in rows_with_keys(
                reader, columns, "failures", stored_names, "name"
            ):
                usage = row_conversion.usage_of(usage_values, cached_tokens, stored_tokens)
                yield Failure(key, name, trial, error, usage, kind)

    def failed_for_good(self, name: str) -> set[tuple[str, int]]:
        """Return key and trial of cases or items whose call failed permanently."""
        sql = "SELECT name, key, trial FROM failures WHERE kind = 'permanent'"
        with self.reader() as reader:
            naming, (failure_rows,) = Naming.read_with_queries(reader, (sql, ()))
        stored_names = {*naming.stored_names("judge", [name]), *naming.stored_names("contestant", [name])}
        return {(key, trial) for who, key, trial in failure_rows if who in stored_names}

    def failed_call_counts(self) -> dict[str, int]:
        """Count the failed calls of each judge, under its current name."""
        call_counts: Counter[str] = Counter()
        with self.reader() as reader:
            names = Naming.read(reader).judges
            for name, count in reader.execute("SELECT name, count(*) FROM failures WHERE role = 'judge' GROUP BY name"):
                call_counts[names.get(name, name)] += count
        return dict(call_counts)

    def study_cost(self, study: str) -> float:
        """Return the dollars spent on a study, including failed calls, as far as prices are known.

        An item or case that two studies share counts in both, since each would have had to pay for it.
        """
        cases = "SELECT case_key FROM study_cases WHERE study = ?"
        items = "SELECT item_key FROM study_items WHERE study = ?"
        parts = (
            f"verdicts WHERE case_key IN ({cases})", f"responses WHERE item_key IN ({items})",
            f"failures WHERE role = 'judge' AND key IN ({cases})",
            f"failures WHERE role = 'contestant' AND key IN ({items})",
        )  # fmt: skip
        with self.reader() as reader:
            queries = (reader.execute(f"SELECT coalesce(sum(dollars), 0.0) FROM {part}", (study,)) for part in parts)
            return float(sum(query.fetchone()[0] for query in queries))

    def bill(self) -> list[Account]:
        """Return the usage of each judge and contestant, including failed calls."""
        with self.reader() as reader:
            return contents_and_cost.usage_accounts(reader)

    def digest(self) -> str:
        """Return a digest of items, responses and verdicts that ignores order, times and costs."""
        with self.reader() as reader:
            return contents_and_cost.content_digest(reader)

    def describe(self) -> dict[str, Any]:
        """Return a summary of the ledger as a JSON value."""
        with self.reader() as reader:
            return {
                "path": self.place,
                "pictures": None if self._pictures is None else self._pictures.place,
                "bytes": self._database.size(reader),
                "schema": schema.VERSION,
                "ledger_digest": str(self._ledger_digest(reader)),
                "identity": self.identity,
                **contents_and_cost.describe_ledger(reader),
            }

    def ledger_digest(self) -> LedgerDigest:
        """Return a digest of every row in its place. A copy kept elsewhere proves that nothing was rewritten."""
        with self.reader() as reader:
            return self._ledger_digest(reader)

    def verify(self, noted_digest: LedgerDigest | None = None) -> list[str]:
        """Return one sentence for each problem found. `noted_digest` is an earlier ledger digest to check against."""
        from fullbench.ledger.integrity.verify_ledger import find_ledger_problems

        with self.reader() as reader:
            sentences = find_ledger_problems(self._database, reader, self.media, noted_digest)
            return [text.encode("utf-8", "backslashreplace").decode() for text in sentences]

    def verify_signatures(self, key: Path, files: Sequence[Path] = ()) -> list[str]:
        """Check signatures in the ledger and in files against a public key; return the problems."""
        from fullbench.ledger.integrity import signatures

        public = signatures.public_key(key)
        file_signatures = [signature for path in files for signature in signatures.read_signatures(path)]
        with self.reader() as reader, reader.snapshot():
            return list(signatures.find_signature_problems(reader, self.identity, public, file_signatures))

    def verification_counts(self) -> dict[str, Any]:
        """Return the counts of what `verify` checks, as a JSON value."""
        with self.reader() as reader:
            row_counts = {
                "counts": contents_and_cost.table_counts(reader),
                "chains": contents_and_cost.chain_counts(reader),
            }
            return {"path": self.place, **row_counts, "ledger_digest": str(self._ledger_digest(reader))}

    def _ledger_digest(self, reader: Connection) -> LedgerDigest:
        with self._database.hold_back_commits(reader):
            return row_chain.ledger_digest(reader)
