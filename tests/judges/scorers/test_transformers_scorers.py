"""Score models of the real architectures, small and random, through the real loading and scoring code."""

from __future__ import annotations

import pytest

from fullbench import Choice, Item, Real, Response
from fullbench.core.case import cases as cases_of
from fullbench.errors import InputError
from fullbench.judges.scorers import scorer_factories
from fullbench.judges.scorers.scorer_judge import Scorer, ScorerJudge
from fullbench.judges.scorers.transformers_scorers import (
    KINDS,
    AestheticScorer,
    ContrastScorer,
    MatchScorer,
    RewardScorer,
)
from fullbench.studies.judge_contestant_and_benchmark_specs import judge_from_spec as judge_of
from tests.judges.scorers import models
from tests.judges.scorers.making import case, picture, texture

pytestmark = pytest.mark.slow
torch = models.torch
transformers = models.transformers
PROMPTS = ["a red cat", "a blue dog", "a red cat", "picture of a dog"]
IMAGES = [texture(seed) for seed in range(4)]


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zoo")
    made = {kind: getattr(models, kind)(folder / kind) for kind in ("clip", "siglip", "blip", "blip2")}
    made["clip_head"] = models.head(folder / "clip_head.safetensors", 16)
    made["blip_head"] = models.head(folder / "blip_head.safetensors", 32)
    return made


def scored(scorer: Scorer, prompts=PROMPTS, images=IMAGES) -> list[float]:
    return list(scorer.score(prompts, [scorer.prepare(image) for image in images]))


def test_clip_gives_the_cosine_that_transformers_gives(zoo):
    ours = scored(ContrastScorer(str(zoo["clip"]), device="cpu"))
    model = transformers.CLIPModel.from_pretrained(zoo["clip"]).eval()
    tools = transformers.AutoProcessor.from_pretrained(zoo["clip"], backend="pil")
    with torch.inference_mode():
        inputs = tools(text=PROMPTS, images=IMAGES, return_tensors="pt", padding=True)
        theirs = model(**inputs).logits_per_image.diagonal() / model.logit_scale.exp()
    assert ours == pytest.approx(theirs.tolist(), abs=1e-5)
    assert len(set(ours)) == 4


def test_siglip_gives_the_cosine_that_transformers_gives(zoo):
    ours = scored(ContrastScorer(str(zoo["siglip"]), "siglip", device="cpu"))
    model = transformers.SiglipModel.from_pretrained(zoo["siglip"]).eval()
    tools = transformers.AutoProcessor.from_pretrained(zoo["siglip"], backend="pil")
    with torch.inference_mode():
        words = tools.tokenizer(PROMPTS, return_tensors="pt", padding="max_length", truncation=True)
        pixels = tools.image_processor(images=IMAGES, return_tensors="pt")
        logits = model(
            input_ids=words["input_ids"],
            attention_mask=words["attention_mask"],
            pixel_values=pixels["pixel_values"],
        ).logits_per_image
    theirs = (logits.diagonal() - model.logit_bias) / model.logit_scale.exp()
    assert ours == pytest.approx(theirs.tolist(), abs=1e-5)


@pytest.mark.parametrize("kind", ["blip", "blip2"])
def test_matching_is_a_probability_of_each_pair_alone(zoo, kind):
    scorer = MatchScorer(str(zoo[kind]), "blip-itm", span=(0, 1))
    together = scored(scorer)
    apart = [scored(scorer, [prompt], [image])[0] for prompt, image in zip(PROMPTS, IMAGES, strict=True)]
    assert together == pytest.approx(apart, abs=1e-5)
    assert all(0 < score < 1 for score in together)
    assert scored(scorer, PROMPTS[:1], IMAGES[1:2]) != pytest.approx(together[:1], abs=1e-9)


def test_a_head_is_applied_to_the_embedding(zoo):
    scorer = AestheticScorer(str(zoo["clip"]), "aesthetics", head=str(zoo["clip_head"]), device="cpu")
    ours = scored(scorer)
    model = transformers.CLIPModel.from_pretrained(zoo["clip"]).eval()
    from safetensors.torch import load_file

    layers = load_file(zoo["clip_head"])
    net = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.Linear(8, 1))
    net.load_state_dict({name.replace("layers.0", "0").replace("layers.2", "1"): t for name, t in layers.items()})
    with torch.inference_mode():
        tools = transformers.AutoProcessor.from_pretrained(zoo["clip"], backend="pil")
        pixels = tools.image_processor(images=IMAGES, return_tensors="pt")
        features = model.get_image_features(**pixels)
        features = getattr(features, "pooler_output", features)
        theirs = net(torch.nn.functional.normalize(features, dim=-1)).flatten()
    assert ours == pytest.approx(theirs.tolist(), abs=1e-4)
    assert scored(scorer, ["a blue dog"] * 4) == pytest.approx(ours, abs=1e-5)


def test_imagereward_reads_the_prompt_while_it_looks(zoo):
    scorer = RewardScorer(str(zoo["blip"]), "imagereward", head=str(zoo["blip_head"]))
    first = scored(scorer)
    assert first == pytest.approx(scored(scorer), abs=1e-6)
    assert scored(scorer, ["a blue dog"] * 4)[0] != pytest.approx(first[0], abs=1e-6)
    assert scored(scorer, PROMPTS, IMAGES[::-1])[0] != pytest.approx(first[0], abs=1e-6)


def test_a_model_is_a_judge_and_the_batch_does_not_matter(zoo):
    items = [Item.ask(f"i{n}", prompt) for n, prompt in enumerate(PROMPTS)]
    responses = [
        Response(item.id, f"c{k}", (picture(texture(10 * n + k), "JPEG"),))
        for n, item in enumerate(items)
        for k in (0, 1)
    ]
    cases = [*cases_of(items, responses, Choice(), size=2), *cases_of(items, responses, Real(0, 10))]
    one = list(judge_of(f"clip:{zoo['clip']}?batch=1").judge(cases))
    many = list(judge_of(f"clip:{zoo['clip']}?batch=5&threads=2").judge(cases))
    assert [verdict.fault for verdict in many] == [None] * len(cases)
    for left, right in zip(one, many, strict=True):
        assert left.marks == pytest.approx(right.marks, abs=1e-4)


def test_other_weights_or_another_precision_is_another_judge(zoo, tmp_path):
    other = models.clip(tmp_path / "clip")
    torch.manual_seed(9)
    model = transformers.CLIPModel.from_pretrained(other)
    model.visual_projection.weight.data.normal_()
    model.save_pretrained(other)
    names = {
        judge_of(f"clip:{zoo['clip']}").name,
        judge_of(f"clip:{other}").name,
        judge_of(f"clip:{zoo['clip']}?precision=bfloat16").name,
    }
    assert len(names) == 3
    assert judge_of(f"clip:{zoo['clip']}").name == judge_of(f"clip:{zoo['clip']}?batch=3").name


def test_half_precision_scores_are_close(zoo):
    full = scored(ContrastScorer(str(zoo["clip"]), device="cpu"))
    half = scored(ContrastScorer(str(zoo["clip"]), precision="bfloat16"))
    assert half == pytest.approx(full, abs=0.03)


def test_every_kind_can_be_named(zoo):
    for kind in KINDS:
        folder = {"blip-itm": "blip2", "imagereward": "blip", "siglip": "siglip"}.get(kind, "clip")
        width = {"imagereward": "blip_head", "aesthetics": "clip_head"}.get(kind)
        spec = f"{kind}:{zoo[folder]}" + (f"?head={zoo[width]}" if width else "")
        (verdict,) = judge_of(spec).judge([case(*map(picture, IMAGES[:2]), prompt="a red cat")])
        assert verdict.marks is not None, kind


def test_a_long_prompt_is_cut_and_not_refused(zoo):
    (verdict,) = ScorerJudge(ContrastScorer(str(zoo["clip"]), device="cpu")).judge(
        [case(*map(picture, IMAGES[:2]), prompt="a cat " * 500)]
    )
    assert verdict.marks is not None


def test_what_cannot_be_loaded_says_so(tmp_path):
    (tmp_path / "empty").mkdir()
    judge = judge_of(f"clip:{tmp_path / 'empty'}")
    with pytest.raises(InputError, match="cannot be loaded"):
        list(judge.judge([case(picture(IMAGES[0]), ballot=Real(0, 1))]))


def test_wrong_options_are_told():
    for spec, words in (
        ("imagereward:./nowhere.pt", "no such file"),
        ("aesthetics:x", "needs the file of its head"),
        ("hpsv2", "needs a model"),
        ("clip:x?precision=int4", "unknown precision"),
        ("clip:x?colour=red", "no option 'colour'"),
        ("clip:x?span=5", "LOW,HIGH"),
        ("clip:x?span=5,1", "low to high"),
        ("aesthetics:x?head=nowhere.pth", "no such file"),
    ):
        kind, _, rest = spec.partition(":")
        name, _, query = rest.partition("?")
        options = dict(pair.split("=") for pair in query.split("&") if pair)
        with pytest.raises(InputError, match=words):
            scorer_factories.build_hub_judge(kind, name, options)


def test_hpsv2_is_the_authors_checkpoint_unless_a_model_is_named():
    for version, file in (("", "HPS_v2.1_compressed.pt"), ("2.0", "HPS_v2_compressed.pt")):
        judge = scorer_factories.build_hpsv2_judge("", {"version": version} if version else {})
        assert judge.settings["model"] == f"hub:xswu/HPSv2/{file}"
    with pytest.raises(InputError, match=r"HPSv2 has the versions 2.0, 2.1; found '1'"):
        scorer_factories.build_hpsv2_judge("", {"version": "1"})
    assert (
        scorer_factories.build_hpsv2_judge("some/model", {}).name
        == scorer_factories.build_hub_judge("hpsv2", "some/model", {}).name
    )
