"""HPSv3 by a small checkpoint under the names that its authors' file has, beside what transformers computes of it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from fullbench.core.ballot import Number
from fullbench.judges.scorers.hpsv3 import REWARD_TOKEN, HpsV3Scorer, fit_to_patches, load_instruction
from tests.judges.scorers.making import case, picture, texture

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
ASKED = "How good is this? Words - {text_prompt}"
ENDING = f" Mark: {REWARD_TOKEN} END"


def model(folder: Path) -> tuple[Path, Path]:
    """A Qwen2-VL of a few thousand weights, and a checkpoint of it with a head; both as they are published."""
    torch = pytest.importorskip("torch", reason="torch is not installed; scripts/localtorch.sh installs it")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    from safetensors.torch import save_file
    from tokenizers.pre_tokenizers import ByteLevel

    torch.manual_seed(0)
    letters = {letter: place for place, letter in enumerate(sorted(ByteLevel.alphabet()))}
    tokenizer = transformers.Qwen2Tokenizer(vocab=letters, merges=[])
    marks = ["<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": marks})
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    images = importlib.import_module("transformers.models.qwen2_vl.image_processing_pil_qwen2_vl")
    images.Qwen2VLImageProcessorPil().save_pretrained(folder)
    ids = dict(zip(marks, tokenizer.convert_tokens_to_ids(marks), strict=True))
    config = transformers.Qwen2VLConfig(
        text_config={
            "vocab_size": len(tokenizer), "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.3,
            "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0},
        },
        vision_config={"depth": 2, "embed_dim": 32, "num_heads": 2, "hidden_size": 32, "mlp_ratio": 2},
        image_token_id=ids["<|image_pad|>"], video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"], vision_end_token_id=ids["<|vision_end|>"],
    )  # fmt: skip
    config.save_pretrained(folder)
    net = transformers.Qwen2VLForConditionalGeneration(config)
    net.resize_token_embeddings(len(tokenizer) + 1)
    older = {}
    for name, value in net.state_dict().items():
        plain = name.replace("model.language_model.", "model.").replace("model.visual.", "visual.")
        older[plain] = value.clone().contiguous()
    sizes = {0: (16, 32), 3: (8, 16), 5: (2, 8)}
    for place, (rows, columns) in sizes.items():
        older[f"rm_head.{place}.weight"] = torch.randn(rows, columns)
        older[f"rm_head.{place}.bias"] = torch.randn(rows)
    save_file(older, folder / "HPSv3.safetensors")
    collator = folder / "data_collator_qwen.py"
    collator.write_text(
        f"import nothing_that_is_here\n\nINSTRUCTION = {json.dumps(ASKED)}\nprompt_with_special_token = {ENDING!r}\n"
    )
    return folder / "HPSv3.safetensors", collator


@pytest.mark.slow
def test_scores_are_those_that_transformers_computes_from_the_same_tensors(tmp_path):
    path, collator = model(tmp_path / "base")
    import torch
    import transformers
    from safetensors.torch import load_file

    from fullbench.studies import judge_contestant_and_benchmark_specs

    judge = judge_contestant_and_benchmark_specs.judge_from_spec(
        f"hpsv3:{path}?base={tmp_path / 'base'}&instruction={collator}&device=cpu&batch=2"
    )
    pictures = [texture(1, 64), texture(2, 96).resize((120, 56)), texture(3, 64)]
    prompts = ["a red cat", "一只红猫", "dogs"]
    cases = [
        case(picture(image), ballot=Number(), item=f"i{place}", prompt=words)
        for place, (image, words) in enumerate(zip(pictures, prompts, strict=True))
    ]
    scores = [verdict.marks[0] for verdict in judge.judge(cases)]

    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "base")
    tokenizer.add_special_tokens({"additional_special_tokens": [REWARD_TOKEN]})
    images = transformers.AutoImageProcessor.from_pretrained(tmp_path / "base", backend="pil")
    net = transformers.Qwen2VLForConditionalGeneration(transformers.AutoConfig.from_pretrained(tmp_path / "base"))
    net.resize_token_embeddings(len(tokenizer))
    held = load_file(path)
    renamed = {
        (f"model.{name}" if name.startswith("visual.") else name.replace("model.", "model.language_model.", 1)): value
        for name, value in held.items()
        if not name.startswith("rm_head")
    }
    net.load_state_dict(renamed)
    head = torch.nn.Sequential(
        torch.nn.Linear(32, 16), torch.nn.ReLU(), torch.nn.Dropout(0.05), torch.nn.Linear(16, 8), torch.nn.ReLU(),
        torch.nn.Linear(8, 2),
    )  # fmt: skip
    head.load_state_dict({name.removeprefix("rm_head."): held[name] for name in held if name.startswith("rm_head")})
    pixels = 256 * 28 * 28
    for image, words, score in zip(pictures, prompts, scores, strict=True):
        text = f"<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>{ASKED.replace('{text_prompt}', words)}"
        text += f"{ENDING}<|im_end|>\n<|im_start|>assistant\n"
        size = {"shortest_edge": pixels, "longest_edge": pixels}
        seen = images(images=[image], return_tensors="pt", size=size)
        patches = int(seen["image_grid_thw"].prod()) // 4
        batch = tokenizer(text.replace("<|image_pad|>", "<|image_pad|>" * patches), return_tensors="pt")
        picture_token = tokenizer.convert_tokens_to_ids("<|image_pad|>")
        with torch.no_grad():
            states = net.eval()(
                **batch,
                **seen,
                output_hidden_states=True,
                mm_token_type_ids=(batch["input_ids"] == picture_token).int(),
            ).hidden_states[-1]
            place = int((batch["input_ids"][0] == tokenizer.convert_tokens_to_ids(REWARD_TOKEN)).nonzero())
            assert score == pytest.approx(float(head.eval()(states[0, place])[0]), rel=1e-3, abs=1e-3)
    assert len(set(scores)) == 3


def test_its_words_come_from_the_authors_file_which_is_not_run(tmp_path):
    file = tmp_path / "data_collator_qwen.py"
    file.write_text(f"import nothing\nINSTRUCTION = '画 {{text_prompt}}'\nprompt_with_special_token = '{ENDING}'\n")
    assert load_instruction(str(file)) == f"画 {{text_prompt}}{ENDING}"
    plain = tmp_path / "words.txt"
    plain.write_text("no place for a prompt")
    from fullbench.errors import InputError

    for source, sentence in ((str(plain), "once each"), (str(tmp_path / "none.txt"), "needs its authors' prompt")):
        with pytest.raises(InputError, match=sentence):
            load_instruction(source)
    file.write_text("INSTRUCTION = 3")
    with pytest.raises(InputError, match="defines no text INSTRUCTION"):
        load_instruction(str(file))
    with pytest.raises(InputError, match="no such checkpoint"):
        HpsV3Scorer(str(tmp_path / "HPSv3.safetensors"), "hpsv3", instruction=str(plain))


@pytest.mark.parametrize(
    ("size", "sides"),
    [((448, 448), (448, 448)), ((1024, 1024), (448, 448)), ((64, 64), (448, 448)), ((1280, 720), (588, 336))],
)
def test_pictures_have_as_many_pixels_as_the_authors_take(size, sides):
    assert fit_to_patches(*size, 256 * 28 * 28) == sides
