"""Twenty GRPO steps of TRL itself on a tiny model with random weights; the rewards are a judge's, kept in a ledger."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fullbench
from fullbench import Ledger
from fullbench.studies.rewards.training_prompts_as_items_and_responses import reward_rows
from tests.studies.test_dpo_training import tokenizer
from tests.support.scripted_server import ScriptedServer

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::FutureWarning")]
torch = pytest.importorskip("torch", reason="torch is not installed; scripts/localtorch.sh installs it")
trl = pytest.importorskip("trl", reason="trl is not installed; scripts/localtorch.sh installs it")
STEPS, BATCH = 20, 8


def vowels(asked):
    """Fills in a sheet for the answer between the markers: whether it has many vowels, and whether it has a z."""
    answer = asked.words.split("[The Start of")[-1]
    many, bad = re.findall(r"^POINT (\w{4}) \(", asked.words, re.MULTILINE)
    count = len(re.findall(r"[aeiou]", answer))
    return f"POINT {many}: {1 + count % 5}\nPOINT {bad}: {'yes' if count % 3 == 0 else 'no'}"


def test_trl_trains_twenty_steps_and_every_reward_is_in_the_ledger(tmp_path: Path):
    from datasets import Dataset
    from transformers import LlamaConfig, LlamaForCausalLM

    words = tokenizer()
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(words), **sizes, pad_token_id=words.pad_token_id))
    rubric = [{"criterion": "Many vowels.", "points": 4}, {"criterion": "Has a z.", "points": -1}]
    own = [{"asks": rubric[0]["criterion"], "weight": 4, "ballot": "score:1-5"}, rubric[1]]
    rows = Dataset.from_list(
        [{"prompt": f"Say {number} words 几个?", "reference": f"ref {number}"} for number in range(6)]
    )
    with ScriptedServer({"m": vowels}) as server:
        reward = fullbench.reward(f"vllm:m@{server.url}", rubric=own, ledger=tmp_path / "l.ledger", unusable=-1.0)
        seen, source = [], reward._source

        def noted(prompts, completions, *others):
            rewards = source(prompts, completions, *others)
            seen.extend(
                (*row, entry.value, entry.cases) for *row, entry in zip(prompts, completions, rewards, strict=True)
            )
            return rewards

        reward._source = noted
        how = trl.GRPOConfig(
            str(tmp_path / "run"), max_steps=STEPS, per_device_train_batch_size=BATCH, num_generations=4, report_to=[],
            max_completion_length=12, use_cpu=True, bf16=False, save_strategy="no", disable_tqdm=True, logging_steps=1,
            learning_rate=1e-2,
        )  # fmt: skip
        trainer = trl.GRPOTrainer(model, reward_funcs=reward, args=how, train_dataset=rows, processing_class=words)
        before = {name: weights.clone() for name, weights in trainer.model.named_parameters()}
        trainer.train()
        asked = len(server.asked)
        reward.close()
    assert trainer.state.global_step == STEPS
    assert len(seen) == STEPS * BATCH
    assert any(not torch.equal(before[name], weights) for name, weights in trainer.model.named_parameters())
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        verdicts = list(book.verdicts())
    by_case = {verdict.case: verdict for verdict in verdicts}
    assert len(by_case) == len(verdicts) == 2 * len({(prompt, answer) for prompt, answer, _, _ in seen}) == 2 * asked
    for _, _, value, cases in seen:
        many, bad = (by_case[case].marks[0] for case in cases)
        assert value == pytest.approx(min(1, max(0, (4 * (many - 1) / 4 - (bad - 1)) / 4)), abs=1e-12)
    logged = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    means = [sum(row[2] for row in seen[start : start + BATCH]) / BATCH for start in range(0, len(seen), BATCH)]
    assert logged == pytest.approx(means, abs=1e-6)


def test_messages_that_trl_prepares_are_the_same_prompt_as_those_of_the_data_set():
    from PIL import Image
    from trl.data_utils import prepare_multimodal_messages

    images = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    place, texts = {"type": "image"}, [{"type": "text", "text": text} for text in ("First:", "Then:", "Which is red?")]
    for prompt in (
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which is red?"}],
        [{"role": "user", "content": [texts[0], place, texts[1], place, texts[2]]}],
        [{"role": "user", "content": "Which is red?"}, {"role": "assistant", "content": "?"},
         {"role": "user", "content": "Say."}],
    ):  # fmt: skip
        items = [
            reward_rows([messages], ["a"], {"images": [images]}, "policy")[0][0]
            for messages in (prompt, prepare_multimodal_messages(prompt, images))
        ]
        assert items[0] == items[1]
        assert len(items[0].pictures) == 2
