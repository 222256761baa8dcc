"""What a user gets wrong: one sentence, exit code 2, nothing half-written. No torch is needed to be told so."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from fullbench.errors import InputError
from fullbench.models.local.transformers_model import TransformersModel
from tests.support.commands import call, cli
from tests.training.critic.making import files, options, write

PLAIN = ["--prompt-style", "plain", "--language", "en", "--ballot", "score:1-5"]
WITHOUT = "import sys; sys.modules['torch'] = None; from fullbench.cli import main; main()"


def told(folder: Path, *words: object, without: bool = False) -> str:
    """What the command says when it refuses."""
    command = ["critic", "train", *map(str, words), "--out", str(folder / "out")]
    if without:
        run = subprocess.run([sys.executable, "-c", WITHOUT, *command], capture_output=True, text=True, cwd=folder)
        code, out, err = run.returncode, run.stdout, run.stderr
    else:
        with contextlib.chdir(folder):
            code, done = call(*command)
        out, err = done.stdout, done.stderr
    assert (code, out) == (2, ""), err
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    assert not (folder / "out").exists()
    return lines[0]


def test_no_extra_installed(tmp_path):
    made = files(tmp_path, 4)
    said = told(tmp_path, *PLAIN, *options(made), "--base", "x", without=True)
    assert (
        said == "fullbench: training a critic needs an optional part: pip install '.[train]' in the folder of fullbench"
    )


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"item": "i0", "contestant": "ann", "score": 6, "ballot": "score:1-5"},
            "labels.jsonl:1: the marks [6.0] are not",
        ),
        (
            {"item": "i0", "contestant": "ann", "score": 2.5, "ballot": "score:1-5"},
            "labels.jsonl:1: the marks [2.5] are",
        ),
        ({"item": "i0", "contestant": "ann", "ballot": "score:1-5"}, "labels.jsonl:1: a verdict has marks or a fault"),
        ({"item": "i0", "contestant": "cid", "score": 3, "ballot": "score:1-5"}, "1 of 1 score is about"),
        (
            {"item": "i0", "contestant": "ann", "score": 3, "ballot": "score:1-10"},
            "found 1 on score:1-10; add --ballot",
        ),
    ],
)
def test_scores_missing_or_out_of_range(tmp_path, row, said):
    made = files(tmp_path, 4)
    write(tmp_path / "labels.jsonl", [row])
    assert said in told(tmp_path, "--kind", "light", *PLAIN, *options(made))


def test_scores_of_responses_that_were_removed_are_counted(tmp_path):
    """A shortened file of responses: what is left is learned from, and the number of other scores is said."""
    made = files(tmp_path, 8)
    lines = (tmp_path / "responses.jsonl").read_text(encoding="utf-8").splitlines()
    scores = len((tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    (tmp_path / "responses.jsonl").write_text("\n".join(lines[:-3]) + "\n", encoding="utf-8")
    done = cli("critic", "train", "--kind", "light", *PLAIN, *options(made), "--out", tmp_path / "c", "--quiet")
    assert f"Left out: 3 of {scores} scores are about responses that are not at hand" in done.stderr
    assert (tmp_path / "c" / "critic.json").is_file()


def test_a_line_that_is_half_written(tmp_path):
    made = files(tmp_path, 4)
    with (tmp_path / "labels.jsonl").open("a") as file:
        file.write('{"item": "i1", "contest')
    assert "labels.jsonl:9:" in told(tmp_path, "--kind", "light", *PLAIN, *options(made))


def test_reasons_that_are_not_there(tmp_path):
    made = files(tmp_path, 4)
    said = told(tmp_path, "--kind", "light", *PLAIN, "--mode", "analyze", *options(made))
    assert "8 of 8 scores have no reason" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kind", "best"], "unknown kind 'best'; known: sft, dpo, scalar, light"),
        (["--batch", "0"], "batch must be 1 or more; found 0"),
        (["--lr", "-1"], "lr must be above 0"),
        (["--prompt-style", "critic"], "the prompt style 'critic' scores on score:1-10"),
        (["--kind", "light", "--template", "gone.txt"], "gone.txt: the template cannot be read"),
        (["--kind", "light", "--share", "1.5"], "is between 0 and 1"),
    ],
)
def test_settings_that_do_not_fit(tmp_path, words, said):
    plain = PLAIN[2:] if "--prompt-style" in words else PLAIN
    assert said in told(tmp_path, *plain, *options(files(tmp_path, 4)), *words)


def test_nothing_to_learn_from(tmp_path):
    assert "No scored responses given. Add --items" in told(tmp_path, "--kind", "light", *PLAIN)


def test_an_unfinished_folder_is_no_judge(tmp_path):
    (tmp_path / "c" / "run").mkdir(parents=True)
    (tmp_path / "c" / "run" / "run.json").write_text("{}")
    done = subprocess.run(
        [sys.executable, "-m", "fullbench", "critic", "eval", "c"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2
    assert "its training has not ended: run the same command again" in done.stderr


def test_a_folder_of_a_critic_is_not_a_local_model(tmp_path):
    (tmp_path / "critic.json").write_text("{}")
    with pytest.raises(InputError, match="it holds a critic: say trained:"):
        TransformersModel(str(tmp_path))


@pytest.mark.slow
def test_a_base_model_that_does_not_do(tmp_path):
    from tests.training.critic import tiny

    made = files(tmp_path, 4)
    base = tiny.model(tmp_path / "base", window=128)
    given = [*PLAIN, *options(made), "--base", base]
    if not tiny.torch.cuda.is_available():
        assert "bfloat16 needs a GPU" in told(tmp_path, *given, "--precision", "bfloat16")
    assert "takes 128 tokens, too few for --source 4096" in told(tmp_path, *given)
    assert "even without the answer" in told(tmp_path, *given, "--source", 90)
    assert "there is no such folder" in told(tmp_path, *PLAIN, *options(made), "--base", tmp_path / "gone")
    assert "needs a base model: add --base" in told(tmp_path, *PLAIN, *options(made))
    (base / "chat_template.jinja").unlink()
    assert "has no chat template" in told(tmp_path, *given, "--source", 90)
