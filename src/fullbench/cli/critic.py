"""`fullbench critic`: train a judge on people's scores and evaluate it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fullbench.cli.console import print_message, print_tables, stop_on_signals
from fullbench.cli.shared_options_and_run_output import (
    JsonOption,
    QuietOption,
    ReleaseOption,
    SeedOption,
    argument,
    more,
    option,
    options,
)
from fullbench.errors import InputError

if TYPE_CHECKING:
    from fullbench.core.verdict_record import Record
    from fullbench.training.critic.data.prompt_settings import PromptSettings

critic_app = typer.Typer(help="Train and evaluate a critic: a judge trained on people's scores.", no_args_is_help=True)

DeviceOption = Annotated[str, option("Device: auto, cpu, cuda, ...")]
OutOption = Annotated[Path | None, option("File for the tables: .json, .md, .csv or .html.", "--tables")]


@dataclass(frozen=True)
class ScoreOptions:
    """Answers with scores of people: from files, a ledger or a benchmark."""

    items: Annotated[Path | None, option("Items: JSONL, CSV or Parquet.")] = None
    responses: Annotated[Path | None, option("Responses: JSONL, CSV or Parquet.")] = None
    labels: Annotated[Path | None, option("People's scores of the responses.")] = None
    ledger: Annotated[str | None, option("Ledger with items, responses and scores, instead of files.")] = None
    benchmark: Annotated[str | None, option("Benchmark with items, responses and scores, instead of files.")] = None
    data: ReleaseOption = None
    people: Annotated[str, option("Judge or people whose scores are learned.")] = "human"
    criteria: Annotated[list[str] | None, option("Use only scores by this criterion. Repeatable.", "--criterion")] = (
        None
    )

    def load_record(self, ballot: str) -> Record:
        """Read the scores, on this ballot if it is not stored with them."""
        from fullbench.training.critic.data.scored_answers import record_from_files

        if self.items is not None and self.responses is not None and self.labels is not None:
            return record_from_files(self.items, self.responses, self.labels, people=self.people, ballot=ballot)
        if self.ledger is not None:
            from fullbench.ledger.ledger import Ledger

            with Ledger(self.ledger, read_only=True) as book:
                return book.record()
        if self.benchmark is not None:
            from fullbench.studies.run.study_items_responses_and_labels import load_benchmark_release

            return load_benchmark_release(self.benchmark, self.data).record
        raise InputError(
            "No scored responses given. Add --items, --responses and --labels, or --ledger, or --benchmark."
        )


def _prompt_settings(
    prompt_style: str, ballot: str, language: str, mode: str, reference: bool | None, template: Path | None
) -> PromptSettings:
    from fullbench.judges.prompted_judge import read_template
    from fullbench.training.critic.data.prompt_settings import PromptSettings

    if template is not None:
        read_template(template)
    text = "" if template is None else _read_text_file(template)
    values: dict[str, Any] = {
        "prompt_style": prompt_style, "ballot": ballot, "language": language, "mode": mode, "template": text,
    }  # fmt: skip
    return PromptSettings(**values, reference=prompt_style == "critic" if reference is None else reference)


def _read_text_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The file is not UTF-8 text ({error}).", path=path) from error


@critic_app.command("train")
@options(
    "items responses labels ledger benchmark data people criteria prompt_style ballot language mode reference template "
    "chat_template external share epochs batch micro lr weight_decay warmup schedule clip source target pack lora "
    "lora_alpha lora_dropout beta anchor precision device save_every save_memory compiling shard evaluate seed tables "
    "as_json quiet"
)
def train(
    out: Annotated[Path, option("Folder for the critic.")],
    scored: ScoreOptions,
    kind: Annotated[str, option("Kind of critic: sft, dpo, scalar, or light (no language model, no torch).")] = "sft",
    base: Annotated[str, option("Base model: a folder or a hub name.")] = "",
    prompt_style: Annotated[str, option("Prompt style: critic (as AlignMMBench) or plain.")] = "critic",
    ballot: Annotated[str, option("Scale of the scores: score:1-10 or score:1-5.")] = "score:1-10",
    language: Annotated[str, option("Language of the prompts: zh or en.")] = "zh",
    mode: Annotated[
        str, option("Output: direct (the score) or analyze (people's reasons, then the score).")
    ] = "direct",
    reference: Annotated[
        bool | None, more("Show the reference answer in the prompt.", "--reference/--no-reference")
    ] = None,
    template: Annotated[Path | None, more("File with your own prompt template.")] = None,
    chat_template: Annotated[Path | None, more("Chat template for a base model that has none.")] = None,
    external: Annotated[list[str] | None, more("Contestant whose responses are all held out. Repeatable.")] = None,
    share: Annotated[float, option("Share of the items of each category to hold out.")] = 0.1,
    epochs: Annotated[float, more("Number of epochs.")] = 3.0,
    batch: Annotated[int, more("Batch size over all processes.")] = 128,
    micro: Annotated[int, more("Rows per forward pass.")] = 4,
    lr: Annotated[float, more("Peak learning rate.")] = 1e-5,
    weight_decay: Annotated[float, more("Weight decay of AdamW.")] = 0.05,
    warmup: Annotated[float, more("Share of the steps used for warm-up.")] = 0.01,
    schedule: Annotated[str, more("Learning rate schedule: linear, cosine or constant.")] = "linear",
    clip: Annotated[float, more("Maximum gradient norm.")] = 1.0,
    source: Annotated[int, more("Maximum tokens of a prompt.")] = 4096,
    target: Annotated[int, more("Maximum tokens of the output.")] = 1024,
    pack: Annotated[bool, more("Pack several samples into one row, which is faster.", "--pack")] = False,
    lora: Annotated[int, option("Rank of LoRA adapters. 0 trains all weights.")] = 0,
    lora_alpha: Annotated[int, more("LoRA alpha.")] = 32,
    lora_dropout: Annotated[float, more("Dropout of the adapters.")] = 0.0,
    beta: Annotated[float, more("For dpo: higher keeps the critic closer to the base model.")] = 0.1,
    anchor: Annotated[float, more("For dpo: weight of the likelihood of the preferred output.")] = 1.0,
    precision: Annotated[str, more("Precision: auto, float32 or bfloat16 (needs a GPU).")] = "auto",
    device: DeviceOption = "auto",
    save_every: Annotated[int, more("Write a checkpoint every N steps.")] = 50,
    save_memory: Annotated[
        bool, more("Recompute activations to save memory, which is slower.", "--save-memory")
    ] = False,
    compiling: Annotated[str, more("Compile the model: auto, always or never.", "--compile")] = "auto",
    shard: Annotated[bool, more("Shard the model over all processes (FSDP).", "--shard")] = False,
    evaluate: Annotated[bool, option("Evaluate the critic on the held-out scores.", "--eval/--no-eval")] = True,
    seed: SeedOption = 0,
    tables: OutOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Train a critic on people's scores, and evaluate it on held-out responses.

    Run the same command again to continue from the last checkpoint. On several GPUs use `accelerate launch -m fullbench
    critic train ...` or `torchrun`.

    Examples:

        fullbench critic train --items items.jsonl --responses answers.jsonl --labels scores.jsonl \
            --base Qwen/Qwen2.5-7B-Instruct --lora 16 --pack --out my-critic

        fullbench critic train --kind light --prompt-style plain --language en --ballot score:1-5 --no-reference \
            --criterion overall --benchmark mllm-as-a-judge --data mllm-as-a-judge --out light
    """
    from fullbench.training.critic import critic_evaluation
    from fullbench.training.critic.data.scored_answers import build_scored_answers
    from fullbench.training.critic.fit.training_progress import loss_table, watch_training
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
    asking = _prompt_settings(prompt_style, ballot, language, mode, reference, template)
    template_text = "" if chat_template is None else _read_text_file(chat_template)
    record = scored.load_record(ballot)
    scores = build_scored_answers(
        record,
        asking,
        people=scored.people,
        criteria=scored.criteria or (),
        external=external or (),
        share=share,
        seed=seed,
        say=print_message,
    )
    with stop_on_signals() as stop, watch_training(quiet=quiet) as watch:
        training = Training(
            scores, asking, settings, base, out, template_text, device, watch, print_message, lambda: bool(stop.reason)
        )
        has_ended = training.run()
    if not has_ended:
        print_message("Stopped. A checkpoint is stored; run the same command again to continue.")
        return 130
    if training.is_first:
        print_message(f"Critic: {out}. Use it as the judge trained:{out}")
        if evaluate:
            before = training.base_judge()
            results = critic_evaluation.evaluation_tables(
                record, scores, out, before=before, people=scored.people, device=device, seed=seed, quiet=quiet
            )
            results += [table for table in (training.preference_table(), loss_table(out)) if table is not None]
            print_tables(results, as_json=as_json, out=tables)
    return 0


@critic_app.command("eval")
@options("items responses labels ledger benchmark data people criteria device seed tables as_json quiet")
def evaluate(
    folder: Annotated[Path, argument("Folder that `fullbench critic train` wrote.")],
    scored: ScoreOptions,
    device: DeviceOption = "auto",
    seed: SeedOption = 0,
    tables: OutOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare a critic's scores with people's, on responses it was not trained on.

    Responses from its training data are excluded. Contestants that were not in the training data are shown separately.

    Examples:

        fullbench critic eval my-critic --items items.jsonl --responses answers.jsonl --labels scores.jsonl
    """
    from fullbench.training.critic import critic_evaluation
    from fullbench.training.critic.critic_metadata import Critic
    from fullbench.training.critic.data.scored_answers import build_scored_answers

    critic = Critic.read(folder)
    record = scored.load_record(critic.asking.ballot)
    scores = build_scored_answers(
        critic_evaluation.tag_training_split(folder, record),
        critic.asking,
        people=scored.people,
        criteria=scored.criteria or (),
        seed=seed,
        say=print_message,
    )
    results = critic_evaluation.evaluation_tables(
        record, scores, folder, people=scored.people, device=device, seed=seed, quiet=quiet
    )
    print_tables(results, as_json=as_json, out=tables)
