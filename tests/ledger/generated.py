"""A lake of generated verdicts, as many as wanted: for what no ledger here could hold.

`python -m tests.ledger.generated 100000000 FOLDER` makes one. Judges rule one after the other, each on every
contestant's answer to every item, with a mark that depends on the contestant; a case's key is
shared by all judges, and checksums, prompts and texts are left out.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from fullbench.ledger.integrity.row_chain import LedgerDigest
from fullbench.ledger.lake import manifest, parquet_segments
from fullbench.ledger.lake.storage import LakeFolder

JUDGES, CONTESTANTS = 20, 25
STUDY = "generated"
_HEX = np.array([f"{byte:02x}".encode() for byte in range(256)])


def lake_of(folder: Path, verdicts: int) -> int:
    """Make the lake; gives the number of items. The true mean of contestant c is between 2 and 4, rising with c."""
    store = LakeFolder(folder)
    items = verdicts // (JUDGES * CONTESTANTS)
    sealed = [_small(store, "studies", [(1, STUDY, 0.0, "w", 1)])]
    rng = np.random.default_rng(7)
    keys = rng.integers(0, 256, size=(items * CONTESTANTS, 16), dtype=np.uint8)
    names = pa.array([f"item-{number:07d}" for number in range(items)])
    with tempfile.TemporaryDirectory() as scratch:
        for judge in range(JUDGES):
            path = Path(scratch) / "segment.parquet"
            for start in range(0, items, 40_000):
                chosen = np.arange(start, min(start + 40_000, items))
                first = judge * items * CONTESTANTS + start * CONTESTANTS
                table = _verdicts(rng, judge, items=chosen, names=names, keys=keys, first=first)
                groups = (
                    table.slice(at, parquet_segments.GROUP) for at in range(0, table.num_rows, parquet_segments.GROUP)
                )
                parquet_segments.write_segment("verdicts", groups, path)
                sealed.append(parquet_segments.store_segment("verdicts", path, store))
    entry = manifest.next_entry([], ledger="generated", ledger_digest=LedgerDigest(0, "0"), at=0.0, segments=sealed)
    manifest.append_entry(store, entry)
    return items


def _small(store: LakeFolder, table: str, rows: list[tuple]) -> manifest.Segment:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "segment.parquet"
        parquet_segments.write_segment(table, [parquet_segments.table_of(table, rows)], path)
        return parquet_segments.store_segment(table, path, store)


UNKNOWN = {"fault", "confidence", "blind", "probability", "strength", "cached", "stored"}


def _verdicts(rng, judge: int, *, items: np.ndarray, names: pa.Array, keys: np.ndarray, first: int) -> pa.Table:
    size = len(items) * CONTESTANTS
    contestant = np.tile(np.arange(CONTESTANTS), len(items))
    item = np.repeat(items, CONTESTANTS)
    mark = np.clip(np.rint(2 + 2 * contestant / (CONTESTANTS - 1) + rng.normal(0, 0.8, size)), 1, 5).astype(int)
    texts = np.ascontiguousarray(_HEX[keys[item * CONTESTANTS + contestant]]).view("S32").ravel()
    marks = pa.DictionaryArray.from_arrays(mark - 1, [f"[{value}.0]" for value in range(1, 6)])
    who = pa.DictionaryArray.from_arrays(contestant, [f'["model-{number:02d}"]' for number in range(CONTESTANTS)])
    given = {
        "rowid": np.arange(first + 1, first + size + 1), "number": np.arange(first + 1, first + size + 1),
        "case_key": pa.array(texts).cast(pa.string()), "item": names.take(pa.array(item)),
        "contestants": who.cast(pa.string()), "marks": marks.cast(pa.string()),
        "seconds": rng.gamma(2, 0.4, size), "at": 1.7e9 + np.cumsum(rng.exponential(0.001, size)),
        "tokens_in": rng.integers(500, 1500, size), "tokens_out": rng.integers(3, 90, size),
        "dollars": rng.integers(1, 400, size) / 1e6,
    }  # fmt: skip
    fixed = {
        "judge": f"judge-{judge:02d}", "ballot": "score:1-5", "criterion": "overall", "earlier": "[]", "samples": "[]",
        "exchanges": "[]", "study": STUDY, "writer": "w", "calls": 1,
    }  # fmt: skip
    columns = []
    for field in parquet_segments.arrow_schema("verdicts"):
        if field.name in given:
            columns.append(pa.array(given[field.name]).cast(field.type))
        elif field.name in fixed:
            columns.append(pa.repeat(pa.scalar(fixed[field.name], field.type), size))
        elif field.name in UNKNOWN or field.name.startswith("calls_"):
            columns.append(pa.nulls(size, field.type))
        else:
            columns.append(pa.repeat(pa.scalar("" if field.type == pa.string() else 0, field.type), size))
    return pa.table(columns, schema=parquet_segments.arrow_schema("verdicts"))


if __name__ == "__main__":
    sys.stdout.write(f"{lake_of(Path(sys.argv[2]), int(sys.argv[1])):,} items\n")
