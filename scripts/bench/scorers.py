"""Pictures scored a second through the judge, beside a bare loop over the same model and pictures in the same run.

Both decode the same JPEGs from disk. Without torch, the measure `picture:sharpness` alone is timed; with it, also a
CLIP with random weights. On a GPU the two floors are the bare model on ready tensors and decoding alone.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from fullbench import Case, Item, Picture, Real, Response
from fullbench.benchmarks.mj_bench.bench import mj_bench
from fullbench.judges.scorers.classical import measure
from fullbench.judges.scorers.pictures import decode
from fullbench.judges.scorers.scorer import Scorer, ScorerJudge
from scripts.bench import Row

DATA = Path(__file__).parents[2] / ".." / "shared" / "data" / "mjbench"
SECONDS = 3.0
COUNT, SIDE, BATCH = 128, 512, 16


def _pictures(folder: Path) -> list[Picture]:
    rng = np.random.default_rng(0)
    made = []
    for number in range(COUNT):
        coarse = Image.fromarray(rng.integers(0, 256, (SIDE // 8, SIDE // 8, 3), dtype=np.uint8))
        out = BytesIO()
        coarse.resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(out, "JPEG", quality=90)
        path = folder / f"{number}.jpg"
        path.write_bytes(out.getvalue())
        made.append(Picture.read(path))
    return made


def _per_second(work: Callable[[], object], count: int, times: int = 2) -> float:
    """The best of some runs, each timed whole."""
    best = 0.0
    for _ in range(times):
        started = time.perf_counter()
        work()
        best = max(best, count / (time.perf_counter() - started))
    return best


def _bare(scorer: Scorer, pictures: Sequence[Picture]) -> None:
    for start in range(0, len(pictures), BATCH):
        batch = pictures[start : start + BATCH]
        scorer.score(["a picture"] * len(batch), [scorer.prepare(decode(picture)) for picture in batch])


def _judged(scorer: Scorer, cases: Sequence[Case]) -> None:
    for verdict in ScorerJudge(scorer, batch=BATCH).hear(cases):
        assert verdict.marks is not None


def _compare(what: str, scorer: Scorer, pictures: Sequence[Picture]) -> list[Row]:
    cases = [
        Case(Item.ask(f"i{n}", "a picture"), (Response(f"i{n}", "c", (picture,)),), Real(0, 10))
        for n, picture in enumerate(pictures)
    ]
    _bare(scorer, pictures[:BATCH])
    bare = _per_second(lambda: _bare(scorer, pictures), len(pictures))
    ours = _per_second(lambda: _judged(scorer, cases), len(pictures))
    return [Row.of(f"score pictures with {what}, decoding included", ours, bare, "a bare loop", "/s")]


def _clip(folder: Path) -> Scorer | None:
    """A small CLIP (ViT-B/32's picture side, random weights); None without torch."""
    if find_spec("torch") is None or find_spec("transformers") is None:
        print("left out: a CLIP model, since torch is not installed (scripts/localtorch.sh)")
        return None
    from fullbench.judges.scorers.hub import ContrastScorer

    sizes = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12}
    models = import_module("tests.judges.scorers.models")
    source = models.clip(folder / "clip", **sizes, image_size=224, patch_size=32)
    return ContrastScorer(str(source), span=(-1.0, 1.0))


def _cells() -> list[Row]:
    """Every figure of MJ-Bench from its 126,065 rulings, reading included; smaller is better."""
    if not DATA.is_dir():
        print(f"left out: MJ-Bench's figures, since the released data are not at {DATA}")
        return []
    started = time.perf_counter()
    mj_bench.reproduce(DATA)
    return [Row.of("MJ-Bench's figures from 126,065 rulings", time.perf_counter() - started, SECONDS, "the limit", "s")]


def main() -> list[Row]:
    """Pictures a second; larger is better. Then the seconds that the released rulings take."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pictures = _pictures(folder)
        rows = _compare("sharpness", measure("sharpness"), pictures)
        clip = _clip(folder)
        rows += _compare("CLIP ViT-B/32", clip, pictures[: 3 * BATCH]) if clip else []
    return rows + _cells()


if __name__ == "__main__":
    for row in main():
        print(row)
