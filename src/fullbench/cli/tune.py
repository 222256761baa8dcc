"""`fullbench tune`: a generator becomes better by what a judge prefers."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullbench.cli.common import (
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

if TYPE_CHECKING:
    from fullbench.training.generator.tuning import Way


def tune(
    generator: Annotated[str, typer.Option(help="What is tuned: sheets:FOLDER or diffusers:FOLDER?OPTIONS.")],
    prompts: Annotated[Path, typer.Option(help="What it draws to learn: a .txt with a prompt a line, or items.")],
    judge: Annotated[str, typer.Option(help="Whose preferences it learns, as KIND:NAME?OPTIONS.")],
    out: Annotated[Path, typer.Option(help="A folder for the tuned generator.")],
    held_out: Annotated[
        Path | None, typer.Option(help="Prompts to compare on; a fifth of the prompts where left out.")
    ] = None,
    compare: Annotated[
        list[str] | None, typer.Option(help="A judge that compares before and after. Give it again for more.")
    ] = None,
    way: Annotated[str, typer.Option(help="best (learn what won), weighted, or dpo.")] = "best",
    samples: Annotated[int, typer.Option(min=2, help="Pictures of each prompt among which the judge chooses.")] = 4,
    compared: Annotated[int, typer.Option(min=1, help="Pictures of each held-out prompt, before and after.")] = 2,
    lora: Annotated[int, typer.Option(min=0, help="Adapters of this rank; 0 tunes all weights.")] = 0,
    lr: Annotated[float, typer.Option(help="The learning rate.")] = 5e-5,
    batch: Annotated[int, typer.Option(min=1, help="Pictures a step.")] = 16,
    epochs: Annotated[float, typer.Option(help="How often each picture is learned from.")] = 4.0,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps, in place of epochs.")] = None,
    beta: Annotated[float, typer.Option(help="dpo: higher stays closer to the beginning.")] = 1000.0,
    anchor: Annotated[float, typer.Option(help="dpo: how much the preferred picture itself is learned.")] = 1.0,
    criterion: Annotated[str, typer.Option(help="What the judges go by.")] = "overall",
    seed: Annotated[int, typer.Option(help="For whatever is drawn at random while learning.")] = 0,
    ledger: LedgerOption = DEFAULT_LEDGER,
    budget: BudgetOption = None,
    engine: EngineOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Tune a generator of pictures by a judge's feedback, and compare before and after blindly.

    It draws, the judge chooses, it learns what was chosen. Killed or stopped anywhere, the same command goes on.

    Example:

        fullbench tune --generator diffusers:./stable-diffusion --prompts prompts.txt --judge openai:gpt-4o \\
            --compare imagereward --compare gemini:gemini-2.5-flash --lora 16 --out tuned
    """
    from fullbench.errors import InputError, MissingExtra
    from fullbench.ledger.store import Ledger
    from fullbench.studies import plan, specs
    from fullbench.training.generator.loop import Tuning, read_prompts, split, tune_generator

    try:
        from fullbench.training.generator.tuning import Manner
    except ModuleNotFoundError as error:
        raise MissingExtra("tuning a generator", "train") from error
    items, again = read_prompts(prompts)
    if again:
        say(f"{prompts}: {again:,} prompts come more than once; each is drawn once.")
    learn, aside = (items, read_prompts(held_out)[0]) if held_out is not None else split(items)
    if shared := {item.question for item in learn} & {item.question for item in aside}:
        raise InputError(f"{len(shared):,} prompts are learned from and held out too, such as {min(shared)!r}")
    job = Tuning(
        generator, judge, learn, aside, out, tuple(compare or ()), samples, compared, lora, criterion
    )  # fmt: skip
    manner = Manner(way=_way(way), beta=beta, anchor=anchor, lr=lr, batch=batch, epochs=epochs, steps=steps, seed=seed)
    asked = [specs.contestant(generator), *plan.models_asked([specs.judge(spec) for spec in (judge, *job.compare)])]
    purse = plan.purse(budget, asked) if budget is not None else None
    with asking_from(engine) as where, stoppable() as stop, Ledger(ledger) as book:
        done = tune_generator(
            job, manner, book, engine=where, budget=purse, stop=stop, quiet=quiet,
            step=_nothing if quiet else _Lines(),
        )  # fmt: skip
    for sentence in done.said:
        say(sentence)
    if done.spec:
        say(f"The tuned generator: {done.spec}")
    show(done.tables, as_json=as_json)
    return closing(done.tallies, what="pictures and verdicts")


def _way(word: str) -> Way:
    from typing import get_args

    from fullbench.errors import InputError
    from fullbench.training.generator.tuning import Way as Ways

    ways: tuple[Way, ...] = get_args(Ways)
    for known in ways:
        if known == word:
            return known
    raise InputError(f"unknown way {word!r} to tune; known: {', '.join(ways)}")


def _nothing(_step: int, _steps: int, _loss: float) -> None:
    """Says nothing."""


class _Lines:
    """A line every few seconds; the last step has one."""

    def __init__(self, every: float = 5.0) -> None:
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
        sys.stderr.write(f"learning: {step:,} of {steps:,} steps, loss {loss:.4f}, about {left:.0f} s left\n")
