"""BERTScore and CLIPScore with real architectures, beside plain computations in torch."""

from __future__ import annotations

import json
import random
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import fmean

import pytest
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import single_meteor_score

from fullbench import Case, Choice, InputError, Item, Picture, Response, Score
from fullbench.core.judge import kind_of
from fullbench.errors import MissingExtra
from fullbench.judges.metrics.metric_judges import (
    build_bertscore_judge,
    build_clipscore_judge,
    build_refclipscore_judge,
)
from fullbench.studies.run.missing_pictures import uses_pictures
from tests.judges.metrics.test_metrics import NoSynonyms
from tests.support.commands import cells, cli, write_rows
from tests.support.data_builders import png


def test_a_bare_bertscore_is_refused_and_a_missing_part_is_named(monkeypatch):
    with pytest.raises(InputError, match="needs an encoder"):
        build_bertscore_judge()
    with pytest.raises(InputError, match="needs a CLIP model"):
        build_clipscore_judge()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    judge = build_bertscore_judge("roberta-large")
    assert judge.name == "bertscore+roberta-large@layer17"
    case = Case(Item.ask("i", "?", reference="a red cat"), (Response.say("i", "m", "a cat"),), Score(1, 5))
    with pytest.raises(MissingExtra):
        list(judge.judge([case]))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    pytest.importorskip("transformers", reason="transformers is not installed; see scripts/localtorch.sh")
    from tests.judges.scorers import models as tiny

    folder = tmp_path_factory.mktemp("models")
    tiny.torch.manual_seed(3)
    bert = folder / "bert"
    bert.mkdir()
    tokenizer = tiny.bert_tokenizer(bert)
    config = tiny.transformers.BertConfig(
        **tiny.SMALL, vocab_size=len(tiny.WORDS), max_position_embeddings=16
    )  # fmt: skip
    tiny.transformers.BertModel(config).save_pretrained(bert)
    tokenizer.save_pretrained(bert)
    return {"bert": bert, "clip": tiny.clip(folder / "clip")}


@cache
def encoder(folder: Path):
    from transformers import AutoModel, AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()


def by_hand(folder: Path, layer: int, one: str, two: str) -> float:
    """The authors' algorithm, written out: marks of a text can be matched and do not count."""
    import torch

    tokenizer, model = encoder(folder)
    rows, counts = [], []
    for text in (one, two):
        tokens = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            states = model(**tokens, output_hidden_states=True).hidden_states[layer][0].double()
        rows.append(states / states.norm(dim=1, keepdim=True))
        counts.append(
            torch.tensor([token not in tokenizer.all_special_ids for token in tokens["input_ids"][0].tolist()])
        )
    near = rows[0] @ rows[1].T
    precision = near.max(dim=1).values[counts[0]].mean()
    recall = near.max(dim=0).values[counts[1]].mean()
    return float(2 * precision * recall / (precision + recall))


def figures(judge, item, *texts):
    case = Case(item, tuple(Response.say("i", f"m{at}", text) for at, text in enumerate(texts)), Choice())
    (verdict,) = judge.judge([case])
    assert verdict.fault is None, verdict.text
    return [float(word) for word in verdict.text.split("(")[0].split()]


def test_bertscore_is_the_authors_algorithm_at_any_layer_and_rescaled(models, tmp_path):
    item = Item.ask("i", "?", reference="a red cat")
    for layer in (1, 2):
        judge = build_bertscore_judge(str(models["bert"]), {"layer": str(layer)})
        expected = [by_hand(models["bert"], layer, text, "a red cat") for text in ("a blue dog", "a red cats")]
        assert figures(judge, item, "a blue dog", "a red cats") == pytest.approx(expected, abs=6e-5)
    whole = build_bertscore_judge(str(models["bert"]))
    assert figures(whole, item, "a red cat", "dog")[0] == pytest.approx(1.0, abs=1e-4)
    texts = ["a red cat", "a blue dog", "picture of a dog"]
    rows = [{"id": str(at), "question": "?", "reference": text} for at, text in enumerate(texts)]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ordered = sorted(texts)
    base = sum(
        by_hand(models["bert"], 2, one, two) for one, two in zip(ordered, [*ordered[1:], ordered[0]], strict=True)
    ) / 3  # fmt: skip
    rescaled = build_bertscore_judge(str(models["bert"]), {"baseline": str(tmp_path / "items.jsonl")})
    plain = by_hand(models["bert"], 2, "a blue dog", "a red cat")
    assert figures(rescaled, item, "a blue dog", "dog")[0] == pytest.approx((plain - base) / (1 - base), abs=1e-3)
    assert rescaled.name != whole.name
    with pytest.raises(InputError, match="no layer 9"):
        figures(build_bertscore_judge(str(models["bert"]), {"layer": "9"}), item, "a", "b")


def test_clipscore_and_refclipscore_look_at_the_items_picture(models):
    import torch
    from PIL import Image
    from transformers import CLIPModel, CLIPProcessor

    model, processor = CLIPModel.from_pretrained(models["clip"]).eval(), CLIPProcessor.from_pretrained(models["clip"])

    def feature(**given):
        with torch.no_grad():
            found = model.get_text_features(**given) if "input_ids" in given else model.get_image_features(**given)
        row = getattr(found, "pooler_output", found)[0].double()
        return row / row.norm()

    data = png((200, 10, 60), (40, 40))
    import io

    pixels = processor.image_processor(images=Image.open(io.BytesIO(data)).convert("RGB"), return_tensors="pt")
    picture = feature(**pixels)
    words = {text: feature(**processor.tokenizer(text, return_tensors="pt", truncation=True, max_length=16))
             for text in ("cat", "dog", "red cat")}  # fmt: skip
    item = Item.ask("i", "?", Picture.from_bytes(data), reference="red cat")
    seen = {text: 2.5 * max(float(vector @ picture), 0.0) for text, vector in words.items()}
    judge = build_clipscore_judge(str(models["clip"]))
    assert uses_pictures(judge)
    assert kind_of(judge) == "metric"
    assert figures(judge, item, "cat", "dog") == pytest.approx([seen["cat"], seen["dog"]], abs=6e-5)
    near = {text: max(float(vector @ words["red cat"]), 0.0) for text, vector in words.items()}
    expected = [2 * seen[text] * near[text] / ((seen[text] + near[text]) or 1.0) for text in ("cat", "dog")]
    assert figures(build_refclipscore_judge(str(models["clip"])), item, "cat", "dog") == pytest.approx(
        expected, abs=6e-5
    )
    bare = Case(Item.ask("i", "?", reference="x"), (Response.say("i", "m", "cat"),), Score(1, 5))
    (verdict,) = judge.judge([bare])
    assert (verdict.fault, verdict.text) == ("abstained", "the item has no picture")
    long = Case(item, (Response.say("i", "m", "cat " * 40),), Score(1, 5))
    (verdict,) = judge.judge([long])
    assert "1 texts cut" in verdict.text


def test_the_better_of_two_answers_above_one_wins(models, monkeypatch):
    """A cosine above 0.4 gives a CLIPScore above 1: two such answers are still told apart on a pair."""
    judge = build_clipscore_judge(str(models["clip"]))
    monkeypatch.setattr(judge, "_clip_scores", lambda case: ([1.2, 1.7][: len(case.responses)], 0))
    item = Item.ask("i", "?", Picture.from_bytes(png()))
    two = tuple(Response.say("i", name, name) for name in ("a", "b"))
    (pair, score) = judge.judge([Case(item, two, Choice()), Case(item, two[:1], Score(1, 5))])
    assert (pair.marks, score.marks) == ((0.0, 1.0), (5.0,))


@pytest.mark.slow
def test_encoders_beside_people_by_the_command_line(models, tmp_path):
    """A study of VisIT-Bench judged by BERTScore, CLIPScore, RefCLIPScore and METEOR, and five people: Figure 7."""
    lot = random.Random(11)
    vocabulary = ["a", "red", "blue", "cat", "dog", "picture", "of"]

    def words() -> str:
        return " ".join(lot.choices(vocabulary, k=lot.randint(2, 6)))

    (tmp_path / "p").mkdir()
    items, answers, labels = [], [], []
    names = ("x", "y", "z")
    for n in range(8):
        (tmp_path / "p" / f"{n}.png").write_bytes(png((30 * n, 255 - 20 * n, 90), (40, 40)))
        items.append({"id": f"题{n}", "question": "What?", "pictures": [f"p/{n}.png"], "reference": words()})
        answers += [{"item": f"题{n}", "contestant": name, "text": words()} for name in names]
        for one, two in combinations(names, 2):
            labels += [
                {"item": f"题{n}", "judge": "human", "rater": f"r{rater}", "contestants": [one, two],
                 "marks": [float(won), float(not won)], "ballot": "choice"}
                for rater in range(5) for won in [lot.random() < 0.6]
            ]  # fmt: skip
    for name, rows in (("items", items), ("answers", answers), ("labels", labels)):
        write_rows(tmp_path / f"{name}.jsonl", rows)
    judges = [f"bertscore:{models['bert']}?layer=2", f"clipscore:{models['clip']}", f"refclipscore:{models['clip']}",
              "meteor?stems=porter"]  # fmt: skip
    (tmp_path / "s.toml").write_text(
        'name = "s"\nbenchmark = "visitbench"\ndata = "items.jsonl"\nresponses = "answers.jsonl"\n'
        f'labels = "labels.jsonl"\nledger = "s.ledger"\njudges = {json.dumps(judges)}\n',
        encoding="utf-8",
    )
    table = cli("run", tmp_path / "s.toml", "--quiet", "--json").tables["people"]
    accuracy = cells(table, "accuracy", "judge", "people who agree")
    seen, near = by_clip(models["clip"])
    stemmer = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)
    said = {(row["item"], row["contestant"]): row["text"] for row in answers}
    worth: dict[str, dict[tuple[str, str], float]] = {name: {} for name in ("bert", "clip", "refclip", "meteor")}
    for item in items:
        reference, picture = str(item["reference"]), tmp_path / str(item["pictures"][0])
        for name in (*names, "reference"):
            text, place = said.get((item["id"], name), reference), (str(item["id"]), name)
            worth["bert"][place] = by_hand(models["bert"], 2, text, reference)
            look, likeness = 2.5 * max(seen(text, picture), 0.0), max(near(text, reference), 0.0)
            worth["clip"][place] = look
            worth["refclip"][place] = 2 * look * likeness / (look + likeness) if look + likeness else 0.0
            worth["meteor"][place] = single_meteor_score(
                reference.split(), text.split(), stemmer=stemmer, wordnet=NoSynonyms()
            )
    votes: dict[tuple[str, str, str], list[bool]] = {}
    for row in labels:
        votes.setdefault((row["item"], *row["contestants"]), []).append(row["marks"][0] == 1)
    starts = {"bert": "bertscore+", "clip": "clipscore+", "refclip": "refclipscore+", "meteor": "meteor+porter"}
    for metric, start in starts.items():
        hits: dict[str, list[float]] = {}
        for (item_id, one, two), each in votes.items():
            gap = worth[metric][item_id, one] - worth[metric][item_id, two]
            right = 0.5 if abs(gap) < 1e-9 else float((gap > 0) == (sum(each) > 2))
            for level in (f"{max(sum(each), 5 - sum(each))}/5", "all"):
                hits.setdefault(level, []).append(right)
        found = {level: share for (judge, level), share in accuracy.items() if judge.startswith(start)}
        assert found == pytest.approx({level: fmean(each) for level, each in hits.items()}), metric


def by_clip(folder: Path):
    """Cosines by transformers alone: of a text with a picture, of a text with a text."""
    import torch
    from PIL import Image
    from transformers import CLIPModel, CLIPProcessor

    model, processor = CLIPModel.from_pretrained(folder).eval(), CLIPProcessor.from_pretrained(folder)

    def feature(**given):
        with torch.no_grad():
            found = model.get_text_features(**given) if "input_ids" in given else model.get_image_features(**given)
        row = getattr(found, "pooler_output", found)[0].double()
        return row / row.norm()

    def of_text(text: str):
        return feature(**processor.tokenizer(text, return_tensors="pt", truncation=True, max_length=16))

    def seen(text: str, path: Path) -> float:
        pixels = processor.image_processor(images=Image.open(path).convert("RGB"), return_tensors="pt")
        return float(of_text(text) @ feature(**pixels))

    return seen, lambda one, two: float(of_text(one) @ of_text(two))
