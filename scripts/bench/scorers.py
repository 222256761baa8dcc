"""Pictures scored a second through the judge, beside a bare loop over the same model and pictures in the same run.

Both decode the same JPEGs from disk. Without torch, the measure `picture:sharpness` alone is timed; with it, also a
CLIP with random weights. On a GPU the two floors are the bare model on ready tensors and decoding alone.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from fullbench import Case, Item, Picture, Real, Response
from fullbench.benchmarks.mj_bench.mj_bench_and_genai_bench_definitions import mj_bench
from fullbench.judges.scorers.image_statistics import measure_scorer
from fullbench.judges.scorers.safe_picture_decoding import decode_picture
from fullbench.judges.scorers.scorer_judge import Scorer, ScorerJudge
from scripts.bench import Row, Target, per_second

if TYPE_CHECKING:
    from fullbench.judges.scorers.transformers_scorers import HubScorer

DATA = Path(__file__).parents[2] / ".." / "shared" / "data" / "mjbench"
SECONDS = 3.0
FLOOR, FASTER = Target(0.9, least=True), Target(1.15, least=True)
COUNT, SIDE, BATCH = 128, 512, 16
GPU_COUNT, GPU_BATCH, GPU_PROMPTS = 2048, 128, 8


def _pictures(folder: Path, count: int = COUNT) -> list[Picture]:
    rng = np.random.default_rng(0)
    made = []
    for number in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (SIDE // 8, SIDE // 8, 3), dtype=np.uint8))
        out = BytesIO()
        coarse.resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(out, "JPEG", quality=90)
        path = folder / f"{number}.jpg"
        path.write_bytes(out.getvalue())
        made.append(Picture.read(path))
    return made


def _bare(scorer: Scorer, pictures: Sequence[Picture]) -> None:
    for start in range(0, len(pictures), BATCH):
        batch = pictures[start : start + BATCH]
        scorer.score(["a picture"] * len(batch), [scorer.prepare(decode_picture(picture)) for picture in batch])


def _judged(scorer: Scorer, cases: Sequence[Case], batch: int = BATCH) -> None:
    for verdict in ScorerJudge(scorer, batch=batch).judge(cases):
        assert verdict.marks is not None


def _cases(pictures: Sequence[Picture], prompts: int = 1) -> list[Case]:
    """Every picture under each of so many prompts: each time it is read, decoded and scored anew."""
    return [
        Case(Item.ask(f"i{which}-{n}", f"picture {which}"), (Response(f"i{which}-{n}", "c", (picture,)),), Real(0, 10))
        for which in range(prompts)
        for n, picture in enumerate(pictures)
    ]


def _compare(what: str, scorer: Scorer, pictures: Sequence[Picture]) -> list[Row]:
    cases = _cases(pictures)
    _bare(scorer, pictures[:BATCH])
    bare = per_second(lambda: _bare(scorer, pictures), len(pictures))
    ours = per_second(lambda: _judged(scorer, cases), len(pictures))
    named = f"score pictures with {what}, decoding included"
    return [Row.of(named, ours, bare, "a bare loop", "/s", target=FLOOR)]


def _clip(folder: Path) -> Scorer | None:
    """A small CLIP (ViT-B/32's picture side, random weights); None without torch."""
    if find_spec("torch") is None or find_spec("transformers") is None:
        print("left out: a CLIP model, since torch is not installed (scripts/localtorch.sh)")
        return None
    from fullbench.judges.scorers.transformers_scorers import ContrastScorer

    sizes = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12}
    models = import_module("tests.judges.scorers.models")
    source = models.clip(folder / "clip", **sizes, image_size=224, patch_size=32)
    return ContrastScorer(str(source), span=(-1.0, 1.0))


def _on_gpu(folder: Path) -> list[Row]:
    """A CLIP of ViT-L/14's size in half precision, from JPEGs on disk, beside the slower of its two floors."""
    if find_spec("torch") is None:
        return []
    import torch

    from fullbench.judges.scorers.torch_scorer_base import open_queues

    open_queues()  # as a judge does that comes first, where here the bare model does
    if not torch.cuda.is_available():
        print("left out: a large CLIP on a GPU, since there is none")
        return []
    from fullbench.judges.scorers.transformers_scorers import ContrastScorer

    sizes = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
    source = import_module("tests.judges.scorers.models").clip(folder / "large", **sizes, image_size=224, patch_size=14)
    pictures = _pictures(folder, GPU_COUNT)
    bare = _model_alone(source, len(pictures))
    return [
        _from_disk(ContrastScorer(str(source), span=(-1.0, 1.0), decoder="gpu"), pictures, GPU_PROMPTS, bare),
        _from_disk(ContrastScorer(str(source), span=(-1.0, 1.0), decoder="pillow"), pictures, 2, bare),
        _from_disk(
            ContrastScorer(str(source), span=(-1.0, 1.0), decoder="gpu", compile="yes"),
            pictures, GPU_PROMPTS, bare, FASTER,
        ),
    ]  # fmt: skip


def _from_disk(
    scorer: HubScorer, pictures: Sequence[Picture], prompts: int, bare: float, target: Target = FLOOR
) -> Row:
    decoding = _decoding_alone(scorer, pictures)
    print(f"the bare model {bare:,.0f}/s, decoding alone with {scorer.decoder} {decoding:,.0f}/s")
    cases = _cases(pictures, prompts)
    _judged(scorer, cases[:GPU_BATCH], GPU_BATCH)
    ours = per_second(lambda: _judged(scorer, cases, GPU_BATCH), len(cases), times=2)
    floor = "the bare model" if bare < decoding else "decoding alone"
    what = f"score JPEGs with CLIP ViT-L/14, decoder={scorer.decoder}, compile={scorer.compile}"
    return Row.of(what, ours, min(bare, decoding), floor, "/s", target=target)


def _model_alone(source: Path, count: int) -> float:
    """Transformers' model in a plain loop on tensors that are ready."""
    import torch
    from transformers import CLIPModel

    model = CLIPModel.from_pretrained(source, dtype=torch.float16).cuda().eval()
    side = model.config.vision_config.image_size
    batch = torch.rand(GPU_BATCH, 3, side, side, device="cuda", dtype=torch.float16)

    def bare() -> None:
        with torch.inference_mode():
            for _ in range(count // GPU_BATCH):
                model.get_image_features(pixel_values=batch)
            torch.cuda.synchronize()

    bare()
    return per_second(bare, count, times=3)


def _decoding_alone(scorer: HubScorer, pictures: Sequence[Picture]) -> float:
    """Files read and decoded to the model's size, nothing scored."""
    if scorer.decoder == "gpu":

        def on_card() -> None:
            for start in range(0, len(pictures), GPU_BATCH):
                scorer.collate([scorer.raw(picture) for picture in pictures[start : start + GPU_BATCH]])

        return per_second(on_card, len(pictures))
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        return per_second(
            lambda: list(pool.map(lambda one: scorer.prepare(decode_picture(one)), pictures)), len(pictures)
        )


def _cells() -> list[Row]:
    """Every figure of MJ-Bench from its 126,065 rulings, reading included; smaller is better."""
    if not DATA.is_dir():
        print(f"left out: MJ-Bench's figures, since the released data are not at {DATA}")
        return []
    started = time.perf_counter()
    mj_bench.reproduce(DATA)
    spent = time.perf_counter() - started
    return [Row.of("MJ-Bench's figures from 126,065 rulings", spent, SECONDS, "the limit", "s", target=Target(1.0))]


def main() -> list[Row]:
    """Pictures a second; larger is better. Then the seconds that the released rulings take."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pictures = _pictures(folder)
        rows = _compare("sharpness", measure_scorer("sharpness"), pictures)
        clip = _clip(folder)
        rows += _compare("CLIP ViT-B/32", clip, pictures[: 3 * BATCH]) if clip else []
        rows += _on_gpu(folder)
    return rows + _cells()


if __name__ == "__main__":
    for row in main():
        print(row)
