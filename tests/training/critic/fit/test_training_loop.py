"""The training loop, on a small model of a real architecture: what it computes, and that it can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from fullbench import Case, Item, Response, Score
from fullbench.errors import InputError
from fullbench.models.local.transformers_model import TransformersModel, tokenize_turns
from fullbench.studies.judge_contestant_and_benchmark_specs import judge_from_spec as judge_of
from fullbench.training.critic.data.encoding import Encoder, encode_answers, micro_batches
from fullbench.training.critic.data.prompt_settings import PromptSettings
from fullbench.training.critic.data.scored_answers import ScoredAnswer
from fullbench.training.critic.fit.base_models import base_model
from fullbench.training.critic.fit.objectives import PreferenceObjective, ScoreObjective, TokenObjective
from fullbench.training.critic.fit.training_loop import Loop
from fullbench.training.critic.training_settings import Settings
from tests.support.commands import call, write_rows
from tests.support.ports import free_port
from tests.training.critic import tiny
from tests.training.critic.making import files, options

pytestmark = pytest.mark.slow
torch, transformers = tiny.torch, tiny.transformers
ASKING = PromptSettings("plain", "score:1-5", "en", reference=False, template=tiny.WORDING)
PLAIN = ["--prompt-style", "plain", "--language", "en", "--ballot", "score:1-5"]
FEW = Settings(epochs=2, batch=8, micro=3, lr=3e-3, source=200, target=20, warmup=0.1)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny.model(tmp_path_factory.mktemp("base") / "base")


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing:FutureWarning")  # PEFT uses a former name
@pytest.mark.parametrize("lora", [0, 4])
def test_saving_memory_changes_no_gradient(base, lora):
    gradients = []
    for save_memory in (False, True):
        trained = base_model(str(base), replace(FEW, lora=lora, save_memory=save_memory), "cpu").model.train()
        tokens = torch.arange(40)[None]
        trained(input_ids=tokens, labels=tokens).loss.backward()
        gradients.append([values.grad for values in trained.parameters() if values.grad is not None])
    assert gradients[0]
    torch.testing.assert_close(*gradients)


def scored(count: int = 20) -> list[ScoredAnswer]:
    made = []
    for number in range(count):
        item = Item.ask(f"i{number}", f"what colour is square {number}?")
        good = number % 2 == 0
        text = ("good right answer " if good else "bad wrong ") + "red " * (number % 7)
        case = Case(item, (Response.say(item.id, "c", text),), Score(1, 5))
        made.append(ScoredAnswer(case, 5.0 if good else 1.0, "", "train"))
    return made


def loaded(base: Path, kind: str = "AutoModelForCausalLM", **how):
    words = transformers.AutoTokenizer.from_pretrained(base)
    torch.manual_seed(0)
    return getattr(transformers, kind).from_pretrained(base, **how), words


def loop(base: Path, settings: Settings = FEW, **more) -> Loop:
    model, words = loaded(base)
    examples = encode_answers(Encoder(words, ASKING, settings.source, settings.target), scored(), settings)
    return Loop(model, more.pop("objective", TokenObjective()), examples, settings, words.pad_token_id, **more)


def test_the_loss_is_on_the_ruling_alone_and_is_the_one_transformers_computes(base):
    made = loop(base)
    one = made.examples[3]
    ids = torch.tensor([one.pieces[0].ids])
    labels = ids.clone()
    labels[0, : one.pieces[0].start] = -100
    made.model.eval()
    with torch.no_grad():
        theirs = made.model(input_ids=ids, labels=labels).loss
        from fullbench.training.critic.data.tensors import collate_batch

        batch = collate_batch([one], [[0]], is_packed=False, pad=0)
        ours = made.objective.total(made.model, batch) / made.objective.count([one])
    assert float(ours) == pytest.approx(float(theirs), abs=1e-5)
    words = made.examples[3].pieces[0]
    told = tiny.transformers.AutoTokenizer.from_pretrained(base).decode(words.ids[words.start :])
    assert told == "[[1]]<|end|>"


@pytest.mark.parametrize("way", [{"micro": 1}, {"micro": 8}, {"pack": True, "micro": 1}, {"pack": True, "micro": 4}])
def test_losses_do_not_depend_on_how_a_step_is_cut_into_batches(base, way):
    plain, other = loop(base), loop(base, replace(FEW, **way))
    assert plain.run()
    assert other.run()
    assert [line["loss"] for line in other.losses] == pytest.approx([line["loss"] for line in plain.losses], rel=1e-4)
    assert len(plain.losses) == 5
    assert plain.losses[-1]["loss"] < plain.losses[0]["loss"]


def test_packing_fills_rows_and_keeps_every_example(base):
    made = loop(base, replace(FEW, pack=True))
    groups = micro_batches(made.examples, made.settings)
    placed = sorted(place for rows in groups for row in rows for place in row)
    assert placed == list(range(len(made.examples)))
    assert sum(map(len, groups)) < len(made.examples) / 2
    longest = max(sum(made.examples[place].tokens for place in row) for rows in groups for row in rows)
    assert longest <= FEW.source + FEW.target


def test_a_packed_answer_does_not_see_its_neighbours(base):
    from fullbench.training.critic.data.tensors import collate_batch
    from fullbench.training.critic.fit.forward import target_logits

    made = loop(base)
    made.model.eval()
    alone = collate_batch(made.examples[:1], [[0]], is_packed=False, pad=0)
    beside = collate_batch(made.examples[:3], [[2, 0, 1]], is_packed=True, pad=0)
    with torch.no_grad():
        one = target_logits(made.model, alone)
        both = target_logits(made.model, beside)
    size = made.examples[2].pieces[0].targets
    assert torch.allclose(both[size : size + len(one)], one, atol=1e-5)


def test_a_number_is_learned_and_comes_back_from_the_folder(base, tmp_path):
    made = files(tmp_path)
    wording = tmp_path / "w.txt"
    wording.write_text(tiny.WORDING)
    command = [
        "train", "--kind", "scalar", *PLAIN, *options(made), "--share", "0.25", "--template", str(wording), "--base",
        str(base), "--out", str(tmp_path / "c"), "--epochs", "20", "--batch", "12", "--lr", "3e-3", "--source", "200",
        "--target", "20", "--json", "--quiet",
    ]  # fmt: skip
    tables = {table["name"]: table for table in json.loads(cli(*command).stdout)}
    assert tables["errors"]["rows"][-1][3]["value"] < -1
    item = Item.ask("n", "图片 7: what colour is square 7?")
    judge = judge_of(f"trained:{tmp_path / 'c'}?batch=2")
    shown = [
        Case(item, (Response.say("n", "x", text),), Score(1, 5)) for text in ("good right answer 7", "bad wrong 坏 7")
    ]
    assert [verdict.marks for verdict in judge.judge(shown)] == [(5.0,), (1.0,)]


def taught(base: Path, folder: Path, *more: str) -> list[str]:
    """The command that teaches a small model what is in the words of some answers."""
    made = files(folder)
    wording = folder / "w.txt"
    wording.write_text(tiny.WORDING)
    return [
        "train", *PLAIN, *options(made), "--share", "0.25", "--template", str(wording), "--base", str(base), "--batch",
        "12", "--micro", "12", "--source", "200", "--target", "20", "--quiet", *more,
    ]  # fmt: skip


def test_words_are_learned_and_the_folder_is_a_judge(base, tmp_path):
    out = str(tmp_path / "c")
    command = taught(base, tmp_path, "--epochs", "30", "--lr", "5e-3", "--out", out, "--json")
    tables = {table["name"]: table for table in json.loads(cli(*command).stdout)}
    counts = {row[0]: row[1:3] for row in tables["unusable"]["rows"]}
    after = next(name for name in counts if name.startswith("c@"))
    assert counts[after] == [12, 12]
    assert tables["errors"]["rows"][-1][3]["value"] < -0.5
    judge = judge_of(f"trained:{out}")
    assert judge.name == after
    item = Item.ask("n", "图片 7: what colour is square 7?")
    case = Case(item, (Response.say("n", "x", "good right answer 7"),), Score(1, 5))
    assert next(iter(judge.judge([case]))).marks == (5.0,)


def test_adapters_learn_and_are_merged_into_a_model_that_loads_without_them(base, tmp_path):
    out = tmp_path / "c"
    cli(
        *taught(
            base,
            tmp_path,
            "--epochs",
            "15",
            "--lr",
            "2e-2",
            "--lora",
            "4",
            "--pack",
            "--no-eval",
            "--out",
            str(out),
            "--device",
            "cpu",
        )
    )
    told = losses(out)
    assert told[-1] < told[0] - 0.2
    before, after = torch_weights(base), torch_weights(out / "model")
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all("proj" in name for name in changed)
    assert (out / "model" / "adapter" / "adapter_model.safetensors").exists()


def test_training_ends_with_a_sentence_if_gradients_are_lost(base, tmp_path):
    told = cli(
        *taught(base, tmp_path, "--epochs", "9", "--lr", "1e30", "--no-eval", "--out", str(tmp_path / "c")), code=2
    )
    assert "are not finite" in told.stderr
    assert "lower --lr" in told.stderr
    assert not (tmp_path / "c" / "model").exists()


def test_a_gpu_that_is_not_used_changes_no_arithmetic(monkeypatch):
    """With --device cpu on a machine that has a GPU, numbers are those of a machine without one."""
    from fullbench.training.critic.fit.base_models import check_machine

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    assert [check_machine(Settings(), device) for device in ("auto", "cuda:0", "cpu")] == [True, True, False]
    with pytest.raises(InputError, match="bfloat16 needs a GPU"):
        check_machine(Settings(precision="bfloat16"), "cpu")


def cli(*words: str, code: int = 0, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, as a user runs it."""
    command = [sys.executable, "-m", "fullbench", "critic", *words]
    known = {**os.environ, "OMP_NUM_THREADS": "1", **(env or {})}
    done = subprocess.run(command, capture_output=True, text=True, env=known)
    assert done.returncode == code, done.stderr
    return done


def test_killed_at_any_moment_it_goes_on_with_the_losses_it_would_have_had(base, tmp_path):
    made = files(tmp_path)
    wording = tmp_path / "w.txt"
    wording.write_text(tiny.WORDING)
    command = [
        "train", *PLAIN, *options(made), "--share", "0.25", "--template", str(wording), "--base", str(base), "--epochs",
        "12", "--batch", "6", "--lr", "1e-3", "--source", "200", "--target", "20", "--save-every", "3", "--no-eval",
    ]  # fmt: skip
    cli(*command, "--out", str(tmp_path / "whole"), "--quiet")
    kills = 0
    for _ in range(4):
        words = [sys.executable, "-m", "fullbench", "critic", *command, "--out", str(tmp_path / "killed"), "--quiet"]
        process = subprocess.Popen(words, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL)
        file, before = tmp_path / "killed" / "run" / "checkpoint.pt", None
        before = file.stat().st_mtime_ns if file.exists() else None
        while process.poll() is None and (not file.exists() or file.stat().st_mtime_ns == before):
            time.sleep(0.01)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills >= 2
    cli(*command, "--out", str(tmp_path / "killed"), "--quiet")
    whole, killed = (losses(tmp_path / name) for name in ("whole", "killed"))
    assert killed == pytest.approx(whole, rel=1e-6)
    assert len(whole) == 72
    one, two = (torch_weights(tmp_path / name / "model") for name in ("whole", "killed"))
    assert all(torch.allclose(one[name], two[name], atol=1e-6) for name in one)


def losses(folder: Path) -> list[float]:
    rows = [json.loads(line) for line in (folder / "run" / "losses.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == list(range(len(rows)))
    return [row["loss"] for row in rows]


def torch_weights(folder: Path):
    return transformers.AutoModelForCausalLM.from_pretrained(folder).state_dict()


@pytest.mark.parametrize(
    ("launcher", "more"),
    [
        ("torchrun", []),
        ("accelerate", []),
        ("torchrun", ["--shard"]),
        ("accelerate", ["--shard"]),
        ("torchrun", ["--shard", "--lora", "4"]),
    ],
)
def test_two_processes_learn_what_one_does(base, tmp_path, launcher, more):
    if launcher == "accelerate":
        pytest.importorskip("accelerate", reason="accelerate is not installed; scripts/localtorch.sh installs it")
    if "--lora" in more:
        pytest.importorskip("peft", reason="peft is not installed; scripts/localtorch.sh installs it")
    made = files(tmp_path)
    wording = tmp_path / "w.txt"
    wording.write_text(tiny.WORDING)
    command = [
        "-m", "fullbench", "critic", "train", *PLAIN, *options(made), "--share", "0.25", "--template", str(wording),
        "--base", str(base), "--epochs", "2", "--batch", "7", "--micro", "2", "--lr", "1e-3", "--source", "200",
        "--target", "20", "--no-eval", "--quiet", "--device", "cpu",
    ]  # fmt: skip
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    alone = [option for option in more if option != "--shard"]
    subprocess.run([sys.executable, *command, *alone, "--out", str(tmp_path / "one")], check=True, env=env)
    port = str(free_port())
    start = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", port]
    if launcher == "accelerate":  # told of processors it would start one process; --device cpu is our own word
        start = [
            sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2",
            "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", port,
        ]  # fmt: skip
    subprocess.run([*start, *command, *more, "--out", str(tmp_path / "two")], check=True, env=env)
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), rel=1e-5)
    one, two = (torch_weights(tmp_path / name / "model") for name in ("one", "two"))
    assert one.keys() == two.keys()
    assert all(torch.allclose(one[name], two[name], atol=2e-4) for name in one)


def test_a_sharded_run_that_was_stopped_goes_on_with_the_losses_it_would_have_had(base, tmp_path):
    made = files(tmp_path)
    wording = tmp_path / "w.txt"
    wording.write_text(tiny.WORDING)
    command = [
        "-m", "fullbench", "critic", "train", *PLAIN, *options(made), "--share", "0.25", "--template", str(wording),
        "--base", str(base), "--epochs", "2", "--batch", "7", "--micro", "2", "--lr", "1e-3", "--source", "200",
        "--target", "20", "--no-eval", "--quiet", "--device", "cpu", "--shard", "--save-every", "1",
    ]  # fmt: skip
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    start = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port"]
    subprocess.run([*start, str(free_port()), *command, "--out", str(tmp_path / "whole")], check=True, env=env)
    out = tmp_path / "killed"
    running = subprocess.Popen([*start, str(free_port()), *command, "--out", str(out)], env=env, start_new_session=True)
    while not (out / "run" / "losses.jsonl").exists():
        assert running.poll() is None
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert not (out / "critic.json").exists()
    subprocess.run([*start, str(free_port()), *command, "--out", str(out)], check=True, env=env)
    assert losses(out) == pytest.approx(losses(tmp_path / "whole"), rel=1e-6)


def test_one_process_has_nothing_to_shard(base):
    from fullbench.training.critic.fit.distributed_training import Processes, shard_model

    with pytest.raises(InputError, match="accelerate launch"):
        shard_model(loaded(base)[0], Processes())


def test_a_long_answer_is_cut_and_counted_never_silently(base):
    _, words = loaded(base)
    encoder = Encoder(words, ASKING, 80, 20)
    item = Item.ask("i", "what colour?")
    short = Case(item, (Response.say("i", "c", "good"),), Score(1, 5))
    long = Case(item, (Response.say("i", "c", "很好 good " * 200),), Score(1, 5))
    assert encoder.fit_case(short) is short
    assert encoder.cut_count == 0
    cut = encoder.fit_case(long)
    assert encoder.cut_count == 1
    ids = encoder.prompt(long)
    assert len(ids) <= 80
    assert long.responses[0].text.startswith(cut.responses[0].text.rstrip("\ufffd"))
    text = words.decode(ids)
    assert "Score:" in text
    assert "what colour?" in text
    with pytest.raises(InputError, match="even without the answer"):
        Encoder(words, ASKING, 20, 20).prompt(long)


def test_the_judge_says_when_it_cut_an_answer(base, tmp_path):
    from fullbench.training.critic.critic_judge import CUT
    from fullbench.training.critic.critic_metadata import Critic

    made = tmp_path / "c"
    made.mkdir()
    tiny.model(made / "model")
    Critic("sft", ASKING, 80, 8, 3.0, 1.0).write(made)
    item = Item.ask("i", "what colour?")
    case = Case(item, (Response.say("i", "c", "很好 good " * 200),), Score(1, 5))
    verdict = next(iter(judge_of(f"trained:{made}").judge([case])))
    assert verdict.case == case.key
    assert CUT in verdict.earlier


def test_preferences_and_numbers_count_answers_not_tokens(base):
    made = loop(base, replace(FEW, kind="dpo"))
    assert PreferenceObjective().count(made.examples) == 20
    assert ScoreObjective(3.0, 1.0).count(made.examples) == 20
    assert all(one.pieces[0].ids != one.pieces[1].ids for one in made.examples)
    assert all(one.pieces[0].start == one.pieces[1].start for one in made.examples)


def test_generated_text_is_that_of_transformers_whatever_the_batch(base):
    model, words = loaded(base)
    prompts = [PromptSettings.judge(ASKING, TransformersModel(str(base))).prompt(one.case) for one in scored(5)]
    ours = [reply.text for reply in TransformersModel(str(base), batch=3, max_tokens=12).answer(prompts)]
    for prompt, text in zip(prompts, ours, strict=True):
        ids = torch.tensor([tokenize_turns(words, prompt.turns)])
        made = model.generate(ids, max_new_tokens=12, do_sample=False, attention_mask=torch.ones_like(ids))
        assert words.decode(made[0, ids.shape[1] :], skip_special_tokens=True) == text


def test_a_folder_keeps_one_run(tmp_path):
    from fullbench.training.critic.fit.checkpoints import RunFolder

    RunFolder(tmp_path).claim(FEW.values)
    RunFolder(tmp_path).claim(FEW.values)
    with pytest.raises(InputError, match="shard differ"):
        RunFolder(tmp_path).claim({**FEW.values, "shard": True})


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_refused(base, tmp_path):
    made = files(tmp_path)
    command = ["critic", "train", *PLAIN, *options(made), "--base", str(base), "--device", "cuda"]
    code, done = call(*command, "--out", tmp_path / "c")
    assert code == 2
    assert "critic train: torch finds no GPU 'cuda' here; leave the device out or use cpu" in done.output
    from tests.judges.scorers import making, models

    models.clip(tmp_path / "clip")
    for seed, name in enumerate("ab"):
        (tmp_path / f"{name}.png").write_bytes(making.encoded(making.texture(seed)))
    write_rows(tmp_path / "q.jsonl", [{"id": "q", "question": "a red cat"}])
    write_rows(
        tmp_path / "drawn.jsonl", [{"item": "q", "contestant": name, "pictures": [f"{name}.png"]} for name in "ab"]
    )
    write_rows(tmp_path / "said.jsonl", [{"item": "q", "contestant": name, "text": name} for name in "ab"])
    for answers, judge in (("drawn", f"clip:{tmp_path / 'clip'}"), ("said", f"local:{base}")):
        words = ("judge", "--items", tmp_path / "q.jsonl", "--responses", tmp_path / f"{answers}.jsonl")
        more = ("--ballot", "choice", "--ledger", tmp_path / f"{answers}.ledger")
        code, done = call(*words, *more, "--judge", f"{judge}?device=cuda:1")
        assert code == 2
        assert "torch finds no GPU 'cuda:1' here; leave the device out or use cpu" in done.output
