"""Generators as contestants, by the commands a user types: servers that draw and edit, Gemini's, a function."""

from __future__ import annotations

import hashlib
import json
from importlib.util import find_spec
from io import BytesIO

import pytest
from PIL import Image

from fullbench.ledger.ledger import Ledger
from tests.support.commands import write_rows
from tests.support.data_builders import png
from tests.support.picture_server import PictureServer


def painted(words: str, seed: int) -> bytes:
    """One colour for each prompt and seed."""
    digest = hashlib.sha256(f"{words} {seed}".encode()).digest()
    return png((digest[0] | 16, digest[1], digest[2]))


def draw(request):
    if "weapon" in request["prompt"]:
        return {"message": "Your request was rejected by the safety system.", "code": "moderation_blocked"}
    if "night" in request["prompt"]:
        return png((0, 0, 0))
    return painted(request["prompt"], int(request.get("seed", 0)))


PROMPTS = ["一只红猫", "a lake", "a weapon", "the night"]


def drawn(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_a_server_draws_several_samples_and_every_picture_is_kept_with_its_seed_and_price(cli, tmp_path):
    write_rows(tmp_path / "prompts.jsonl", [{"id": f"p{n}", "question": words} for n, words in enumerate(PROMPTS)])
    with PictureServer(draw=draw) as server:
        spec = f"image:painter@{server.url}?size=64x64&steps=20&seed=7&price_picture=0.04"
        asking = ("answer", "--items", "prompts.jsonl", "--contestant", spec, "--samples", "3", "--out", "out.jsonl")
        code, _, err = cli(*asking, "--quiet")
        assert code == 0, err
        assert len(server.requests) == 12
        sent = server.requests[0]
        assert (sent["size"], sent["num_inference_steps"], sent["response_format"]) == ("64x64", 20, "b64_json")
        assert {request["seed"] for request in server.requests} == {7, 8, 9}
        code, _, err = cli(*asking, "--quiet")
        assert code == 0, err
        assert len(server.requests) == 12, "what is known is not drawn again"
    with Ledger(tmp_path / "fullbench.ledger") as ledger:
        responses = list(ledger.responses())
        bill = sum(account.usage.dollars for account in ledger.bill())
    assert len(responses) == 12
    for response in responses:
        words = PROMPTS[int(response.item[1:])]
        if words == "a weapon":
            assert response.stop == "refused"
            assert not response.pictures
            continue
        (picture,) = response.pictures
        assert response.tags["seed"] == str(7 + response.sample)
        if words == "the night":
            assert response.stop == "black"
        else:
            assert picture.data() == painted(words, 7 + response.sample)
            assert response.stop == "stop"
    assert bill == pytest.approx(9 * 0.04), "a refusal is not a picture"
    assert "3 refused" in err or "refused" in json.dumps(drawn(tmp_path)), err


def test_pictures_of_generators_are_judged_like_any_answers(cli, tmp_path):
    write_rows(tmp_path / "prompts.jsonl", [{"id": f"p{n}", "question": f"{n} 只猫"} for n in range(4)])
    (tmp_path / "drawing_here.py").write_text(
        "from PIL import Image\n\ndef flat(prompt, seed):\n"
        "    return Image.new('RGB', (32, 32), (200, 30 + seed, 30))\n"
        "def nothing(prompt, seed):\n    return None\n"
    )
    with PictureServer(draw=lambda request: painted(request["prompt"], 0)) as server:
        named = [f"image:painter@{server.url}", "generator:drawing_here:flat", "generator:drawing_here:nothing"]
        (tmp_path / "study.toml").write_text(
            'name = "s"\nitems = "prompts.jsonl"\nballots = ["number", "choice+tie"]\nsamples = 2\n'
            f'ledger = "s.ledger"\ncontestants = {json.dumps(named)}\n'
            'judges = ["picture:sharpness", "scorer:redder:red"]\n'
        )
        (tmp_path / "redder.py").write_text("def red(prompt, image):\n    return image.getpixel((0, 0))[0] - 128\n")
        code, out, err = cli("run", "study.toml", "--quiet", "--json")
    assert code == 0, err
    with Ledger(tmp_path / "s.ledger") as ledger:
        verdicts = list(ledger.verdicts())
        answers = {(r.item, r.contestant, r.sample): r for r in ledger.responses()}
    assert len(answers) == 4 * 3 * 2
    ruled = [v for v in verdicts if v.judge.startswith("redder") and v.fault is None and v.ballot == "number"]
    assert len(ruled) == 4 * 2 * 2
    for verdict in ruled:
        ((name, sample),) = verdict.shown_responses
        data = answers[verdict.item, name, sample].pictures[0].data()
        assert verdict.marks == (Image.open(BytesIO(data)).convert("RGB").getpixel((0, 0))[0] - 128,)
    abstained = [v for v in verdicts if v.fault == "abstained"]
    assert all(any("nothing" in name for name in verdict.contestants) for verdict in abstained)
    assert "nothing" in out


@pytest.mark.parametrize("kind", ["image-edit", "gemini-image"])
def test_pictures_of_an_item_are_edited_as_its_words_say(cli, tmp_path, kind):
    (tmp_path / "cat.png").write_bytes(png((10, 200, 30)))
    rows = [{"id": f"e{n}", "question": f"make it {n} 蓝色", "pictures": ["cat.png"]} for n in range(2)]
    write_rows(tmp_path / "edits.jsonl", rows)
    seen = []

    def edit(request):
        seen.append((request["prompt"], request["pictures"]))
        if "1" in request["prompt"]:
            return {"message": "rejected by the safety system", "code": "moderation_blocked"}
        return png((0, 0, 250))

    with PictureServer(draw=edit) as server:
        base = server.url if kind == "image-edit" else server.url.replace("/v1", "/v1beta")
        spec = f"{kind}:editor@{base}"
        code, _, err = cli("answer", "--items", "edits.jsonl", "--contestant", spec, "--out", "out.jsonl", "--quiet")
    assert code == 0, err
    assert {words.strip() for words, _ in seen} == {"make it 0 蓝色", "make it 1 蓝色"}
    assert all(pictures == [png((10, 200, 30))] for _, pictures in seen)
    with Ledger(tmp_path / "fullbench.ledger") as ledger:
        ends = {response.item: (response.stop, len(response.pictures)) for response in ledger.responses()}
    assert ends["e0"] == ("stop", 1)
    assert ends["e1"][1] == 0
    assert ends["e1"][0] in {"refused", "filter"}


def test_what_cannot_be_drawn_is_said(cli, tmp_path):
    (tmp_path / "cat.png").write_bytes(png((10, 200, 30)))
    write_rows(tmp_path / "edits.jsonl", [{"id": "e", "question": "bluer", "pictures": ["cat.png"]}])
    write_rows(tmp_path / "words.jsonl", [{"id": "w", "question": "a cat"}])
    with PictureServer(draw=lambda _: png((0, 0, 250))) as server:
        for items, kind, sentence in (
            ("edits.jsonl", "image", "use image-edit:NAME"),
            ("words.jsonl", "image-edit", "the item has none"),
        ):
            spec = f"{kind}:one@{server.url}"
            code, _, err = cli("answer", "--items", items, "--contestant", spec, "--out", "o.jsonl", "--quiet")
            assert code != 0
            assert sentence in err
        assert not server.requests
    (tmp_path / "pipe").mkdir()
    code, _, err = cli("answer", "--items", "words.jsonl", "--contestant", "diffusers:pipe", "--out", "o.jsonl")
    assert code == 2
    assert "model_index.json is missing" in err
    (tmp_path / "pipe" / "model_index.json").write_text('{"_class_name": "X", "unet": ["diffusers", "UNet"]}')
    code, _, err = cli("answer", "--items", "words.jsonl", "--contestant", "diffusers:pipe", "--out", "o.jsonl")
    assert code == 2
    assert "lacks its part unet" in err
    if find_spec("diffusers") is None:
        spec = "diffusers:nobody/nothing"
        code, _, err = cli("answer", "--items", "words.jsonl", "--contestant", spec, "--out", "o.jsonl")
        assert code == 2
        assert "needs an optional part: pip install '.[diffusers]'" in err
