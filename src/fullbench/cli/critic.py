"""`fullbench critic`: train a judge on people's scores and evaluate it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fullbench.cli.options import JsonOption, QuietOption, say, show, stoppable

if TYPE_CHECKING:
    from fullbench.core.record import Record
    from fullbench.training.critic.data.prompts import Asking

critic_app = typer.Typer(help="A critic of your own, trained on people's scores.", no_args_is_help=True)

ItemsOption = Annotated[Path | None, typer.Option(help="What was asked: JSONL, CSV or Parquet.")]
ResponsesOption = Annotated[Path | None, typer.Option(help="What was answered.")]
LabelsOption = Annotated[Path | None, typer.Option(help="People's scores of the answers.")]
LedgerOption = Annotated[str | None, typer.Option(help="A ledger with all three, instead of files.")]
BenchmarkOption = Annotated[str | None, typer.Option(help="A benchmark that brings all three, instead of files.")]
DataOption = Annotated[Path | None, typer.Option(help="The benchmark's released data; its sample where left out.")]
CriterionOption = Annotated[
    list[str] | None, typer.Option("--criterion", help="Only scores by this criterion. Again for more.")
]
PeopleOption = Annotated[str, typer.Option(help="The judge whose scores are learned.")]
SeedOption = Annotated[int, typer.Option(help="For whatever is drawn at random.")]
OutOption = Annotated[Path | None, typer.Option("--tables", help="Write the tables here: .json, .md, .csv, .html.")]


def _record(
    items: Path | None, responses: Path | None, labels: Path | None, ledger: str | None, benchmark: str | None,
    data: Path | None, people: str, ballot: str,
) -> Record:  # fmt: skip
    """What people scored, from wherever it is."""
    from fullbench.errors import InputError
    from fullbench.training.critic.data.scored_answers import from_files

    if items is not None and responses is not None and labels is not None:
        return from_files(items, responses, labels, people=people, ballot=ballot)
    if ledger is not None:
        from fullbench.ledger.ledger import Ledger

        with Ledger(ledger, read_only=True) as book:
            return book.record()
    if benchmark is not None:
        from fullbench.studies.run.study_inputs import recorded

        return recorded(benchmark, data).record
    raise InputError("scored answers are missing: give --items, --responses and --labels, or --ledger, or --benchmark")


def _asking(
    manner: str, ballot: str, language: str, mode: str, reference: bool | None, template: Path | None
) -> Asking:
    from fullbench.judges.prompted import read_template
    from fullbench.training.critic.data.prompts import Asking

    if template is not None:
        read_template(template)
    text = "" if template is None else _text(template)
    values: dict[str, Any] = {
        "manner": manner, "ballot": ballot, "language": language, "mode": mode, "template": text,
    }  # fmt: skip
    return Asking(**values, reference=manner == "critic" if reference is None else reference)


def _text(path: Path) -> str:
    """The words of a file."""
    from fullbench.errors import InputError

    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the file cannot be read as UTF-8 text ({error})", path=path) from error


@critic_app.command("train")
def train(
    out: Annotated[Path, typer.Option(help="The folder that becomes the critic.")],
    kind: Annotated[str, typer.Option(help="sft, dpo, scalar, or light (no language model, no torch).")] = "sft",
    base: Annotated[str, typer.Option(help="The model to begin with: a folder or a hub name.")] = "",
    items: ItemsOption = None,
    responses: ResponsesOption = None,
    labels: LabelsOption = None,
    ledger: LedgerOption = None,
    benchmark: BenchmarkOption = None,
    data: DataOption = None,
    people: PeopleOption = "human",
    criteria: CriterionOption = None,
    manner: Annotated[str, typer.Option(help="critic (AlignMMBench's wording) or plain.")] = "critic",
    ballot: Annotated[str, typer.Option(help="The scale of the scores: score:1-10 or score:1-5.")] = "score:1-10",
    language: Annotated[str, typer.Option(help="The language of the prompts: zh or en.")] = "zh",
    mode: Annotated[
        str, typer.Option(help="direct (the mark), or analyze (people's reasons, then the mark).")
    ] = "direct",
    reference: Annotated[
        bool | None, typer.Option("--reference/--no-reference", help="Whether the reference answer is shown.")
    ] = None,
    template: Annotated[Path | None, typer.Option(help="A wording of your own.")] = None,
    chat_template: Annotated[Path | None, typer.Option(help="A chat template for a base model without one.")] = None,
    external: Annotated[list[str] | None, typer.Option(help="A contestant to hold back whole. Again for more.")] = None,
    share: Annotated[float, typer.Option(help="The share of items of each category that is held back.")] = 0.1,
    epochs: Annotated[float, typer.Option(help="How often every score is learned from.")] = 3.0,
    batch: Annotated[int, typer.Option(help="Scores a step, over all processes.")] = 128,
    micro: Annotated[int, typer.Option(help="Rows through the model at once.")] = 4,
    lr: Annotated[float, typer.Option(help="The highest learning rate.")] = 1e-5,
    weight_decay: Annotated[float, typer.Option(help="AdamW's weight decay.")] = 0.05,
    warmup: Annotated[float, typer.Option(help="The share of steps in which the rate goes up.")] = 0.01,
    schedule: Annotated[str, typer.Option(help="linear, cosine or constant.")] = "linear",
    clip: Annotated[float, typer.Option(help="The longest gradient that is let through.")] = 1.0,
    source: Annotated[int, typer.Option(help="The most tokens of a prompt.")] = 4096,
    target: Annotated[int, typer.Option(help="The most tokens of a ruling.")] = 1024,
    pack: Annotated[bool, typer.Option("--pack", help="Several answers in one row: faster.")] = False,
    lora: Annotated[int, typer.Option(help="Train adapters of this rank; 0 trains all weights.")] = 0,
    lora_alpha: Annotated[int, typer.Option(help="How much the adapters count, over their rank.")] = 32,
    lora_dropout: Annotated[float, typer.Option(help="The adapters' dropout.")] = 0.0,
    beta: Annotated[float, typer.Option(help="dpo: how close it stays to the base.")] = 0.1,
    anchor: Annotated[float, typer.Option(help="dpo: how much the right ruling itself is learned, beside.")] = 1.0,
    precision: Annotated[str, typer.Option(help="auto, float32, or bfloat16 (arithmetic; needs a GPU).")] = "auto",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda...")] = "auto",
    save_every: Annotated[int, typer.Option(help="Keep a checkpoint every so many steps.")] = 50,
    save_memory: Annotated[bool, typer.Option("--save-memory", help="Compute activations twice: slower.")] = False,
    compiling: Annotated[str, typer.Option("--compile", help="Compile the layers: auto, always, never.")] = "auto",
    shard: Annotated[bool, typer.Option("--shard", help="Split the model over all processes (FSDP).")] = False,
    evaluate: Annotated[bool, typer.Option("--eval/--no-eval", help="Try it on what was held back.")] = True,
    seed: SeedOption = 0,
    tables: OutOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Train a critic on people's scores, and say how good it is on answers it has not seen.

    Stopped or killed, the same command goes on from the last checkpoint. On several GPUs: `accelerate launch -m
    fullbench critic train ...` or `torchrun`.

    Examples:

        fullbench critic train --items items.jsonl --responses answers.jsonl --labels scores.jsonl \\
            --base Qwen/Qwen2.5-7B-Instruct --lora 16 --pack --out my-critic

        fullbench critic train --kind light --manner plain --language en --ballot score:1-5 --no-reference \\
            --criterion overall --benchmark mllm-as-a-judge --data mllm-as-a-judge --out light
    """
    from fullbench.training.critic import critic_evaluation
    from fullbench.training.critic.data.scored_answers import scored
    from fullbench.training.critic.fit.training_progress import watching
    from fullbench.training.critic.loss_curve import learning
    from fullbench.training.critic.train_critic import Training
    from fullbench.training.critic.training_settings import Settings

    values: dict[str, Any] = {
        "kind": kind, "epochs": epochs, "batch": batch, "micro": micro, "lr": lr, "weight_decay": weight_decay,
        "warmup": warmup, "schedule": schedule, "clip": clip, "source": source, "target": target, "pack": pack,
        "lora": lora, "lora_alpha": lora_alpha, "lora_dropout": lora_dropout, "beta": beta, "anchor": anchor,
        "precision": precision, "save_every": save_every, "save_memory": save_memory, "seed": seed,
        "compile": compiling, "shard": shard,
    }  # fmt: skip
    settings = Settings(**values)
    asking = _asking(manner, ballot, language, mode, reference, template)
    words = "" if chat_template is None else _text(chat_template)
    record = _record(items, responses, labels, ledger, benchmark, data, people, ballot)
    scores = scored(
        record, asking, people=people, criteria=criteria or (), external=external or (), share=share, seed=seed
    )
    with stoppable() as stop, watching(quiet=quiet) as watch:
        training = Training(scores, asking, settings, base, out, words, device, watch, say, lambda: bool(stop.reason))
        ended = training.run()
    if not ended:
        say("Stopped. What was learned is kept; the same command goes on from here.")
        return 130
    if training.first:
        say(f"The critic: {out}; as a judge: trained:{out}")
        if evaluate:
            before = training.untrained()
            results = critic_evaluation.report(
                record, scores, out, before=before, people=people, device=device, seed=seed, quiet=quiet
            )
            results += [table for table in (training.preferences(), learning(out)) if table is not None]
            show(results, as_json=as_json, out=tables)
    return 0


@critic_app.command("eval")
def evaluate(
    folder: Annotated[Path, typer.Argument(help="A folder that `fullbench critic train` wrote.")],
    items: ItemsOption = None,
    responses: ResponsesOption = None,
    labels: LabelsOption = None,
    ledger: LedgerOption = None,
    benchmark: BenchmarkOption = None,
    data: DataOption = None,
    people: PeopleOption = "human",
    criteria: CriterionOption = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda...")] = "auto",
    seed: SeedOption = 0,
    tables: OutOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say how near a critic's scores are to people's, on answers it did not learn from.

    Answers that it was trained on are left out; those of contestants that it never saw are shown apart.

    Examples:

        fullbench critic eval my-critic --items items.jsonl --responses answers.jsonl --labels scores.jsonl
    """
    from fullbench.training.critic import critic_evaluation
    from fullbench.training.critic.critic_metadata import Critic
    from fullbench.training.critic.data.scored_answers import scored

    critic = Critic.read(folder)
    record = _record(items, responses, labels, ledger, benchmark, data, people, critic.asking.ballot)
    scores = scored(
        critic_evaluation.resplit(folder, record), critic.asking, people=people, criteria=criteria or (), seed=seed
    )
    results = critic_evaluation.report(record, scores, folder, people=people, device=device, seed=seed, quiet=quiet)
    show(results, as_json=as_json, out=tables)
