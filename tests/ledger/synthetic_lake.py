"""A ledger of exchanges about synthetic scenes, sealed into a lake, and the bytes that each column of it takes.

`python -m tests.ledger.synthetic_lake [ITEMS]` prints them. Three judges rule on every answer, each in its own call
with a random id, the digest of its prompt, and the nonce of its case; their replies are put together from sentences
about scenes, no two alike.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pyarrow.parquet import ParquetFile

from fullbench import Case, Item, Ledger, Response, Score, Verdict
from fullbench.columns.column_builder import KIND, REAL, WHOLE
from fullbench.core.model_call import Call, Usage
from fullbench.ledger.lake import manifest, write_lake
from fullbench.ledger.lake.storage import LakeFolder
from fullbench.parsing.random_check_codes import nonce_of
from fullbench.synthetic.question_wording_parsing_and_solving import (
    invent_query,
    solve_query,
    word_answer,
    word_question,
)
from fullbench.synthetic.scenes import things_scene

JUDGES = ("gpt-4o/score-1a2b3c4d", "claude/score-5e6f7081", "qwen-vl/score-92a3b4c5")
TASKS = ("count", "colour", "position", "existence", "comparison")
NARROW = {("verdicts", name) for name in (*KIND, *WHOLE, *REAL, "case_key", "item", "marks")}
TEXTS = {
    ("items", "body"),
    ("responses", "body"),
    ("verdicts", "calls_text"),
    ("verdicts", "calls_reasoning"),
    ("texts", "body"),
}
"""Columns whose values are the real texts, no two of them alike."""


def sentences(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Questions about scenes, in English and Chinese, each with its answer."""
    while True:
        scene = things_scene(rng)
        for language in ("en", "zh"):
            query = invent_query(rng.choice(TASKS), language, scene, rng)
            answer = None if query is None else solve_query(query, scene)
            if query is not None and answer is not None:
                yield word_question(query), word_answer(query, answer)


def fill(place: Path, items: int, *, contestants: int = 1, seed: int = 3) -> int:
    """Make the ledger; gives the number of its verdicts."""
    rng = random.Random(seed)
    told = sentences(rng)
    at = 1.7e9
    with Ledger(place, durability="process", study="scenes") as ledger:
        for number in range(items):
            question, right = next(told)
            item = Item.ask(f"item-{number}", question, reference=right)
            for contestant in range(contestants):
                text = f"{next(told)[1]} {rng.randint(1, 999_999)}"
                shown = Response.say(item.id, f"model-{rng.randrange(9) if contestants == 1 else contestant}", text)
                case = Case(item, (shown,), Score(1, 5))
                ledger.add(case)
                for judge in JUDGES:
                    at += rng.expovariate(50)
                    mark = rng.randint(1, 5)
                    reply = f"{next(told)[1]} {next(told)[1]} {next(told)[1]} [[{mark}]]"
                    tokens = rng.randint(500, 1500), len(reply) // 4
                    dollars = (tokens[0] * 2.5 + tokens[1] * 10) / 1e6
                    used = Usage(1, 0, *tokens, dollars, rng.lognormvariate(0, 0.5))
                    prompt, name = (f"{rng.getrandbits(128):032x}" for _ in range(2))
                    call = Call(
                        name, reply, prompt, stop="stop", served=judge.partition("/")[0], fingerprint="fp_44709d6fcb",
                        nonce=nonce_of(ledger.salt, case.key, 0), usage=used, at=at,
                    )  # fmt: skip
                    rest = {"text": reply, "prompt": prompt, "usage": used, "at": at, "exchanges": (call,)}
                    ledger.add(Verdict.from_case(case, judge, [mark], **rest))
    return items * contestants * len(JUDGES)


def lake_of(folder: Path, items: int, *, contestants: int = 1) -> tuple[Path, int]:
    """The lake of such a ledger, and the number of its verdicts."""
    ledger, lake = folder / f"{contestants}.ledger", folder / f"{contestants}.lake"
    verdicts = fill(ledger, items, contestants=contestants)
    with Ledger(ledger, read_only=True) as opened:
        write_lake.update_lake(opened, LakeFolder(lake))
    return lake, verdicts


def column_bytes(lake: Path) -> Counter[tuple[str, str]]:
    """The bytes of each column of each table; what belongs to no column (footers, filters) stands under ''."""
    sizes: Counter[tuple[str, str]] = Counter()
    for segment in (segment for entry in manifest.read_entries(LakeFolder(lake)) for segment in entry.segments):
        sizes[segment.table, ""] += segment.bytes
        with ParquetFile(lake / segment.file) as file:
            for group in map(file.metadata.row_group, range(file.metadata.num_row_groups)):
                for column in map(group.column, range(group.num_columns)):
                    sizes[segment.table, column.path_in_schema] += column.total_compressed_size
                    sizes[segment.table, ""] -= column.total_compressed_size
    return sizes


def main(items: int) -> None:
    for contestants in (1, 4):
        with tempfile.TemporaryDirectory() as folder:
            lake, verdicts = lake_of(Path(folder), items // contestants, contestants=contestants)
            sizes = {name: size / verdicts for name, size in column_bytes(lake).most_common()}
        narrow, texts = (sum(sizes.get(name, 0) for name in names) for names in (NARROW, TEXTS))
        lines = [f"{verdicts:,} verdicts, {contestants} answers to an item; bytes a verdict:"]
        lines += [
            f"{size:8.2f} {table} {name or '(footer, filters)'}" for (table, name), size in sizes.items() if size > 0.1
        ]
        whole = sum(sizes.values())
        lines.append(f"{whole:8.2f} in all, {whole - texts:.2f} without texts, {narrow:.2f} in narrow columns")
        sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 8_000)
