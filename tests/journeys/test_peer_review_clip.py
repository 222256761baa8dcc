"""Peer review with the image-text correlation of a CLIP, from the command line: cosines and scores by hand."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean

import pytest

from fullbench import Ledger
from fullbench.core.rubric import CORRECTNESS, CORRELATION, VISUAL
from fullbench.synthetic.item_generator import build_items
from tests.judges.test_answer_picture_fit_judge import by_hand, tiny_clip
from tests.support.commands import cli

NAMES = ("keen", "wordy", "blind")


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_cosine_of_every_answer_is_a_fifth_of_its_score(tmp_path, device):
    transformers, torch = tiny_clip(tmp_path / "clip")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU on this machine")
    (tmp_path / "photos").mkdir()
    pictures = {known.item.id: known.item.pictures[0] for known in build_items(3, 3)}
    for name, picture in pictures.items():
        (tmp_path / "photos" / f"{name}.png").write_bytes(picture.data())
    words = ("--images", tmp_path / "photos", "--contestants", ",".join(f"synthetic:{name}" for name in NAMES))
    with_clip = ("--correlation", f"clip:{tmp_path / 'clip'}?device={device}", "--ledger", tmp_path / "a.ledger")
    tables = cli("peer-review", *words, *with_clip, "--quiet", "--json").tables
    with Ledger(tmp_path / "a.ledger", read_only=True) as book:
        record = book.record()
    parts, cosines, lengths = defaultdict(dict), {}, []
    for verdict in record:
        if verdict.criterion == CORRELATION:
            (name,) = verdict.contestants
            text = record.responses[verdict.item, name].text
            picture = record.items[verdict.item].pictures[0]
            cosines[verdict.item, name] = by_hand(transformers, torch, tmp_path / "clip", picture, text)
            lengths.append(len(text.replace(" ", "")))
            assert verdict.marks[0] == pytest.approx(cosines[verdict.item, name], abs=1e-4)
        else:
            for name, mark in zip(verdict.contestants, verdict.marks, strict=True):
                parts[verdict.item, name][verdict.criterion] = mark
    assert len(cosines) == 3 * 3 * 2
    assert len({round(cosine, 3) for cosine in cosines.values()}) > 3, "the model tells more than the pictures apart"
    assert min(lengths) <= 75 < max(lengths), "answers of one window and of five, a token a letter"
    marks = defaultdict(list)
    for (item, name), worth in parts.items():
        marks[name].append(0.4 * worth[CORRECTNESS] + 0.4 * worth[VISUAL] + 0.2 * cosines[item, name])
    labels = [entry["label"] if isinstance(entry, dict) else entry for entry in tables["ranking"]["columns"]]
    rows = [dict(zip(labels, row, strict=True)) for row in tables["ranking"]["rows"]]
    assert {row["contestant"]: row["uniform"] for row in rows} == pytest.approx(
        {name: fmean(some) for name, some in marks.items()}, abs=1e-4
    )
