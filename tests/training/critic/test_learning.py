"""A small critic that really learns: real answers, real scores of people, items it never saw.

A Llama of a quarter of a million weights and its tokenizer, both made here; it learns in minutes on a CPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fullbench.studies.run.study_items_responses_and_labels import load_benchmark_release
from fullbench.training.critic.data.prompt_settings import PromptSettings
from fullbench.training.critic.data.scored_answers import build_scored_answers
from tests.training.critic import tiny

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
DATA = Path(__file__).parents[3] / ".." / "shared" / "data" / "mllm-as-a-judge"
WORDING = """=== user
{question}
--- case
{responses}
{verdict}
--- responses
{text}
--- direct
Score:
--- analyze
{text}
"""


with_scores = pytest.mark.skipif(not DATA.is_dir(), reason="the released scores of MLLM-as-a-Judge are not at hand")


def trained(folder, kind):
    """The tables that the command prints, by name."""
    asking = PromptSettings("plain", "score:1-5", "en", reference=False, template=WORDING)
    record = load_benchmark_release("mllm-as-a-judge", DATA).record
    learned = [
        one for one in build_scored_answers(record, asking, criteria=["overall"], share=0.2) if one.split == "train"
    ]
    texts = [text for one in learned for text in (one.case.item.question, one.case.responses[0].text)]
    shape = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1, "num_attention_heads": 4}
    base = tiny.model(folder / "base", texts, size=3000, window=1700, **shape)
    wording = folder / "wording.txt"
    wording.write_text(WORDING)
    command = [
        sys.executable, "-m", "fullbench", "critic", "train", "--kind", kind, "--base", str(base),
        "--prompt-style", "plain", "--language", "en", "--ballot", "score:1-5", "--no-reference",
        "--criterion", "overall", "--share", "0.2",
        "--benchmark", "mllm-as-a-judge", "--data", str(DATA), "--template", str(wording), "--source", "1600",
        "--target", "16", "--warmup", "0.1", "--out", str(folder / "critic"), "--json", "--epochs", "3",
        "--lr", "2e-3", "--batch", "32", "--micro", "8",
    ]  # fmt: skip
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    return {table["name"]: table for table in json.loads(done.stdout)}


@with_scores
def test_a_small_critic_beats_the_mean_on_items_it_never_saw(tmp_path):
    _, e, mean, difference = trained(tmp_path, "scalar")["errors"]["rows"][-1]
    assert e["n"] > 800
    assert e["value"] < mean["value"]
    assert difference["high"] < 0


@with_scores
def test_a_small_critic_that_writes_learns_the_form_and_no_worse_than_the_usual_score(tmp_path):
    tables = trained(tmp_path, "sft")
    ruled = [row[tables["unusable"]["columns"].index("judged")] for row in tables["unusable"]["rows"]]
    assert ruled == [0, 911], "the untrained model never rules, the trained one always"
    (_, usual, *_), (_, e, *_) = tables["errors"]["rows"]
    assert e["value"] <= usual["value"] + 0.02
