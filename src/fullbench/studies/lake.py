"""The standard figures over more verdicts than fit in memory, by DuckDB, from a ledger or its Parquet export."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, combinations, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fullbench.errors import InputError, MissingExtra
from fullbench.figures.gaps import Gaps
from fullbench.figures.standard import cost_table, fault_table
from fullbench.ledger.database import database
from fullbench.ledger.store import Ledger
from fullbench.nouns.call import Usage
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.table import Cell, Table
from fullbench.nouns.verdict import FAULTS
from fullbench.stats.clusters import PoissonBootstrap, cluster_mean, cluster_share

if TYPE_CHECKING:
    import duckdb

CHUNK = 50_000
TEXTS = ("judge", "item", "contestants", "ballot", "criterion", "marks", "fault")
NUMBERS = ("trial", "calls", "retries", "tokens_in", "tokens_out", "seconds", "dollars")

LOADING = (
    "CREATE TYPE judges AS ENUM (SELECT DISTINCT judge FROM raw ORDER BY 1)",
    "CREATE TYPE forms AS ENUM (SELECT DISTINCT ballot FROM raw ORDER BY 1)",
    "CREATE TYPE criteria AS ENUM (SELECT DISTINCT criterion FROM raw ORDER BY 1)",
    """CREATE TYPE people AS ENUM (
        SELECT DISTINCT unnest(from_json(contestants, '["VARCHAR"]')) AS name
        FROM (SELECT DISTINCT contestants FROM raw) ORDER BY 1)""",
    "CREATE TABLE codes AS SELECT item, row_number() OVER (ORDER BY item) AS code FROM (SELECT DISTINCT item FROM raw)",
    """CREATE TABLE verdicts AS SELECT judge::judges AS judge, code AS item, ballot::forms AS ballot,
        criterion::criteria AS criterion, trial::INT AS trial, fault,
        from_json(contestants, '["VARCHAR"]')::people[] AS names, marks::DOUBLE[] AS marks,
        calls, retries, tokens_in, tokens_out, dollars, seconds
    FROM raw JOIN codes USING (item) ORDER BY judge""",
    "DROP TABLE codes",
)
"""Verdicts with numbers for names: what is grouped and joined by is small, and a judge's rows lie together."""

SUMS = "SELECT {by}, item, sum(value) AS part, sum(size) AS size FROM ({rows}) GROUP BY ALL"
CLUSTERED = f"""
WITH sums AS MATERIALIZED ({SUMS}),
     wholes AS (SELECT {{by}}, fsum(part) AS total, sum(size)::BIGINT AS n, count(*) AS clusters FROM sums GROUP BY ALL)
SELECT {{by}}, any_value(total), any_value(n), any_value(clusters), fsum(pow(part - total / n * sums.size, 2))
FROM sums JOIN wholes USING ({{by}}) GROUP BY {{by}} ORDER BY {{by}}
"""
"""For each group the sum, the number, the clusters (items), and the squares of `stats.clusters`."""

MARKS = """
SELECT ballot, names[1] AS contestant, item, marks[1] AS value, 1 AS size
FROM verdicts WHERE judge = $judge AND marks IS NOT NULL AND len(names) = 1
"""
DUELS = """
SELECT contestant, item, below + (alike - 1) / 2 AS value, others AS size FROM (
    SELECT contestant, item, rank() OVER panel - 1 AS below, count(*) OVER (panel RANGE CURRENT ROW) AS alike,
        count(*) OVER (PARTITION BY panel_number, item, ballot, criterion, trial) - 1 AS others
    FROM (
        SELECT unnest(names) AS contestant, unnest(marks) AS mark, item, ballot, criterion, trial,
            CASE WHEN len(names) > 1 THEN rowid END AS panel_number
        FROM verdicts WHERE judge = $judge AND marks IS NOT NULL
    ) WINDOW panel AS (PARTITION BY panel_number, item, ballot, criterion, trial ORDER BY mark)
) WHERE others > 0
"""
"""What each contestant won in each panel, ties as halves, and against how many; single marks make a panel together."""

MEETINGS = """
WITH ruled AS (
    SELECT judge, item, criterion, ballot, list_sort(names) AS names, marks[1] AS mark,
        CASE WHEN len(names) > 1 AND len(list_filter(marks, lambda one: one = list_max(marks))) = 1
             THEN names[list_position(marks, list_max(marks))] END AS winner
    FROM verdicts WHERE judge IN ($judge, $other) AND marks IS NOT NULL
)
SELECT a.item,
    CASE WHEN len(names) = 1 THEN 'scores' WHEN ballot = 'ranking' THEN 'rankings' ELSE 'pairs' END AS shape,
    CAST(CASE WHEN len(names) = 1 THEN a.mark = b.mark ELSE a.winner IS NOT DISTINCT FROM b.winner END AS INT) AS value,
    1 AS size, a.mark AS one, b.mark AS two
FROM ruled a JOIN ruled b USING (item, criterion, ballot, names) WHERE a.judge = $judge AND b.judge = $other
"""


@contextmanager
def lake(source: str, *, memory: str = "1GB", resamples: int = 0, seed: int = 0) -> Iterator[Lake]:
    """The verdicts of a ledger, or of a Parquet file that was exported from one, in a file that goes away after.

    With `resamples`, intervals come from so many resamples of items, else from Student's t over items.
    """
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtra("tables over a whole ledger", "lake") from error
    with tempfile.TemporaryDirectory(prefix="fullbench-lake-") as folder:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": memory, "temp_directory": f"{folder}/spill", "preserve_insertion_order": False,
        }  # fmt: skip
        try:
            with duckdb.connect(f"{folder}/lake.duckdb", config=settings) as connection:
                connection.execute("SET enable_progress_bar = false")
                yield Lake(connection, source, resamples, seed)
        except duckdb.OutOfMemoryException as error:
            raise InputError(f"{memory} of memory are too little for this; give more with --memory") from error
        except duckdb.Error as error:
            said = str(error).splitlines()[0]
            raise InputError(f"{_shown(source)}: the verdicts could not be read ({said})") from error


class Lake:
    """Verdicts in DuckDB. Every table is computed there; what comes back has one row for each judge or contestant."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, source: str, resamples: int = 0, seed: int = 0) -> None:
        self._connection = connection
        self._resamples, self._seed = resamples, seed
        self._contestants: list[list[Cell]] = []
        if Path(source).suffix == ".parquet":
            if not Path(source).exists():
                raise InputError("there is no such file", path=source)
            connection.read_parquet(source).create_view("raw")
        else:
            with Ledger(source, read_only=True) as ledger:
                self._fill(ledger)
        if connection.execute("SELECT count(*) FROM raw").fetchone() == (0,):
            raise InputError(f"{_shown(source)}: there is no verdict in it")
        for statement in LOADING:
            connection.execute(statement)
        connection.execute("DROP VIEW raw" if Path(source).suffix == ".parquet" else "DROP TABLE raw")

    def _fill(self, ledger: Ledger) -> None:
        columns = [*(f"{name} VARCHAR" for name in TEXTS), *(f"{name} DOUBLE" for name in NUMBERS)]
        self._connection.execute(f"CREATE TABLE raw ({', '.join(columns)})")
        with ledger.reader() as reader:
            rows = reader.stream(f"SELECT {', '.join((*TEXTS, *NUMBERS))} FROM verdicts")
            while chunk := list(islice(rows, CHUNK)):
                self._insert(chunk)
        for account in ledger.bill():
            used = account.usage
            if account.role == "contestant":
                self._contestants.append(
                    [account.name, account.given, account.failures, used.calls, used.retries, used.tokens_in,
                     used.tokens_out, used.dollars]
                )  # fmt: skip

    def _insert(self, chunk: Sequence[tuple[Any, ...]]) -> None:
        """A chunk of rows by columns; a text that is not there goes as the empty one, a price as less than nothing."""
        import numpy as np

        made = list(zip(*chunk, strict=True))
        texts = {n: np.array([v or "" for v in c], dtype=object) for n, c in zip(TEXTS, made, strict=False)}
        numbers = made[len(TEXTS) :]
        given = {n: np.array([v or 0.0 for v in c]) for n, c in zip(NUMBERS, numbers, strict=True)}
        given["priced"] = np.array([value is not None for value in numbers[-1]])
        self._connection.register("chunk", {**texts, **given})
        named = [*(f"nullif({n}, '')" if n in {"marks", "fault"} else n for n in TEXTS), *NUMBERS[:-1]]
        self._connection.execute(
            f"INSERT INTO raw SELECT {', '.join(named)}, CASE WHEN priced THEN dollars END FROM chunk"
        )
        self._connection.unregister("chunk")

    def tables(self) -> list[Table]:
        """Faults, means, duels won, agreement between judges, and what it cost."""
        made = [self.faults(), self.means(), self.duels(), self.agreement(), self.costs(), self.contestants()]
        return [table for table in made if table.rows]

    def faults(self) -> Table:
        kinds = ", ".join(f"count(*) FILTER (fault = '{fault}')" for fault in FAULTS)
        counts = {
            judge: dict(zip(("verdicts", *FAULTS), found, strict=True))
            for judge, *found in self._rows(f"SELECT judge, count(*), {kinds} FROM verdicts GROUP BY 1 ORDER BY 1")
        }
        return fault_table(counts)

    def costs(self) -> Table:
        used = {
            judge: (count, Usage(int(calls), int(retries), int(into), int(out), None if unpriced else dollars, seconds))
            for judge, count, calls, retries, into, out, dollars, unpriced, seconds in self._rows(
                "SELECT judge, count(*), sum(calls), sum(retries), sum(tokens_in), sum(tokens_out), fsum(dollars), "
                "count(*) FILTER (dollars IS NULL), fsum(seconds) FROM verdicts GROUP BY 1 ORDER BY 1"
            )
        }
        return cost_table(used)

    def means(self) -> Table:
        """The mean mark of each contestant by each judge, on each ballot that marks one response at a time."""
        gaps = Gaps()
        rows: list[list[Cell]] = [
            [judge, form, who, gaps.cell(f"{judge}, {who}", made.mean)]
            for judge in self._judges()
            for (form, who), made in self._clustered("ballot, contestant", MARKS, judge=judge)
        ]
        columns = ("judge", "ballot", "contestant", "mean")
        return Table("means", "Mean marks", columns, rows, [*self._notes, *gaps.notes])

    def duels(self) -> Table:
        """The share of duels that each contestant won by each judge, ties as halves."""
        gaps = Gaps()
        rows: list[list[Cell]] = [
            [judge, who, gaps.cell(f"{judge}, {who}", made.share)]
            for judge in self._judges()
            for (who,), made in self._clustered("contestant", DUELS, judge=judge)
        ]
        return Table("duels", "Duels won", ("judge", "contestant", "duels won"), rows, [*self._notes, *gaps.notes])

    def agreement(self) -> Table:
        """How often two judges rule alike on the same responses: the same mark, or the same winner."""
        gaps = Gaps()
        rows: list[list[Cell]] = []
        for judge, other in combinations(self._judges(), 2):
            for (shape,), made in self._clustered("shape", MEETINGS, judge=judge, other=other):
                same = gaps.cell(f"{judge} and {other}", made.share)
                rows.append([judge, other, shape, same, self._r(judge, other) if shape == "scores" else None])
        notes = ["The same mark for scores, the same winner otherwise; r is Pearson's, for scores.", *self._notes]
        columns = ("judge", "other", "on", "same ruling", "r")
        return Table("between judges", "Agreement between judges", columns, rows, [*notes, *gaps.notes])

    def _r(self, judge: str, other: str) -> float | None:
        """Pearson's r of two judges' scores; None where one of them does not vary."""
        varies = "stddev_pop(one) > 0 AND stddev_pop(two) > 0"
        sql = f"SELECT CASE WHEN {varies} THEN corr(one, two) END FROM ({MEETINGS}) WHERE shape = 'scores'"
        ((found,),) = self._rows(sql, judge=judge, other=other)
        return None if found is None else float(found)

    def _judges(self) -> list[str]:
        return [judge for (judge,) in self._rows("SELECT DISTINCT judge FROM verdicts ORDER BY 1")]

    def contestants(self) -> Table:
        """What the contestants' answers used, failed calls included; a Parquet file does not know."""
        columns = (
            "contestant", "responses", "failures", "calls", "retries", "tokens in", "tokens out", "dollars",
        )  # fmt: skip
        return Table("answers", "What answering cost", columns, self._contestants)

    def _rows(self, sql: str, **values: str) -> Iterator[tuple[Any, ...]]:
        yield from self._connection.execute(sql, values or None).fetchall()

    @property
    def _notes(self) -> list[str]:
        return [] if self._resamples else [_NOTE]

    def _clustered(self, by: str, rows: str, **values: str) -> Iterator[tuple[tuple[str, ...], _Clusters]]:
        """The groups of some rows, each with what its interval is made from."""
        if self._resamples:
            yield from self._resampled(f"{SUMS.format(by=by, rows=rows)} ORDER BY {by}, item", values)
            return
        for *names, total, n, clusters, squares in self._rows(CLUSTERED.format(by=by, rows=rows), **values):
            yield tuple(names), _Sums(total, n, clusters, squares)

    def _resampled(self, sql: str, values: dict[str, str]) -> Iterator[tuple[tuple[str, ...], PoissonBootstrap]]:
        """One pass over the sums of all clusters, a group after the other."""
        cursor = self._connection.cursor().execute(sql, values)
        rows = chain.from_iterable(iter(lambda: cursor.fetchmany(CHUNK), []))
        for names, group in groupby(rows, key=lambda row: row[:-3]):
            made = PoissonBootstrap(self._resamples, self._seed)
            while some := list(islice(group, CHUNK)):
                made.add([row[-2] for row in some], [row[-1] for row in some])
            yield names, made


class _Clusters(Protocol):
    """What a figure with its interval is made from."""

    def mean(self) -> Estimate: ...

    def share(self) -> Estimate: ...


class _Sums(NamedTuple):
    """The sums of `stats.clusters`."""

    total: float
    n: int
    clusters: int
    squares: float

    def mean(self) -> Estimate:
        return cluster_mean(*self)

    def share(self) -> Estimate:
        return cluster_share(*self)


def _shown(source: str) -> str:
    """A source as it may be shown: without a password."""
    return source if Path(source).suffix == ".parquet" else database(source).place


_NOTE = (
    "The rows of one item are a cluster (Student's t); --resamples 1000 resamples items, as `fullbench report` does."
)
