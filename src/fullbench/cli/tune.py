"""`fullbench tune`: a generator becomes better by what a judge prefers."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.options import (
    DEFAULT_LEDGER,
    BudgetOption,
    EngineOption,
    JsonOption,
    LedgerOption,
    QuietOption,
    asking_from,
    closing,
    say,
    show,
    stoppable,
)
from fullbench.cli.pair_campaign import Campaign
from fullbench.cli.people import DATA, DatabaseOption, DataOption

if TYPE_CHECKING:
    from fullbench.training.generator.preference_tuning import Way


def tune(
    generator: Annotated[str, typer.Option(help="The generator to tune: diffusers:FOLDER?OPTIONS.")],
    prompts: Annotated[Path, typer.Option(help="What it draws to learn: a .txt with a prompt a line, or items.")],
    judge: Annotated[str, typer.Option(help="Whose preferences it learns, as KIND:NAME?OPTIONS.")],
    out: Annotated[Path, typer.Option(help="A folder for the tuned generator.")],
    held_out: Annotated[
        Path | None, typer.Option(help="Prompts to compare on; a fifth of the prompts where left out.")
    ] = None,
    compare: Annotated[
        list[str] | None, typer.Option(help="A judge that compares before and after. Give it again for more.")
    ] = None,
    people: Annotated[
        str, typer.Option(help="Let people compare too, in a campaign of this name; again later: their votes so far.")
    ] = "",
    votes: Annotated[int, typer.Option(min=1, help="people: votes on each pair.")] = 1,
    way: Annotated[str, typer.Option(help="best (learn what won), weighted, dpo, or ddpo (in rounds).")] = "best",
    samples: Annotated[int, typer.Option(min=2, help="Pictures of each prompt among which the judge chooses.")] = 4,
    compared: Annotated[int, typer.Option(min=1, help="Pictures of each held-out prompt, before and after.")] = 2,
    lora: Annotated[int, typer.Option(min=0, help="Adapters of this rank; 0 tunes all weights.")] = 0,
    lr: Annotated[float, typer.Option(help="The learning rate.")] = 5e-5,
    batch: Annotated[int, typer.Option(min=1, help="Pictures a step.")] = 16,
    epochs: Annotated[float, typer.Option(help="How often each picture is learned from.")] = 4.0,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps, in place of epochs.")] = None,
    beta: Annotated[float, typer.Option(help="dpo: higher stays closer to the beginning.")] = 1000.0,
    anchor: Annotated[float, typer.Option(help="dpo: how much the preferred picture itself is learned.")] = 1.0,
    rounds: Annotated[int, typer.Option(min=1, help="ddpo: how often it draws, is judged and learns.")] = 10,
    round_prompts: Annotated[int, typer.Option(min=1, help="ddpo: prompts of each round.")] = 32,
    criterion: Annotated[str, typer.Option(help="What the judges go by.")] = "overall",
    seed: Annotated[int, typer.Option(help="For whatever is drawn at random while learning.")] = 0,
    ledger: LedgerOption = DEFAULT_LEDGER,
    budget: BudgetOption = None,
    engine: EngineOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    database: DatabaseOption = None,
    data: DataOption = DATA,
) -> int:
    """Tune a generator of pictures by a judge's feedback, and compare before and after blindly.

    It draws, the judge chooses, it learns what was chosen. Killed or stopped anywhere, the same command goes on.

    Example:

        fullbench tune --generator diffusers:./stable-diffusion --prompts prompts.txt --judge openai:gpt-4o \\
            --compare imagereward --compare gemini:gemini-2.5-flash --people "before and after" --lora 16 --out tuned
    """
    from fullbench.errors import InputError, MissingExtra
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies import judge_and_model_specs
    from fullbench.studies.run import study_plan
    from fullbench.training.generator.feedback_loop import read_prompts, split, tune_generator
    from fullbench.training.generator.ledger_calls import Tuning

    try:
        from fullbench.training.generator.preference_tuning import Manner
    except ModuleNotFoundError as error:
        raise MissingExtra("tuning a generator", "train") from error
    items, again = read_prompts(prompts)
    if again:
        say(f"{prompts}: {again:,} prompts come more than once; each is drawn once.")
    learn, aside = (items, read_prompts(held_out)[0]) if held_out is not None else split(items)
    if shared := {item.question for item in learn} & {item.question for item in aside}:
        raise InputError(f"{len(shared):,} prompts are learned from and held out too, such as {min(shared)!r}")
    job = Tuning(
        generator, judge, learn, aside, out, tuple(compare or ()), samples, compared, lora, criterion, bool(people)
    )  # fmt: skip
    manner = Manner(
        way=_way(way), beta=beta, anchor=anchor, lr=lr, batch=batch, epochs=epochs, steps=steps, seed=seed,
        rounds=rounds, round_prompts=round_prompts,
    )  # fmt: skip
    campaign = Campaign(people, ledger, votes, criterion, database, data) if people else None
    if campaign is not None:
        campaign.take_votes()
    asked = [
        judge_and_model_specs.contestant(generator),
        *study_plan.models_asked([judge_and_model_specs.judge(spec) for spec in (judge, *job.compare)]),
    ]
    purse = study_plan.purse(budget, asked) if budget is not None else None
    with asking_from(engine) as where, stoppable() as stop, Ledger(ledger) as book:
        done = tune_generator(
            job, manner, book, engine=where, budget=purse, stop=stop, quiet=quiet,
            step=_nothing if quiet else _Lines("rounds", "mean mark") if way == "ddpo" else _Lines(),
        )  # fmt: skip
    if campaign is not None and done.after:
        campaign.open(done.before, done.after)
    for sentence in done.said:
        say(sentence)
    if done.spec:
        say(f"The tuned generator: {done.spec}")
    show(done.tables, as_json=as_json)
    return closing(done.tallies, what="pictures and verdicts")


def _way(word: str) -> Way:
    from typing import get_args

    from fullbench.errors import InputError
    from fullbench.training.generator.preference_tuning import Way as Ways

    ways: tuple[Way, ...] = get_args(Ways)
    for known in ways:
        if known == word:
            return known
    raise InputError(f"unknown way {word!r} to tune; known: {', '.join(ways)}")


def _nothing(_step: int, _steps: int, _loss: float) -> None:
    """Says nothing."""


class _Lines:
    """A line every few seconds; the last step has one."""

    def __init__(self, unit: str = "steps", value: str = "loss", every: float = 5.0) -> None:
        self._unit, self._value = unit, value
        self._every, self._last, self._started, self._from = every, 0.0, time.monotonic(), 0

    def __call__(self, step: int, steps: int, loss: float) -> None:
        now = time.monotonic()
        if not self._last:
            self._from = step - 1
        if now - self._last < self._every and step < steps:
            return
        self._last = now
        rate = (step - self._from) / max(now - self._started, 1e-9)
        left = (steps - step) / rate
        now_at = f"learning: {step:,} of {steps:,} {self._unit}, {self._value} {loss:.4f}"
        sys.stderr.write(f"{now_at}, about {left:.0f} s left\n")
