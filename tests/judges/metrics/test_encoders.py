"""BERTScore and CLIPScore with real architectures, beside plain computations in torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fullbench import Case, Choice, InputError, Item, Picture, Response, Score
from fullbench.errors import MissingExtra
from fullbench.judges.metrics.judges import bertscore, clipscore, refclipscore
from fullbench.nouns.judge import kind_of
from fullbench.studies.sight import looks
from tests.making import png


def test_a_bare_bertscore_is_refused_and_a_missing_part_is_named(monkeypatch):
    with pytest.raises(InputError, match="needs an encoder"):
        bertscore()
    with pytest.raises(InputError, match="needs a CLIP model"):
        clipscore()
    monkeypatch.setattr("fullbench.judges.metrics.encoders.find_spec", lambda _: None)
    judge = bertscore("roberta-large")
    assert judge.name == "bertscore+roberta-large@layer17"
    case = Case(Item.ask("i", "?", reference="a red cat"), (Response.say("i", "m", "a cat"),), Score(1, 5))
    with pytest.raises(MissingExtra):
        list(judge.hear([case]))


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


def by_hand(folder: Path, layer: int, one: str, two: str) -> float:
    """The authors' algorithm, written out: marks of a text can be matched and do not count."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
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
    (verdict,) = judge.hear([case])
    assert verdict.fault is None, verdict.text
    return [float(word) for word in verdict.text.split("(")[0].split()]


def test_bertscore_is_the_authors_algorithm_at_any_layer_and_rescaled(models, tmp_path):
    item = Item.ask("i", "?", reference="a red cat")
    for layer in (1, 2):
        judge = bertscore(str(models["bert"]), {"layer": str(layer)})
        expected = [by_hand(models["bert"], layer, text, "a red cat") for text in ("a blue dog", "a red cats")]
        assert figures(judge, item, "a blue dog", "a red cats") == pytest.approx(expected, abs=6e-5)
    whole = bertscore(str(models["bert"]))
    assert figures(whole, item, "a red cat", "dog")[0] == pytest.approx(1.0, abs=1e-4)
    texts = ["a red cat", "a blue dog", "picture of a dog"]
    rows = [{"id": str(at), "question": "?", "reference": text} for at, text in enumerate(texts)]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ordered = sorted(texts)
    base = sum(
        by_hand(models["bert"], 2, one, two) for one, two in zip(ordered, [*ordered[1:], ordered[0]], strict=True)
    ) / 3  # fmt: skip
    rescaled = bertscore(str(models["bert"]), {"baseline": str(tmp_path / "items.jsonl")})
    plain = by_hand(models["bert"], 2, "a blue dog", "a red cat")
    assert figures(rescaled, item, "a blue dog", "dog")[0] == pytest.approx((plain - base) / (1 - base), abs=1e-3)
    assert rescaled.name != whole.name
    with pytest.raises(InputError, match="no layer 9"):
        figures(bertscore(str(models["bert"]), {"layer": "9"}), item, "a", "b")


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
    item = Item.ask("i", "?", Picture.of(data), reference="red cat")
    seen = {text: 2.5 * max(float(vector @ picture), 0.0) for text, vector in words.items()}
    judge = clipscore(str(models["clip"]))
    assert looks(judge)
    assert kind_of(judge) == "metric"
    assert figures(judge, item, "cat", "dog") == pytest.approx([seen["cat"], seen["dog"]], abs=6e-5)
    near = {text: max(float(vector @ words["red cat"]), 0.0) for text, vector in words.items()}
    expected = [2 * seen[text] * near[text] / ((seen[text] + near[text]) or 1.0) for text in ("cat", "dog")]
    assert figures(refclipscore(str(models["clip"])), item, "cat", "dog") == pytest.approx(expected, abs=6e-5)
    bare = Case(Item.ask("i", "?", reference="x"), (Response.say("i", "m", "cat"),), Score(1, 5))
    (verdict,) = judge.hear([bare])
    assert (verdict.fault, verdict.text) == ("recused", "the item has no picture")
    long = Case(item, (Response.say("i", "m", "cat " * 40),), Score(1, 5))
    (verdict,) = judge.hear([long])
    assert "1 texts cut" in verdict.text
